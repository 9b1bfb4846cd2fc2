"""What an engine of an earlier version wrote, read by this one."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sandbox_engine.journal.migrations import MIGRATIONS
from sandbox_engine.journal.sqlite import SqliteJournal
from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import DESTROY, Sandbox, SandboxSpec

CLAIMS_HELD_LEASES = 2
"""Migrations that had been applied while the length of a lease was the claim's."""


def journal_of(path: Path, version: int, records: dict[str, Any]) -> SqliteJournal:
    """This version's, of a database that the first `version` migrations and an engine made."""
    db = sqlite3.connect(path)
    for statement in (s for each in MIGRATIONS[:version] for s in each):
        db.execute(statement)
    for key, record in records.items():
        db.execute("INSERT INTO sandboxes VALUES(?, ?)", (key, json.dumps(record).encode()))
    db.execute(f"PRAGMA user_version={version}")
    db.commit()
    db.close()
    return SqliteJournal(path)


def record(claim: dict[str, Any] | None) -> dict[str, Any]:
    """A sandbox as it was written then."""
    made = Sandbox(
        id="sb_1", number=1, spec=SandboxSpec(template="base"), state=State.RUNNING, owner="root",
        uid=0, session=None, deadline=2e9, memory_mib=256, vcpus=1, created_at=1.5, resumed_at=1.5,
        vm="vm-1",
    )  # fmt: skip
    fields: dict[str, Any] = msgspec.to_builtins(made)
    for name in ("lease_s", "on_expire"):
        del fields[name]
    return fields | {"claim": claim}


@pytest.mark.parametrize(
    ("claim", "lease_s", "on_expire"),
    [
        (None, 0, DESTROY),
        ({"ttl_s": 60, "on_expire": "archive"}, 60, "archive"),
        ({"ttl_s": 60, "on_expire": "destroy"}, 60, DESTROY),
        ({"ttl_s": 60}, 60, DESTROY),
    ],
)
def test_the_lease_of_a_claim_becomes_its_sandbox_s(
    tmp_path: Path, claim: dict[str, Any] | None, lease_s: int, on_expire: str
) -> None:
    written = claim and {"net": "none", "size": "small"} | claim
    journal = journal_of(tmp_path / "journal.db", CLAIMS_HELD_LEASES, {"sb_1": record(written)})
    for _ in range(2):  # it is moved once, and then as any other
        (found,) = journal.sandboxes()
        assert (found.lease_s, found.on_expire) == (lease_s, on_expire)
        assert (found.claim is None) == (claim is None)
        journal.sandbox_put(found)
    journal.close()
