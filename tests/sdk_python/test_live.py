"""What only a real guest can show: terminals, trees, saved states."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sandbox_sdk import (
    AsyncClient,
    ChangeKind,
    Client,
    Sandbox,
    SandboxState,
    Stdout,
    TerminalSize,
    errors,
)

from tests.support.engine import Engine

pytestmark = pytest.mark.vm


@pytest.fixture(scope="module")
def client(shared_engine: Engine) -> Iterator[Client]:
    with Client(shared_engine.grpc_socket) as made:
        yield made


@pytest.fixture(scope="module")
def sandbox(client: Client) -> Iterator[Sandbox]:
    with client.create("base", ttl_s=600, pool_wait_s=120, env={"MADE": "once"}) as made:
        yield made


def test_a_terminal_takes_a_size_input_and_signals(sandbox: Sandbox) -> None:
    script = "stty size; read line; stty size; echo got $line"
    seen = ""
    with sandbox.exec(script, terminal=TerminalSize(91, 17)) as command:
        for event in command:
            if isinstance(event, Stdout):
                seen += event.text
                if seen == "17 91\r\n":
                    command.resize(TerminalSize(100, 30))
                    command.write("hello\n")
    assert "30 100" in seen
    assert "got hello" in seen
    with sandbox.exec("echo up; exec sleep 1000") as command:
        for event in command:
            if isinstance(event, Stdout):
                command.signal()
    assert command.exited is not None
    assert command.exited.signal == 15


def test_a_tree_goes_in_and_comes_back(sandbox: Sandbox, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "deep/er").mkdir(parents=True)
    (tree / "deep/er/data").write_bytes(bytes(range(256)) * 4096)
    (tree / "deep/link").symlink_to("er/data")
    sandbox.files.upload_tree(tree, "/workspace/a tree")
    sums = sandbox.run("cd '/workspace/a tree' && cmp deep/link deep/er/data && wc -c deep/link")
    assert sums.check().stdout_text.split()[0] == str(256 * 4096)
    sandbox.files.download_tree("/workspace/a tree", tmp_path / "back")
    assert (tmp_path / "back/deep/link").read_bytes() == bytes(range(256)) * 4096
    sandbox.run("ln -s /etc/passwd '/workspace/a tree/out'").check()
    with pytest.raises(errors.UnsafeTree):
        sandbox.files.download_tree("/workspace/a tree", tmp_path / "second")
    with pytest.raises(errors.CommandFailed):
        sandbox.files.download_tree("/workspace/missing", tmp_path / "third")


def test_files_are_listed_described_and_removed(sandbox: Sandbox) -> None:
    files = sandbox.files
    assert files.write("/workspace/f/one", "grün") == 5
    with pytest.raises(errors.PathExists):
        files.write("/workspace/f/one", "x", exclusive=True)
    files.write("/workspace/f/one", " more", append=True)
    assert files.read_text("/workspace/f/one") == "grün more"
    assert files.read("/workspace/f/one", offset=6, max_bytes=3) == b"mor"
    assert [entry.name for entry in files.list("/workspace/f")] == ["one"]
    assert files.stat("/workspace/f/one").size == 10
    files.remove("/workspace/f", recursive=True)
    with pytest.raises(errors.PathNotFound):
        files.stat("/workspace/f")
    with pytest.raises(errors.PathDenied):
        files.read("/etc/shadow")


def test_the_environment_and_the_listing(client: Client, sandbox: Sandbox) -> None:
    assert sandbox.run("echo $MADE $HERE", env={"HERE": "too"}).stdout == b"once too\n"
    assert sandbox.id in {info.id for info in client.list()}
    assert "base" in {template.name for template in client.templates()}


async def test_states_are_saved_branched_and_woken(shared_engine: Engine) -> None:
    async with (
        AsyncClient(shared_engine.grpc_socket) as client,
        await client.create("base", ttl_s=600, pool_wait_s=120) as sandbox,
    ):
        (await sandbox.run("echo before >/workspace/x")).check()
        checkpoint = await sandbox.checkpoint("a name")
        assert checkpoint.sandbox_id == sandbox.id
        (await sandbox.run("echo after >/workspace/x")).check()
        async with await client.branch(checkpoint.id, ttl_s=600) as branch:
            assert branch.info.from_checkpoint == checkpoint.id
            assert await branch.files.read("/workspace/x") == b"before\n"
        assert [one.id async for one in client.checkpoints(sandbox.id)] == [checkpoint.id]
        await client.delete_checkpoint(checkpoint.id)
        assert (await sandbox.hibernate()).state is SandboxState.HIBERNATED
        assert (await sandbox.wake()).state is SandboxState.RUNNING
        assert await sandbox.files.read("/workspace/x") == b"after\n"


ECHO = """
import socket
with socket.create_server(("127.0.0.1", 8123)) as server:
    print("up", flush=True)
    while True:
        peer, _ = server.accept()
        with peer:
            held = b"".join(iter(lambda: peer.recv(65536), b""))
            peer.sendall(held[::-1])
"""


def test_a_port_is_reached_and_each_direction_ends_alone(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * 2048
    with sandbox.exec(["python3", "-c", ECHO]) as server:
        assert any(isinstance(event, Stdout) for event in server)
        for _ in range(2):
            with sandbox.connect(8123) as connection:
                connection.send(data)
                connection.send_end()
                back = b"".join(iter(connection.receive, b""))
            assert back == data[::-1]
        with sandbox.connect(8123) as left:
            left.send(b"x")  # and closed with the guest still reading
        with sandbox.connect(8123) as connection:
            connection.send_end()
            assert connection.receive() == b""
    with pytest.raises(errors.GuestUnavailable):
        sandbox.connect(1)
    for wrong in (0, 65536):
        with pytest.raises(errors.InvalidArgument, match="1 to 65535"):
            sandbox.connect(wrong)


class Relay(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Stands between a client and the engine, and can lose every connection."""

    daemon_threads = True

    def __init__(self, path: Path, engine: Path) -> None:
        self._engine = str(engine)
        self._open: list[socket.socket] = []
        super().__init__(str(path), socketserver.BaseRequestHandler)

    def finish_request(self, request: object, client_address: object) -> None:
        assert isinstance(request, socket.socket)
        with socket.socket(socket.AF_UNIX) as inner:
            inner.connect(self._engine)
            self._open += [request, inner]
            back = threading.Thread(target=_copy, args=(inner, request))
            back.start()
            _copy(request, inner)
            back.join()

    def cut(self) -> None:
        """Lose them all."""
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._open.clear()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    for one in (source, sink):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def relay(shared_engine: Engine, tmp_path: Path) -> Iterator[Relay]:
    with Relay(tmp_path / "relay.sock", shared_engine.grpc_socket) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.cut()
        made.shutdown()
        thread.join()


def test_a_detached_command_is_followed_over_a_lost_connection(
    sandbox: Sandbox, relay: Relay
) -> None:
    script = "seq 1 5000; read line; echo got $line; seq 5001 9000; echo late >&2; exit 4"
    with Client(Path(str(relay.server_address))) as client:
        command = client.get(sandbox.id).start(script, input=True)
        out, expected = b"", 0
        for event in command:
            if not isinstance(event, Stdout):
                continue
            assert event.offset == expected
            out, expected = out + event.data, event.offset + len(event.data)
            if out.endswith(b"\n5000\n"):
                relay.cut()
                command.write("this\n")
                break
        relay.cut()
        rest = command.wait()
        assert (rest.exit_code, rest.stderr) == (4, b"late\n")
        numbers = [b"%d\n" % number for number in range(1, 9001)]
        assert out + rest.stdout == b"".join(numbers[:5000]) + b"got this\n" + b"".join(
            numbers[5000:]
        )
    again = sandbox.attach(command.exec_id, stdout_offset=command.stdout_offset - 5)
    assert again.wait().stdout == b"9000\n"


def test_a_detached_command_outlives_its_client_and_is_found_again(sandbox: Sandbox) -> None:
    command = sandbox.start(["sleep", "600"])
    (found,) = [one for one in sandbox.processes() if one.exec_id == command.exec_id]
    assert found.running and found.argv == ("sleep", "600")
    sandbox.signal(found.pid)
    assert sandbox.attach(command.exec_id).wait().signal == 15
    (found,) = [one for one in sandbox.processes() if one.exec_id == command.exec_id]
    assert (found.running, found.exit_code) == (False, 128 + 15)
    with pytest.raises(errors.ProcessNotFound):
        sandbox.attach("ex_none").wait()
    flood = sandbox.start("head -c 300000 /dev/zero")
    while any(one.running for one in sandbox.processes() if one.exec_id == flood.exec_id):
        pass
    with pytest.raises(errors.OutputLost):
        flood.wait()
    assert len(sandbox.attach(flood.exec_id, stdout_offset=300000 - 1000).wait().stdout) == 1000


def test_files_are_renamed_and_watched(sandbox: Sandbox) -> None:
    files = sandbox.files
    files.write("/workspace/w/old", "x")
    seen = []
    for change in files.watch("/workspace/w"):
        if change is None:
            files.rename("/workspace/w/old", "/workspace/w/new")
            sandbox.run("rm /workspace/w/new").check()
            continue
        seen.append((change.kind, change.path))
        if change.kind is ChangeKind.DELETED:
            break
    assert seen == [
        (ChangeKind.RENAMED, "/workspace/w/new"),
        (ChangeKind.DELETED, "/workspace/w/new"),
    ]
    with pytest.raises(errors.PathDenied):
        files.rename("/workspace/w", "/tmp/w")
