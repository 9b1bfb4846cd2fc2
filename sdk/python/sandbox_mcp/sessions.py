"""What one client of the protocol holds: its sandboxes and the commands it spawned.

A client may use what it made in this session and nothing else, whatever else the engine
has: an id from elsewhere is as good as unknown.  When the session ends, however it ends,
everything it holds is destroyed.  Leases are short and renewed while the session lasts, so
that a server which was killed leaves nothing for longer than one of them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from sandbox_sdk import AsyncClient, AsyncCommand, AsyncSandbox, Exited, Stderr, Stdout, errors

from sandbox_mcp.tail import Tail

MOST_SANDBOXES = 16
MOST_COMMANDS = 64


@dataclass
class Spawned:
    """A command in the background."""

    sandbox_id: str
    command: AsyncCommand
    tail: Tail = field(default_factory=Tail)
    exited: Exited | None = None
    lost: str = ""
    """Why its output ended, where that was not its own end."""
    reader: asyncio.Task[None] | None = None

    async def read(self) -> None:
        """Keep what it writes, until it ends."""
        try:
            async for event in self.command:
                match event:
                    case Stdout() | Stderr():
                        self.tail.append(event.data)
                    case Exited():
                        self.exited = event
        except errors.SandboxError as error:
            self.lost = error.message or type(error).__name__

    async def stop(self) -> None:
        """Kill it."""
        await self.command.kill()
        if self.reader is not None:
            await asyncio.wait([self.reader])


class Unknown(Exception):
    """An id that this session does not hold, or a cap of it."""


class Session:
    """Everything one client holds."""

    def __init__(self, client: AsyncClient, *, template: str, lease_s: float) -> None:
        self.client, self.template, self.lease_s = client, template, lease_s
        self._sandboxes: dict[str, AsyncSandbox] = {}
        self._checkpoints: set[str] = set()
        self._spawned: dict[str, Spawned] = {}
        self._count = self._coming = 0

    def sandbox(self, sandbox_id: str) -> AsyncSandbox:
        """One of its sandboxes.  Raises `Unknown`."""
        if sandbox_id not in self._sandboxes:
            raise Unknown(f"this session has no sandbox {sandbox_id!r}")
        return self._sandboxes[sandbox_id]

    def spawned(self, process_id: str) -> Spawned:
        """One of its commands.  Raises `Unknown`."""
        if process_id not in self._spawned:
            raise Unknown(f"this session has no process {process_id!r}")
        return self._spawned[process_id]

    def checkpoint(self, checkpoint_id: str) -> str:
        """One of its checkpoints.  Raises `Unknown`."""
        if checkpoint_id not in self._checkpoints:
            raise Unknown(f"this session has no checkpoint {checkpoint_id!r}")
        return checkpoint_id

    def room(self, count: int) -> None:
        """Raise `Unknown` where `count` sandboxes more are too many."""
        if len(self._sandboxes) + self._coming + count > MOST_SANDBOXES:
            raise Unknown(f"count: a session holds at most {MOST_SANDBOXES} sandboxes")

    async def create(self, template: str) -> AsyncSandbox:
        """A new one."""
        self.room(1)
        self._coming += 1
        try:
            made = await self.client.create(template or self.template, ttl_s=self.lease_s)
        finally:
            self._coming -= 1
        self._sandboxes[made.id] = made
        return made

    async def fork(self, sandbox_id: str, count: int) -> list[AsyncSandbox]:
        """Clones of one."""
        self.room(count)
        self._coming += count
        try:
            children = await self.sandbox(sandbox_id).fork(count, ttl_s=self.lease_s)
        finally:
            self._coming -= count
        self._sandboxes |= {child.id: child for child in children}
        return children

    async def keep(self, sandbox_id: str, name: str) -> str:
        """A checkpoint of one; its id."""
        made = await self.sandbox(sandbox_id).checkpoint(name)
        self._checkpoints.add(made.id)
        return made.id

    async def branch(self, checkpoint_id: str) -> AsyncSandbox:
        """A sandbox from a checkpoint."""
        self.room(1)
        self._coming += 1
        try:
            made = await self.client.branch(self.checkpoint(checkpoint_id), ttl_s=self.lease_s)
        finally:
            self._coming -= 1
        self._sandboxes[made.id] = made
        return made

    async def spawn(self, sandbox_id: str, command: str, cwd: str) -> str:
        """Start a command in the background; its id."""
        if len(self._spawned) >= MOST_COMMANDS:
            raise Unknown(f"a session keeps at most {MOST_COMMANDS} spawned commands")
        started = await self.sandbox(sandbox_id).exec(command, cwd=cwd)
        self._count += 1
        name = f"p{self._count}"
        one = self._spawned[name] = Spawned(sandbox_id, started)
        one.reader = asyncio.create_task(  # noqa: TID251 - the session owns it and ends it
            one.read(), name=f"output of {name}"
        )
        return name

    async def stop(self, process_id: str) -> None:
        """Kill a command and forget it."""
        one = self.spawned(process_id)
        del self._spawned[process_id]
        await one.stop()

    async def release(self, sandbox_id: str) -> None:
        """Destroy one, and forget it and its commands."""
        sandbox = self.sandbox(sandbox_id)
        for name in [n for n, one in self._spawned.items() if one.sandbox_id == sandbox_id]:
            await self.stop(name)
        await sandbox.destroy()
        self._sandboxes.pop(sandbox_id, None)

    async def keep_alive(self) -> None:
        """Renew every lease, until cancelled; one that cannot be renewed is left to its end."""
        while True:
            await asyncio.sleep(self.lease_s / 3)
            renewals = [one.renew(self.lease_s) for one in self._sandboxes.values()]
            await asyncio.gather(*renewals, return_exceptions=True)

    async def end(self) -> None:
        """Destroy everything; one failure keeps nothing else alive."""
        stops = [one.stop() for one in self._spawned.values()]
        await asyncio.gather(*stops, return_exceptions=True)
        goes = [sandbox.destroy() for sandbox in self._sandboxes.values()]
        goes += [self.client.delete_checkpoint(one) for one in self._checkpoints]
        await asyncio.gather(*goes, return_exceptions=True)
        self._sandboxes.clear()
        self._checkpoints.clear()
        self._spawned.clear()
