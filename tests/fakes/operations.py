"""What the fake guest serves: engine operations in the agent's form, as little as tests ask for.

A command's name says what it does, and the names are those of a real guest's programs, so
that one conformance suite can ask both.
"""

from __future__ import annotations

from typing import Any

from sandbox_guest.framing import FrameKind, parse_control

from tests.fakes.guest import GuestStream, Message, Operation, StreamGone

PIECE = 64 << 10


async def ping(stream: GuestStream, _: Message) -> None:
    await stream.send(type="pong")


async def configure(stream: GuestStream, message: Message) -> None:
    stream.guest.configured.append(message)
    if "env" in message:
        if bad := [name for name in message["env"] if not name or "=" in name]:
            raise ValueError(f"env: {bad[0]!r} is not a name")
        stream.guest.env = dict(message["env"])
    await stream.send(type="done")


async def sync(stream: GuestStream, _: Message) -> None:
    await stream.send(type="done")


async def clock(stream: GuestStream, message: Message) -> None:
    stream.guest.clocks.append(message["clock_ns"])
    await stream.send(type="done")


async def exec_(stream: GuestStream, message: Message) -> None:
    program, *arguments = message["argv"]
    run = PROGRAMS.get(program)
    if run is None:
        await stream.fail(3, f"{program}: not found")
        return
    await stream.send(type="started", pid=7, **({"detached": True} if "detach" in message else {}))
    if "detach" in message:
        return
    command = Command(stream, message)
    code = await run(command, arguments)
    await command.exit(code)


class Command:
    """A running program: its output is cut to the heads, its totals are true."""

    def __init__(self, stream: GuestStream, message: Message) -> None:
        self.stream, self.message = stream, message
        self.env = stream.guest.env | message.get("env", {})
        self.has_input = bool(message.get("stdin"))
        self._sent = {FrameKind.STDOUT: 0, FrameKind.STDERR: 0}
        self.signal = 0
        self.told: list[Message] = stream.guest.told
        self._heads = {
            FrameKind.STDOUT: message.get("head_out", 1 << 60),
            FrameKind.STDERR: message.get("head_err", 1 << 60),
        }

    async def write(self, kind: FrameKind, data: bytes) -> None:
        head = data[: max(0, self._heads[kind] - self._sent[kind])]
        self._sent[kind] += len(data)
        if head:
            await self.stream.bulk(kind, head)

    async def exit(self, code: int, **fields: Any) -> None:
        answer = {
            "code": -1 if self.signal else code,
            "signal": self.signal,
            "timed_out": False,
            "truncated": False,
            "out_total": self._sent[FrameKind.STDOUT],
            "err_total": self._sent[FrameKind.STDERR],
            "duration_ms": 1,
            **fields,
        }
        await self.stream.send(type="exit", **answer)

    async def input(self) -> bytes | None:
        """The next piece of input; None at its end, or when a signal ended the program."""
        while self.has_input and not self.signal:
            received = await self._received()
            if received is not None:
                return received
        return None

    async def signalled(self) -> None:
        """Return when a signal ended the program."""
        while not self.signal:
            await self._received()

    async def _received(self) -> bytes | None:
        received = await self.stream.receive()
        if received is None:
            self.has_input = False
            await self.stream.gone.wait()
            raise StreamGone
        if received[0] == FrameKind.STDIN:
            return received[1]
        told = parse_control(received[1])
        if told["op"] == "stdin_close":
            self.has_input = False
        elif told["op"] == "signal":
            self.signal = told["signal"]
        self.told.append(told)
        return None


async def _true(_: Command, __: list[str]) -> int:
    return 0


async def _false(_: Command, __: list[str]) -> int:
    return 1


async def _echo(command: Command, arguments: list[str]) -> int:
    await command.write(FrameKind.STDOUT, " ".join(arguments).encode() + b"\n")
    return 0


async def _cat(command: Command, _: list[str]) -> int:
    while (data := await command.input()) is not None:
        await command.write(FrameKind.STDOUT, data)
    return 0


async def _printenv(command: Command, arguments: list[str]) -> int:
    value = command.env.get(arguments[0])
    if value is None:
        return 1
    await command.write(FrameKind.STDOUT, value.encode() + b"\n")
    return 0


async def _yes(command: Command, _: list[str]) -> int:
    while True:
        await command.write(FrameKind.STDOUT, b"y\n" * (PIECE // 2))


async def _sleep(command: Command, _: list[str]) -> int:
    await command.signalled()
    return 0


async def _flood(command: Command, arguments: list[str]) -> int:
    """`flood OUT ERR`: so many bytes of each."""
    for kind, size in zip((FrameKind.STDOUT, FrameKind.STDERR), arguments, strict=True):
        left = int(size)
        while left:
            piece = min(left, PIECE)
            await command.write(kind, b"x" * piece)
            left -= piece
    return 0


PROGRAMS = {
    "true": _true,
    "false": _false,
    "echo": _echo,
    "cat": _cat,
    "printenv": _printenv,
    "yes": _yes,
    "sleep": _sleep,
    "flood": _flood,
}


async def read_file(stream: GuestStream, message: Message) -> None:
    content = stream.guest.files.get(message["path"])
    if content is None:
        await stream.fail(3, f"{message['path']}: no such file")
        return
    start = message.get("offset", 0)
    end = min(start + message.get("max_bytes", 1 << 60), len(content))
    for at in range(start, end, PIECE):
        await stream.bulk(FrameKind.DATA, content[at : min(at + PIECE, end)])
    await stream.send(type="done", size=len(content), truncated=end < len(content))


async def write_file(stream: GuestStream, message: Message) -> None:
    files, path = stream.guest.files, message["path"]
    if message.get("excl") and path in files:
        await stream.fail(8, f"{path}: exists")
        return
    content = files.get(path, b"") if message.get("append") else b""
    while (received := await stream.receive()) is not None and received[0] == FrameKind.DATA:
        content += received[1]
    if received is not None:  # `data_end`: only a whole file replaces the old one
        files[path] = content
        await stream.send(type="done")


async def list_dir(stream: GuestStream, message: Message) -> None:
    names = sorted(
        path.removeprefix(message["path"] + "/")
        for path in stream.guest.files
        if path.startswith(message["path"] + "/")
    )
    limit = message["max_entries"]
    rows = [
        {
            "name": name,
            "kind": "file",
            "size": len(stream.guest.files[f"{message['path']}/{name}"]),
            "mtime": 1.5,
        }
        for name in names[:limit]
    ]
    await stream.send(type="entries", entries=rows, truncated=len(names) > limit)


async def stat(stream: GuestStream, message: Message) -> None:
    content = stream.guest.files.get(message["path"])
    if content is None:
        await stream.fail(3)
        return
    await stream.send(type="stat", kind="file", size=len(content), mode=0o644, mtime=1.5)


async def mkdir(stream: GuestStream, _: Message) -> None:
    await stream.send(type="done")


async def remove(stream: GuestStream, message: Message) -> None:
    if stream.guest.files.pop(message["path"], None) is None:
        await stream.fail(3)
        return
    await stream.send(type="done")


OPERATIONS: dict[str, Operation] = {
    "ping": ping,
    "configure": configure,
    "clock": clock,
    "sync": sync,
    "exec": exec_,
    "read_file": read_file,
    "write_file": write_file,
    "list_dir": list_dir,
    "stat": stat,
    "mkdir": mkdir,
    "remove": remove,
}
