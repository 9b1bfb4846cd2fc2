"""`ports.journal.Journal` on SQLite, written by one connection on the loop's thread.

WAL with `synchronous=NORMAL`: a commit is durable against the engine's death (which is
what recovery is for) without an fsync, and costs about 20 us.  A power loss may undo the
last commits, but it also ends every VM they speak of.  Checkpoints, which do fsync, run
in a thread of their own (`run_checkpoints`).
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from pathlib import Path

import msgspec

from sandbox_engine.errors import NoSpace
from sandbox_engine.journal.migrations import MIGRATIONS
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.model.workspace import Workspace
from sandbox_engine.ports.journal import RequestRow, VmRow
from sandbox_engine.ports.vmm import MachineRef

CHECKPOINT_INTERVAL_S = 5.0
_encode = msgspec.json.Encoder().encode
_sandbox_decoder = msgspec.json.Decoder(Sandbox)
_workspace_decoder = msgspec.json.Decoder(Workspace)
_ref_decoder = msgspec.json.Decoder(MachineRef)
_request_decoder = msgspec.json.Decoder(RequestRow)


class SqliteJournal:
    """See `ports.journal.Journal`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = sqlite3.connect(path, isolation_level=None, cached_statements=64)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute("PRAGMA wal_autocheckpoint=0")
        migrate(self._db)
        row = self._db.execute("SELECT value FROM counters WHERE name='sandbox'").fetchone()
        # Numbers are reserved in blocks, so that a create does not pay for the counter.
        self._number = self._reserved = int(row[0])

    def next_number(self) -> int:
        """See `ports.journal.Journal`."""
        if self._number == self._reserved:
            upto = self._reserved + 256
            self._run("UPDATE counters SET value=? WHERE name='sandbox'", upto)
            self._reserved = upto
        self._number += 1
        return self._number

    def vm_intended(self, row: VmRow) -> None:
        """See `ports.journal.Journal`."""
        self._run(
            "INSERT INTO vms(name, template, directory) VALUES(?, ?, ?)",
            row.name, row.template, row.directory,
        )  # fmt: skip

    def vm_launched(self, name: str, ref: MachineRef) -> None:
        """See `ports.journal.Journal`."""
        self._run("UPDATE vms SET ref=? WHERE name=?", _encode(ref), name)

    def vm_gone(self, name: str) -> None:
        """See `ports.journal.Journal`."""
        self._run("DELETE FROM vms WHERE name=?", name)

    def vms(self) -> list[VmRow]:
        """See `ports.journal.Journal`."""
        rows = self._db.execute("SELECT name, template, directory, ref FROM vms ORDER BY name")
        return [
            VmRow(
                name=name,
                template=template,
                directory=directory,
                ref=None if ref is None else _ref_decoder.decode(ref),
            )
            for name, template, directory, ref in rows
        ]

    def sandbox_put(self, *sandboxes: Sandbox) -> None:
        """See `ports.journal.Journal`."""
        rows = ", ".join(["(?, ?)"] * len(sandboxes))  # one statement is one transaction
        values = [value for one in sandboxes for value in (one.id, _encode(one))]
        statement = f"INSERT OR REPLACE INTO sandboxes(id, record) VALUES {rows}"  # noqa: S608 - marks
        self._run(statement, *values)

    def sandbox_gone(self, sandbox: Sandbox) -> None:
        """See `ports.journal.Journal`."""
        self._run("BEGIN")
        try:
            self._run("DELETE FROM sandboxes WHERE id=?", sandbox.id)
            self._run("DELETE FROM vms WHERE name=?", sandbox.vm)
            self._run("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # SQLite ends it itself for some errors
                self._db.execute("ROLLBACK")
            raise

    def sandboxes(self) -> list[Sandbox]:
        """See `ports.journal.Journal`."""
        rows = self._db.execute("SELECT record FROM sandboxes ORDER BY id")
        return [_sandbox_decoder.decode(record) for (record,) in rows]

    def request_put(self, scope: str, key: str, row: RequestRow, expires_at: float) -> None:
        """See `ports.journal.Journal`."""
        self._run(
            "INSERT OR REPLACE INTO requests(scope, key, answer, expires_at) VALUES(?, ?, ?, ?)",
            scope, key, _encode(row), expires_at,
        )  # fmt: skip

    def request_find(self, scope: str, key: str, now: float) -> RequestRow | None:
        """See `ports.journal.Journal`."""
        with contextlib.suppress(NoSpace):  # to forget can wait, an answer cannot
            self._run("DELETE FROM requests WHERE expires_at <= ?", now)
        row = self._db.execute(
            "SELECT answer FROM requests WHERE scope=? AND key=? AND expires_at > ?",
            (scope, key, now),
        ).fetchone()
        return None if row is None else _request_decoder.decode(row[0])

    def workspace_put(self, workspace: Workspace) -> None:
        """See `ports.journal.Journal`."""
        self._run(
            "INSERT OR REPLACE INTO workspaces(owner, key, record) VALUES(?, ?, ?)",
            workspace.owner, workspace.key, _encode(workspace),
        )  # fmt: skip

    def workspace_gone(self, workspace: Workspace) -> None:
        """See `ports.journal.Journal`."""
        self._run("DELETE FROM workspaces WHERE owner=? AND key=?", workspace.owner, workspace.key)

    def workspaces(self) -> list[Workspace]:
        """See `ports.journal.Journal`."""
        rows = self._db.execute("SELECT record FROM workspaces ORDER BY owner, key")
        return [_workspace_decoder.decode(record) for (record,) in rows]

    def close(self) -> None:
        """See `ports.journal.Journal`."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.close()

    async def run_checkpoints(self) -> None:
        """Move the log into the database now and then, off the loop, until cancelled.

        On one connection for all: what SQLite opens anew each time, it keeps open behind a
        closed connection for as long as another one has the file.
        """
        db, busy = sqlite3.connect(self._path, check_same_thread=False), threading.Lock()

        def checkpoint() -> None:
            with busy:
                db.execute("PRAGMA wal_checkpoint(PASSIVE)")

        try:
            while True:
                await asyncio.to_thread(checkpoint)
                await asyncio.sleep(CHECKPOINT_INTERVAL_S)
        finally:
            with busy:  # a thread outlives its cancelled call
                db.close()

    def _run(self, statement: str, *values: object) -> None:
        try:
            self._db.execute(statement, values)
        except sqlite3.OperationalError as error:
            if "disk" in str(error) or "full" in str(error):
                raise NoSpace(f"the journal cannot be written: {error}") from error
            raise


def migrate(db: sqlite3.Connection) -> None:
    """Apply the migrations this database has not had, each in its own transaction."""
    (done,) = db.execute("PRAGMA user_version").fetchone()
    for number, statements in enumerate(MIGRATIONS[done:], start=done + 1):
        db.execute("BEGIN")
        for statement in statements:
            db.execute(statement)
        db.execute(f"PRAGMA user_version={number}")
        db.execute("COMMIT")
