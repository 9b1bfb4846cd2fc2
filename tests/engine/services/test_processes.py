"""What `Execs` asks of a guest about commands that were started before."""

from __future__ import annotations

from typing import Any

import pytest
from sandbox_engine.errors import InvalidArgument, OutputLost, ProcessNotFound
from sandbox_engine.model.exec import AttachSpec, ExecSpec, Started

from tests.fakes.guest import GuestStream, Message
from tests.fakes.operations import OPERATIONS
from tests.fakes.services import OPERATOR, Services


@pytest.mark.parametrize("number", [-1, 65])
async def test_what_is_no_signal_is_refused(services: Services, number: int) -> None:
    with pytest.raises(InvalidArgument, match="signal: must be 0 to 64"):
        await services.execs.signal(OPERATOR, "sb_any", 7, number)


@pytest.mark.parametrize("number", [0, 64])
async def test_a_signal_reaches_the_guest(
    services: Services, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    asked: list[Any] = []

    async def signal_process(stream: GuestStream, message: Message) -> None:
        asked.append(message)
        await stream.send(type="done")

    monkeypatch.setitem(OPERATIONS, "signal_process", signal_process)
    services.pool()
    sandbox = await services.create()
    await services.execs.signal(OPERATOR, sandbox.id, 7, number)
    assert asked == [{"op": "signal_process", "pid": 7, "signal": number}]


@pytest.mark.parametrize(
    ("status", "about", "error"), [(3, "process", ProcessNotFound), (5, "output", OutputLost)]
)
async def test_what_a_refusal_is_about_decides_its_error(
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    about: str,
    error: type[Exception],
) -> None:
    async def attach_exec(stream: GuestStream, _: Message) -> None:
        await stream.send(type="error", status=status, message="said so", about=about)

    monkeypatch.setitem(OPERATIONS, "attach_exec", attach_exec)
    services.pool()
    sandbox = await services.create()
    async with services.execs.attach(OPERATOR, sandbox.id, AttachSpec(exec_id="ex_1")) as command:
        with pytest.raises(error, match="said so"):
            await command.next()


@pytest.mark.parametrize("exec_id", ["", "a\0b"])
async def test_what_is_no_name_of_a_command_is_refused(services: Services, exec_id: str) -> None:
    with pytest.raises(InvalidArgument, match="exec_id"):
        services.execs.attach(OPERATOR, "sb_any", AttachSpec(exec_id=exec_id))


async def test_a_detached_command_ends_its_stream_after_it_started(services: Services) -> None:
    services.pool()
    sandbox = await services.create()
    spec = ExecSpec(argv=["true"], detach=True)
    async with services.execs.start(OPERATOR, sandbox.id, spec) as command:
        assert isinstance(await command.next(), Started)
        assert await command.next() is None
