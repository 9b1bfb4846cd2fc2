"""Workspaces on record, also in a database of an engine that had none."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from msgspec.structs import replace
from sandbox_engine.journal.migrations import MIGRATIONS
from sandbox_engine.journal.sqlite import SqliteJournal
from sandbox_engine.model.workspace import Workspace

FOUND = Workspace(
    owner="uid:0", key="k", volume="ws-1", size_bytes=1, created_at=1.5, expires_at=2.5, clean=False
)


def test_put_replace_forget(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "journal.db")
    journal.workspace_put(FOUND)
    journal.workspace_put(replace(FOUND, owner="uid:1"))
    journal.workspace_put(replace(FOUND, expires_at=9.0))
    journal.close()
    journal = SqliteJournal(tmp_path / "journal.db")
    assert journal.workspaces() == [replace(FOUND, expires_at=9.0), replace(FOUND, owner="uid:1")]
    journal.workspace_gone(FOUND)
    assert [each.owner for each in journal.workspaces()] == ["uid:1"]
    journal.close()


def test_a_database_from_before(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    number = next(
        n for n, each in enumerate(MIGRATIONS) if any("TABLE workspaces" in s for s in each)
    )
    db = sqlite3.connect(path)
    for statement in (s for each in MIGRATIONS[:number] for s in each):
        db.execute(statement)
    db.execute(f"PRAGMA user_version={number}")
    db.commit()
    db.close()
    journal = SqliteJournal(path)
    journal.workspace_put(FOUND)
    assert journal.workspaces() == [FOUND]
    journal.close()
