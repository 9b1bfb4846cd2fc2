"""Running the C programs beside the daemon they talk to."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.sdk_c.building import VALGRIND, c_programs

Arguments = str | int | bool | list[str]


class Line:
    """What one operation of the driver printed."""

    def __init__(self, text: str) -> None:
        words = text.split(" ")
        self.text, self.name, self.code = text, words[0], int(words[1])
        pairs = [word.split("=", 1) for word in words[2:] if "=" in word]
        self.fields = dict(pairs)
        self.entries = [value.split(":") for key, value in pairs if key == "entry"]

    def number(self, key: str) -> int:
        """A field that is a number."""
        return int(self.fields[key])

    def data(self, key: str) -> bytes:
        """A field that is bytes."""
        return bytes.fromhex(self.fields[key])


class Operation:
    """One operation of the driver, not yet run."""

    def __init__(self, name: str, arguments: dict[str, Arguments]) -> None:
        self.argv = ["--", name]
        for key, value in arguments.items():
            values = (
                value
                if isinstance(value, list)
                else [str(int(value) if isinstance(value, bool) else value)]
            )
            self.argv += [f"{key}={item}" for item in values]


def op(name: str, **arguments: Any) -> Operation:
    """`op("create", template="base")`; a list repeats its key."""
    return Operation(name, arguments)


async def run(*argv: str | Path, env: dict[str, str] | None = None) -> str:
    """Run a program to its end; what it printed.  Fails with what it said if it failed."""
    process = await asyncio.create_subprocess_exec(
        *map(str, argv),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=env,
    )
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, f"{process.returncode}: {err.decode(errors='replace')[-6000:]}"
    return out.decode()


class Driver:
    """`driver.c`, compiled one way, on one socket."""

    def __init__(self, socket: Path, flavour: str) -> None:
        self.socket = socket
        self._argv: list[str | Path] = [c_programs("plain") / "driver"]
        if flavour == "static":
            self._argv = [c_programs("plain") / "driver_static"]
        elif flavour == "valgrind":
            self._argv = [*VALGRIND, *self._argv]
        elif flavour != "plain":
            self._argv = [c_programs(flavour) / "driver"]

    async def raw(self, *operations: Operation) -> list[Line]:
        """Run just these operations."""
        argv = [word for operation in operations for word in operation.argv]
        return [Line(text) for text in (await run(*self._argv, *argv)).splitlines()]

    async def session(self, *operations: Operation) -> list[Line]:
        """Run them in a session, which opens and which is cleaned up."""
        lines = await self.raw(op("init", socket=self.socket), *operations, op("cleanup"))
        assert lines[0].code == 0
        return lines[1:-1]

    async def sandbox(self, *operations: Operation) -> list[Line]:
        """Run them on a new sandbox, h=0."""
        lines = await self.session(op("create", template="base"), *operations)
        assert lines[0].code == 0
        return lines[1:]
