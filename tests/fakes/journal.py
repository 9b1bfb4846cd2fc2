"""A journal in memory: what `journal/sqlite.py` promises, without a file."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace
from sandbox_engine.errors import NoSpace
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.model.workspace import Workspace
from sandbox_engine.ports.journal import RequestRow, VmRow
from sandbox_engine.ports.vmm import MachineRef


class FakeJournal:
    """`ports.journal.Journal`; `full` says that the disk is."""

    def __init__(self) -> None:
        self.full = False
        self.writes = 0
        """How many there were."""
        self.around_write: Callable[[str], None] = lambda _: None
        """Called with `before` and `after`, around each write."""
        self._number = 0
        self._vms: dict[str, VmRow] = {}
        self._sandboxes: dict[str, bytes] = {}
        self._workspaces: dict[tuple[str, str], Workspace] = {}
        self._requests: dict[tuple[str, str], tuple[RequestRow, float]] = {}

    def next_number(self) -> int:
        with self._write():
            self._number += 1
        return self._number

    def vm_intended(self, row: VmRow) -> None:
        with self._write():
            self._vms[row.name] = row

    def vm_launched(self, name: str, ref: MachineRef) -> None:
        with self._write():
            if name in self._vms:
                self._vms[name] = replace(self._vms[name], ref=ref)

    def vm_gone(self, name: str) -> None:
        with self._write():
            self._vms.pop(name, None)

    def vms(self) -> list[VmRow]:
        return sorted(self._vms.values(), key=lambda row: row.name)

    def sandbox_put(self, *sandboxes: Sandbox) -> None:
        with self._write():
            self._sandboxes |= {one.id: msgspec.json.encode(one) for one in sandboxes}

    def sandbox_gone(self, sandbox: Sandbox) -> None:
        with self._write():
            self._sandboxes.pop(sandbox.id, None)
            self._vms.pop(sandbox.vm, None)

    def sandboxes(self) -> list[Sandbox]:
        records = sorted(self._sandboxes.items())
        return [msgspec.json.decode(record, type=Sandbox) for _, record in records]

    def request_put(self, scope: str, key: str, row: RequestRow, expires_at: float) -> None:
        with self._write():
            self._requests[scope, key] = row, expires_at

    def request_find(self, scope: str, key: str, now: float) -> RequestRow | None:
        found = self._requests.get((scope, key))
        return None if found is None or found[1] <= now else found[0]

    def workspace_put(self, workspace: Workspace) -> None:
        with self._write():
            self._workspaces[workspace.owner, workspace.key] = workspace

    def workspace_gone(self, workspace: Workspace) -> None:
        with self._write():
            self._workspaces.pop((workspace.owner, workspace.key), None)

    def workspaces(self) -> list[Workspace]:
        return [workspace for _, workspace in sorted(self._workspaces.items())]

    def close(self) -> None:
        pass

    def reopen(self) -> FakeJournal:
        """The journal as a new engine finds it, whatever is written to this one from now on."""
        found = FakeJournal()
        found._number = self._number
        found._vms, found._sandboxes = dict(self._vms), dict(self._sandboxes)
        found._requests = dict(self._requests)
        found._workspaces = dict(self._workspaces)
        return found

    def _write(self) -> Write:
        return Write(self)


class Write:
    """One write: refused on a full disk, and a moment before and after at which engines die."""

    def __init__(self, journal: FakeJournal) -> None:
        self._journal = journal

    def __enter__(self) -> None:
        if self._journal.full:
            raise NoSpace("the journal cannot be written: database or disk is full")
        self._journal.around_write("before")
        self._journal.writes += 1

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._journal.around_write("after")
