"""A command as an HTTP answer: one JSON object, or server-sent events while it runs."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Mapping
from contextlib import aclosing

from msgspec import structs

from sandbox_api import bodies
from sandbox_api.engine import Ended, Engine, Machine, Output, Started
from sandbox_api.errors import ApiError
from sandbox_api.replay import Answer

JSON = {"Content-Type": "application/json"}
EVENTS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store"}


async def run(engine: Engine, machine: Machine, asked: bodies.Exec, answer: Answer) -> None:
    """Run it and write `answer`.  Raises `ApiError` where nothing was written yet."""
    if asked.stream:
        await _events(engine, machine, asked, answer)
    else:
        await _whole(engine, machine, asked, answer)


async def _whole(engine: Engine, machine: Machine, asked: bodies.Exec, answer: Answer) -> None:
    limit = asked.max_output or bodies.MAX_OUTPUT
    out, err = bytearray(), bytearray()
    end: Ended | None = None
    async with aclosing(engine.exec(machine, asked)) as events:
        async for event in events:
            if isinstance(event, Output):
                target = err if event.error else out
                target += event.data[: limit - len(target)]
            elif isinstance(event, Ended):
                end = event
    if end is None:
        raise ApiError(500, "internal", "the command's stream ended without its end")
    result = bodies.ExecResult(
        **structs.asdict(end),
        stdout=_text(bytes(out), asked.output_encoding),
        stderr=_text(bytes(err), asked.output_encoding),
    )
    answer.begin(200, JSON)
    answer.write(bodies.encode(result))


def _text(data: bytes, encoding: str) -> str:
    if encoding == "base64":
        return base64.b64encode(data).decode()
    return data.decode("utf-8", "replace")


async def _events(engine: Engine, machine: Machine, asked: bodies.Exec, answer: Answer) -> None:
    pieces = {False: _Pieces("stdout", asked), True: _Pieces("stderr", asked)}
    try:
        async with aclosing(engine.exec(machine, asked)) as events:
            async for event in events:
                match event:
                    case Started(pid=pid):
                        answer.begin(200, EVENTS)
                        answer.write(_event("started", {"pid": pid}))
                    case Output(error=error, data=data):
                        _write(answer, pieces[error].of(data))
                    case Ended():
                        for each in pieces.values():
                            _write(answer, each.of(b"", final=True))
                        answer.write(_event("exit", structs.asdict(event)))
    except ApiError as error:
        if not answer.status:
            raise
        facts = {"code": error.code, "message": error.message}
        answer.write(_event("error", facts))
        raise


def _write(answer: Answer, piece: bytes) -> None:
    if piece:
        answer.write(piece)


class _Pieces:
    """One stream's events: a character that is cut between two pieces comes whole in the later."""

    def __init__(self, name: str, asked: bodies.Exec) -> None:
        self._name, self._base64 = name, asked.output_encoding == "base64"
        self._left = asked.max_output or bodies.MAX_OUTPUT
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def of(self, data: bytes, *, final: bool = False) -> bytes:
        """The event, empty where there is nothing to tell yet."""
        data = data[: self._left]
        self._left -= len(data)
        if self._base64:
            text = base64.b64encode(data).decode()
        else:
            text = self._decoder.decode(data, final)
        return _event(self._name, {"data": text}) if text else b""


def _event(name: str, facts: Mapping[str, object]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), bodies.encode(facts))
