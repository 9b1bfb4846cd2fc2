"""Plays `scenario.yaml` with the Python SDK: `play.py sync` or `play.py async`.

Only what differs in waiting is written twice, by a small bridge: the asynchronous client's
methods are driven to their end one by one on a loop of its own.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
import time
import traceback
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any

from sandbox_sdk import AsyncClient, Client, Exited, Stderr, Stdout, errors

PATTERN = bytes((i * 31 + (i >> 8)) % 256 for i in range(1 << 20))
LONG_S = 60.0


class Check(Exception):
    """A check of the scenario that did not hold."""


def same(what: str, have: object, want: object) -> None:
    """Raise `Check` where they differ."""
    if have != want:
        raise Check(f"{what}: {have!r:.200}, not {want!r:.200}")


def fails(kind: type[errors.SandboxError], call: Callable[[], object]) -> errors.SandboxError:
    """The error of `call`.  Raises `Check` where it is none, or another."""
    try:
        call()
    except errors.SandboxError as error:
        same("kind of error", type(error), kind)
        return error
    raise Check(f"no {kind.__name__}")


class Player:
    """The steps, in their order."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self.client = connect()
        self.sandbox: Any = None

    def create(self) -> None:
        asked = {
            "request_id": uuid.uuid4().hex,
            "ttl_s": 300,
            "pool_wait_s": 120,
            "claim_ref": "conformance",
        }
        self.sandbox = self.client.create("base", **asked)
        info = self.sandbox.info
        same("id", info.id[:3], "sb_")
        same("state", info.state.name, "RUNNING")
        same("template", info.template, "base")
        same("second answer", self.client.create("base", **asked).id, info.id)

    def live_exec(self) -> None:
        script = 'echo first; read line; echo "got $line"; echo problem >&2; exit 7'
        out, err = b"", b""
        end: Exited | None = None
        with self.sandbox.exec(script, input=True) as command:
            for event in command:
                match event:
                    case Stdout():
                        out += event.data
                        if out == b"first\n":
                            command.write(b"second\n")
                            command.close_input()
                    case Stderr():
                        err += event.data
                    case Exited():
                        end = event
        same("standard output", out, b"first\ngot second\n")
        same("standard error", err, b"problem\n")
        assert end is not None
        had = (end.exit_code, end.signal, end.timed_out, end.truncated)
        same("exit", had, (7, 0, False, False))
        same("totals", (end.stdout_total, end.stderr_total), (17, 8))

    def binary(self) -> None:
        back = self.sandbox.run(["cat"], input=PATTERN)
        same("exit code of cat", back.exit_code, 0)
        same("bytes of cat", back.stdout == PATTERN, True)
        self.sandbox.files.write("/workspace/in/pattern", PATTERN)
        told = self.sandbox.run("sha256sum </workspace/in/pattern").stdout_text
        same("sha256", told.split()[0], hashlib.sha256(PATTERN).hexdigest())
        same("file", self.sandbox.files.read("/workspace/in/pattern") == PATTERN, True)

    def error(self) -> None:
        read = self.sandbox.files.read
        missing = fails(errors.PathNotFound, lambda: read("/workspace/missing"))
        same("reason", missing.reason, "PATH_NOT_FOUND")
        error = fails(errors.TemplateNotFound, lambda: self.client.create("no-such-template"))
        same("reason", error.reason, "TEMPLATE_NOT_FOUND")
        same("metadata", error.metadata.get("name"), "no-such-template")

    def cancel(self) -> None:
        with self.sandbox.exec("echo up; exec sleep 4321") as command:
            for event in command:
                if isinstance(event, Stdout):
                    same("output", event.data, b"up\n")
                    break
            command.kill()
            fails(errors.Cancelled, lambda: list(command))
            same("exit event", command.exited, None)
        self._gone("4321")

    def _gone(self, seconds: str) -> None:
        count = (
            "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' "
            f"| grep -c '[s]leep {seconds}' || true"
        )
        ends = time.monotonic() + LONG_S
        while (left := self.sandbox.run(count).stdout_text.strip()) != "0":
            if time.monotonic() > ends:
                raise Check(f"processes left: {left}")

    def fork(self) -> None:
        one = self.sandbox
        one.run("echo parent >/workspace/who; echo 1 >/dev/shm/memory").check()
        (child,) = one.fork(1, ttl_s=300)
        try:
            same("another id", child.id != one.id, True)
            same("parent", child.info.parent_id, one.id)
            child.run("echo child >/workspace/who").check()
            one.run("echo 2 >/dev/shm/memory").check()
            for box, who, memory in ((one, "parent\n", "2\n"), (child, "child\n", "1\n")):
                same("disk", box.run("cat /workspace/who").stdout_text, who)
                same("memory", box.run("cat /dev/shm/memory").stdout_text, memory)
        finally:
            child.destroy()
        fails(errors.SandboxNotFound, child.refresh)

    def deadline(self) -> None:
        sleep = ["sleep", "4322"]
        fails(errors.Timeout, lambda: self.sandbox.run(sleep, deadline_s=2))
        self._gone("4322")
        same("timed out", self.sandbox.run(sleep, timeout_s=1).timed_out, True)

    def reconnect(self) -> None:
        self.sandbox.run("echo kept >/workspace/kept").check()
        self.client.close()
        self.client = self._connect()
        self.sandbox = self.client.get(self.sandbox.id)
        same("state", self.sandbox.info.state.name, "RUNNING")
        same("file", self.sandbox.files.read("/workspace/kept"), b"kept\n")
        self.sandbox.destroy()
        self.sandbox.destroy()

    def end(self) -> None:
        """Leave nothing behind."""
        if self.sandbox is not None:
            with suppress(errors.SandboxError):
                self.sandbox.destroy()
        self.client.close()


STEPS = ("create", "live_exec", "binary", "error", "cancel", "fork", "deadline", "reconnect")


class Blocking:
    """An object of the asynchronous SDK, whose coroutines are run to their end."""

    def __init__(self, inner: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._inner, self._loop = inner, loop

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if callable(value):
            return lambda *args, **kwargs: self._given(value(*args, **kwargs))
        return Blocking(value, self._loop) if name == "files" else value

    def _given(self, value: Any) -> Any:
        if isinstance(value, Coroutine):
            value = self._loop.run_until_complete(value)
        if isinstance(value, list):
            return [self._given(one) for one in value]
        waits = hasattr(value, "__aenter__") or hasattr(value, "__anext__")
        return Blocking(value, self._loop) if waits else value

    def __iter__(self) -> Any:
        iterator: AsyncIterator[Any] = aiter(self._inner)
        with suppress(StopAsyncIteration):
            while True:
                yield self._loop.run_until_complete(anext(iterator))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.run_until_complete(self._inner.__aexit__(*error))


def play(connect: Callable[[], Any]) -> int:
    """Exit status."""
    player = Player(connect)
    step = ""
    try:
        for step in STEPS:
            getattr(player, step)()
            print(f"ok {step}", flush=True)
    except Exception as error:
        print(f"fail {step}: {error!r}", flush=True)
        traceback.print_exc()
        return 1
    finally:
        player.end()
    return 0


def main() -> int:
    """Play with the client that the first argument names."""
    if sys.argv[1:] == ["sync"]:
        return play(Client)
    loop = asyncio.new_event_loop()

    async def connected() -> AsyncClient:
        return AsyncClient()

    try:
        return play(lambda: Blocking(loop.run_until_complete(connected()), loop))
    finally:
        loop.close()


if __name__ == "__main__":
    sys.exit(main())
