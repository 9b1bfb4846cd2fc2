"""A client written from the `.proto` alone, against a live engine."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator

import grpc
import pytest
from sandbox.v1 import guest_pb2, guest_pb2_grpc, sandboxes_pb2, sandboxes_pb2_grpc

from tests.support.engine import Engine
from tests.support.wait import until

pytestmark = pytest.mark.vm


@pytest.fixture
def channel(shared_engine: Engine) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(f"unix:{shared_engine.grpc_socket}") as opened:
        yield opened


@pytest.fixture
def sandbox(channel: grpc.Channel) -> Iterator[str]:
    stub = sandboxes_pb2_grpc.SandboxServiceStub(channel)
    request = sandboxes_pb2.CreateSandboxRequest(template="base")
    request.pool_wait.FromSeconds(60)
    made = stub.CreateSandbox(request).sandbox
    yield made.id
    stub.DestroySandbox(sandboxes_pb2.DestroySandboxRequest(sandbox_id=made.id, allow_missing=True))


class Requests:
    """The client's half of an Exec stream: sent when the test says so."""

    def __init__(self, **start: object) -> None:
        self._queue: queue.SimpleQueue[guest_pb2.ExecRequest | None] = queue.SimpleQueue()
        self.put(start=guest_pb2.ExecStart(**start))  # type: ignore[arg-type]  # any field

    def put(self, **message: object) -> None:
        self._queue.put(guest_pb2.ExecRequest(**message))  # type: ignore[arg-type]  # any field

    def end(self) -> None:
        self._queue.put(None)

    def __iter__(self) -> Iterator[guest_pb2.ExecRequest]:
        return iter(self._queue.get, None)


def run(channel: grpc.Channel, sandbox: str, script: str) -> tuple[bytes, guest_pb2.ExecExit]:
    requests = Requests(sandbox_id=sandbox, argv=[script], shell=True)
    out = b""
    for event in guest_pb2_grpc.GuestServiceStub(channel).Exec(iter(requests)):
        out += event.out.data
        if event.HasField("exit"):
            requests.end()
            return out, event.exit
    raise AssertionError("no exit")


def test_the_first_line_arrives_before_the_command_ends_and_a_cancel_kills_it(
    channel: grpc.Channel, sandbox: str
) -> None:
    requests = Requests(sandbox_id=sandbox, argv=["echo first; sleep 1000; echo never"], shell=True)
    call = guest_pb2_grpc.GuestServiceStub(channel).Exec(iter(requests))
    started = next(call)
    assert started.HasField("started")
    assert next(call).out.data == b"first\n"
    assert run(channel, sandbox, "pgrep -x sleep || ls /proc/*/exe -l | grep sleep")[0]
    call.cancel()
    until(lambda: not run(channel, sandbox, "cat /proc/[0-9]*/comm | grep -x sleep")[0])


def test_input_is_read_and_ended(channel: grpc.Channel, sandbox: str) -> None:
    requests = Requests(sandbox_id=sandbox, argv=["cat"], input=True)
    call = guest_pb2_grpc.GuestServiceStub(channel).Exec(iter(requests))
    assert next(call).HasField("started")
    requests.put(input=guest_pb2.ExecInput(data=b"one"))
    assert next(call).out.data == b"one"
    requests.put(close_input=guest_pb2.ExecCloseInput())
    assert [event.exit.code for event in call if event.HasField("exit")] == [0]
    requests.end()


def test_a_deadline_reaches_the_guest(channel: grpc.Channel, sandbox: str) -> None:
    requests = Requests(sandbox_id=sandbox, argv=["sleep", "1000"])
    call = guest_pb2_grpc.GuestServiceStub(channel).Exec(iter(requests), timeout=2)
    with pytest.raises(grpc.RpcError) as caught:
        list(call)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    until(lambda: not run(channel, sandbox, "cat /proc/[0-9]*/comm | grep -x sleep")[0])


def test_a_terminal_is_a_terminal(channel: grpc.Channel, sandbox: str) -> None:
    requests = Requests(
        sandbox_id=sandbox,
        argv=["stty size; tty"],
        shell=True,
        terminal=guest_pb2.TerminalSize(columns=91, rows=17),
    )
    out = b"".join(
        event.out.data for event in guest_pb2_grpc.GuestServiceStub(channel).Exec(iter(requests))
    )
    requests.end()
    assert b"17 91" in out
    assert b"/dev/pts/" in out


def test_files_stream_both_ways(channel: grpc.Channel, sandbox: str) -> None:
    stub = guest_pb2_grpc.GuestServiceStub(channel)
    data = bytes(range(256)) * (6 << 12)  # 6 MiB, more than one whole-file operation takes
    start = guest_pb2.WriteFileStart(sandbox_id=sandbox, path="/workspace/a/b", parents=True)
    pieces = [guest_pb2.WriteFileRequest(start=start)]
    pieces += [
        guest_pb2.WriteFileRequest(data=data[at : at + 65536]) for at in range(0, len(data), 65536)
    ]
    pieces.append(guest_pb2.WriteFileRequest(done=guest_pb2.WriteFileDone()))
    assert stub.WriteFile(iter(pieces)).size == len(data)
    read = guest_pb2.ReadFileRequest(sandbox_id=sandbox, path="/workspace/a/b")
    assert b"".join(piece.data for piece in stub.ReadFile(read)) == data


def test_a_lease_ends_the_sandbox(channel: grpc.Channel) -> None:
    stub = sandboxes_pb2_grpc.SandboxServiceStub(channel)
    request = sandboxes_pb2.CreateSandboxRequest(template="base")
    request.pool_wait.FromSeconds(60)
    request.ttl.FromSeconds(1)
    sandbox = stub.CreateSandbox(request).sandbox.id

    def gone() -> bool:
        try:
            stub.GetSandbox(sandboxes_pb2.GetSandboxRequest(sandbox_id=sandbox))
        except grpc.RpcError as error:
            return error.code() is grpc.StatusCode.NOT_FOUND
        return False

    until(gone)


def test_an_attach_stream_holds_what_was_made_under_it(channel: grpc.Channel) -> None:
    stub = sandboxes_pb2_grpc.SandboxServiceStub(channel)
    attached = stub.Attach(sandboxes_pb2.AttachRequest())
    session = next(attached).ready.attach_session
    request = sandboxes_pb2.CreateSandboxRequest(template="base", attach_session=session)
    request.pool_wait.FromSeconds(60)
    sandbox = stub.CreateSandbox(request).sandbox
    assert not sandbox.HasField("expire_time")
    attached.cancel()

    def gone() -> bool:
        listed = stub.ListSandboxes(sandboxes_pb2.ListSandboxesRequest()).sandboxes
        return sandbox.id not in {one.id for one in listed}

    until(gone)


def test_a_request_id_runs_once(channel: grpc.Channel) -> None:
    stub = sandboxes_pb2_grpc.SandboxServiceStub(channel)
    name = f"once-{time.time_ns()}"
    request = sandboxes_pb2.CreateSandboxRequest(template="base", request_id=name)
    request.pool_wait.FromSeconds(60)
    first, second = stub.CreateSandbox(request), stub.CreateSandbox(request)
    assert first.sandbox.id == second.sandbox.id
    assert first.credentials == second.credentials
    request.claim_ref = "another"
    with pytest.raises(grpc.RpcError) as caught:
        stub.CreateSandbox(request)
    assert caught.value.code() is grpc.StatusCode.ALREADY_EXISTS
    stub.DestroySandbox(sandboxes_pb2.DestroySandboxRequest(sandbox_id=first.sandbox.id))
