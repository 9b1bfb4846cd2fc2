"""The journal's schema, as an ordered list that only grows.

Each entry has a test that starts from a database made by the entries before it.
Records are JSON in one column: their shape is the model's, and what is looked up by is
a column of its own.
"""

from __future__ import annotations

MIGRATIONS: list[list[str]] = [
    [
        "CREATE TABLE counters(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
        "INSERT INTO counters VALUES('sandbox', 0)",
        """CREATE TABLE vms(name TEXT PRIMARY KEY, template TEXT NOT NULL,
           directory TEXT NOT NULL, ref BLOB) WITHOUT ROWID""",
        "CREATE TABLE sandboxes(id TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID",
        """CREATE TABLE requests(scope TEXT NOT NULL, key TEXT NOT NULL, answer BLOB NOT NULL,
           expires_at REAL NOT NULL, PRIMARY KEY(scope, key)) WITHOUT ROWID""",
        "CREATE INDEX requests_by_expiry ON requests(expires_at)",
    ],
    [
        """CREATE TABLE workspaces(owner TEXT NOT NULL, key TEXT NOT NULL, record BLOB NOT NULL,
           PRIMARY KEY(owner, key)) WITHOUT ROWID""",
    ],
    [
        """UPDATE sandboxes SET record = json_set(CAST(record AS TEXT),
           '$.lease_s', json_extract(CAST(record AS TEXT), '$.claim.ttl_s'),
           '$.on_expire',
           coalesce(json_extract(CAST(record AS TEXT), '$.claim.on_expire'), 'destroy'))
           WHERE json_extract(CAST(record AS TEXT), '$.claim.ttl_s') IS NOT NULL""",
    ],
]
