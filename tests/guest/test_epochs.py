"""What a restore means to a guest: greetings, identity, quiesce and resume."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from sandbox_guest.framing import FrameKind
from sandbox_guest.mux import HEADER, Kind

from tests.guest.host import CLIENT, ENGINE, AgentProcess, Host, Json


def identity(**changes: Any) -> Json:
    return {
        "machine_id": os.urandom(16).hex(),
        "hostname": "renewed",
        "generation": os.urandom(4).hex(),
        "entropy": base64.b64encode(os.urandom(64)).decode(),
        "env": {},
    } | changes


@pytest.fixture
def state(agent: tuple[AgentProcess, Host]) -> Path:
    """The guest's state folder."""
    return agent[0].folder / "state"


@pytest.fixture
def etc(agent: tuple[AgentProcess, Host]) -> Path:
    """The guest's /etc."""
    return agent[0].folder / "etc"


async def test_a_greeting_without_identity_is_answered(host: Host) -> None:
    welcome = await host.greet()
    assert welcome["protocol"] == 1
    assert welcome["identity_confirmed"] is False
    assert welcome["kernel"] == os.uname().release
    assert abs(welcome["clock_ns"] - time.time_ns()) < 5e9
    assert "error" not in welcome


async def test_an_identity_is_applied_before_the_welcome(
    host: Host, state: Path, etc: Path
) -> None:
    before = (await host.greet())["boot_id"]
    mine = identity(env={"TOKEN": "t1"})
    welcome = await host.greet(mine)
    assert welcome["identity_confirmed"] is True
    assert welcome["boot_id"] not in ("", before)
    assert (etc / "machine-id").read_text() == mine["machine_id"] + "\n"
    assert (etc / "hostname").read_text() == "renewed\n"
    assert "127.0.1.1\trenewed" in (etc / "hosts").read_text()
    assert (state / "generation").read_text() == mine["generation"] + "\n"
    assert (state / "boot_id").read_text().strip() == welcome["boot_id"]
    _, out, _ = await host.run("sh", "-c", "hostname; echo $TOKEN")
    assert out == b"renewed\nt1\n"
    assert socket.gethostname() != "renewed"


async def test_a_wake_keeps_the_names(host: Host, etc: Path) -> None:
    mine = identity(hostname="kept")
    boot_id = (await host.greet(mine))["boot_id"]
    woken = await host.greet(identity(machine_id=None, hostname=None))
    assert woken["identity_confirmed"] is True
    assert woken["boot_id"] == boot_id
    assert (etc / "machine-id").read_text() == mine["machine_id"] + "\n"
    assert (await host.run("hostname"))[1] == b"kept\n"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"machine_id": "short"}, id="machine id"),
        pytest.param({"machine_id": "Z" * 32}, id="machine id is not hex"),
        pytest.param({"entropy": ""}, id="no entropy"),
        pytest.param({"entropy": base64.b64encode(b"few").decode()}, id="little entropy"),
        pytest.param({"entropy": "***"}, id="entropy is no base64"),
        pytest.param({"env": {"A=": "x"}}, id="a name with ="),
        pytest.param({"env": {"A": 1}}, id="a value that is no string"),
        pytest.param({"hostname": "x" * 300}, id="hostname"),
    ],
)
async def test_what_cannot_be_applied_is_not_confirmed(host: Host, changes: Json) -> None:
    welcome = await host.greet(identity(**changes))
    assert welcome["identity_confirmed"] is False
    assert welcome["error"]


async def test_a_workload_stays_frozen_until_its_identity_is_applied(
    host: Host, workspace: Path
) -> None:
    pid = await counter(host, workspace)
    host.quiesced.clear()
    host.mux.quiesce()
    host.flush()
    await host.quiesced.wait()
    stood = (workspace / "n").read_text()
    welcome = await host.greet(identity(machine_id="wrong"))
    assert welcome["error"]
    assert (await host.call(op="exec", argv=["true"]))["status"] == 7
    assert (workspace / "n").read_text() == stood
    welcome = await host.greet(identity())
    assert welcome["identity_confirmed"] is True
    await counting(workspace)
    await kill(host, pid)


async def test_generators_are_told_of_a_new_generation(
    host: Host, state: Path, workspace: Path
) -> None:
    script = (
        f"trap 'cat {state}/generation > seen.new; mv seen.new seen' USR1;"
        " trap 'echo w > winch' WINCH;"
        f"echo $1 > {state}/reseed/$$; touch ready$1; while :; do sleep 0.05; done"
    )
    streams = [
        host.open(
            CLIENT, {"v": 1, "op": "exec", "detach": True, "argv": ["sh", "-c", script, "", n]}
        )
        for n in ("", "28")
    ]
    pids = [(await stream.control())["pid"] for stream in streams]
    while not ((workspace / "ready").exists() and (workspace / "ready28").exists()):
        await asyncio.sleep(0.01)
    (state / "reseed/999999999").write_text("")  # of a process that is gone
    mine = identity()
    await host.greet(mine)
    while not (workspace / "seen").exists() or not (workspace / "winch").exists():
        await asyncio.sleep(0.01)
    assert (workspace / "seen").read_text() == mine["generation"] + "\n"
    assert not (state / "reseed/999999999").exists()
    for pid in pids:
        await kill(host, pid)


async def test_quiesce_stands_still_and_resume_goes_on(host: Host, workspace: Path) -> None:
    pid = await counter(host, workspace)
    stream = host.open(ENGINE, {"op": "exec", "argv": ["cat"], "stdin": True})
    assert (await stream.control())["type"] == "started"
    for _ in range(3):
        host.quiesced.clear()
        host.resumed.clear()
        host.mux.quiesce()
        host.flush()
        await host.quiesced.wait()
        stood = (workspace / "n").read_text()
        await asyncio.sleep(0.1)  # long enough for the counter to move, were it not frozen
        assert (workspace / "n").read_text() == stood
        host.mux.resume()
        host.flush()
        await host.resumed.wait()
        await counting(workspace)
        await stream.send_bulk(FrameKind.STDIN, b"on")
        assert await stream.receive() == (FrameKind.STDOUT, b"on")
    stream.reset()
    await kill(host, pid)


async def test_nothing_is_sent_between_quiesced_and_resume(host: Host) -> None:
    """Even an answer that is ready waits."""
    wire = Recorder(host)
    host.mux.quiesce()
    host.mux.send(host.mux.open_stream(ENGINE), b"")
    number = host.mux.open_stream(ENGINE)
    host.mux.send(number, b'\x01\x00\x00\x00\x0d{"op":"ping"}')
    host.flush()
    await host.quiesced.wait()
    await asyncio.sleep(0.05)  # an answer would be here by now
    assert wire.kinds() == [Kind.QUIESCED]
    host.mux.resume()
    host.flush()
    await host.resumed.wait()
    wire.stop()


class Recorder:
    """What the guest sent, frame by frame."""

    def __init__(self, host: Host) -> None:
        self._host, self._bytes = host, b""
        self._receive = host.mux.receive

        def receive(data: bytes | memoryview) -> Any:
            self._bytes += data
            return self._receive(data)

        host.mux.receive = receive  # type: ignore[method-assign]  # a tap, removed by stop()

    def stop(self) -> None:
        self._host.mux.receive = self._receive  # type: ignore[method-assign]  # as above

    def kinds(self) -> list[Kind]:
        kinds, at = [], 0
        while at < len(self._bytes):
            kind, _, _, _, length = HEADER.unpack_from(self._bytes, at)
            kinds.append(Kind(kind))
            at += HEADER.size + length
        return kinds


async def test_garbage_on_the_link_costs_the_epoch_and_no_more(host: Host) -> None:
    client = host.open(CLIENT, {"v": 1, "op": "exec", "argv": ["sleep", "4711"], "detach": True})
    pid = (await client.control())["pid"]
    host.write(b"\xff" * 5000)
    welcome = await host.greet(resync=True)
    assert welcome["protocol"] == 1
    client = host.open(CLIENT, {"v": 1, "op": "ps"})
    assert pid in [proc["pid"] for proc in (await client.control())["procs"]]
    await kill(host, pid)


async def test_an_unknown_port_is_refused(host: Host) -> None:
    stream = host.open(77, {"op": "info"})
    while stream.gone is None:
        stream.changed.clear()
        await stream.changed.wait()
    assert "77" in stream.gone


async def test_clock_and_bad_requests(host: Host) -> None:
    assert (await host.call(op="clock", clock_ns="now"))["status"] == 1
    assert (await host.call(op="clock"))["status"] == 1
    assert (await host.call(op="configure", env=[]))["status"] == 1
    assert (await host.call(op="configure", lane="fast"))["status"] == 1
    assert (await host.call(op="sync")) == {"type": "done"}
    info = await host.call(op="info")
    assert info["kernel"] == os.uname().release
    assert abs(info["clock_ns"] - time.time_ns()) < 5e9


async def counter(host: Host, workspace: Path) -> int:
    """A detached command that counts into the workspace's `n`."""
    (workspace / "n").unlink(missing_ok=True)
    script = "i=0; while :; do i=$((i+1)); echo $i > n.new; mv n.new n; sleep 0.01; done"
    argv = ["sh", "-c", script]
    stream = host.open(CLIENT, {"v": 1, "op": "exec", "argv": argv, "detach": True})
    pid = int((await stream.control())["pid"])
    while not (workspace / "n").exists():
        await asyncio.sleep(0.01)
    return pid


async def counting(workspace: Path) -> None:
    before = (workspace / "n").read_text()
    while (workspace / "n").read_text() == before:
        await asyncio.sleep(0.01)


async def kill(host: Host, pid: int) -> None:
    stream = host.open(CLIENT, {"v": 1, "op": "kill", "pid": pid})
    assert (await stream.control())["type"] == "done"
