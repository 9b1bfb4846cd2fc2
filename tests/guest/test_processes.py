"""Commands started before: listed, signalled, and gone on with, against a real agent process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sandbox_guest.framing import FrameKind
from sandbox_guest.ring import CAPACITY

from tests.guest.host import ENGINE, Host, HostStream, Json

OUT, ERR = FrameKind.STDOUT, FrameKind.STDERR


async def detach(host: Host, script: str, **fields: Any) -> Json:
    request = {"op": "exec", "argv": [script], "shell": True, "detach": True, **fields}
    return await host.call(**request)


async def attach(host: Host, exec_id: str, **fields: Any) -> tuple[HostStream, Json]:
    stream = host.open(ENGINE, {"op": "attach_exec", "exec_id": exec_id, **fields})
    return stream, await stream.control()


async def to_the_end(stream: HostStream) -> tuple[Json, dict[int, bytes]]:
    end, bulk = await stream.until("exit", "error")
    stream.finish()
    return end, bulk


async def output(stream: HostStream, wanted: bytes) -> None:
    """Read standard output until it is this."""
    seen = b""
    while seen != wanted:
        received = await stream.receive()
        assert received is not None and received[0] == OUT
        seen += received[1]
        assert wanted.startswith(seen)


async def listed(host: Host, started: Json) -> Json | None:
    """What the list says of one command."""
    answer = await host.call(op="processes")
    return next((one for one in answer["processes"] if one["pid"] == started["pid"]), None)


async def ended(host: Host, started: Json) -> Json:
    """What the list says of it once it runs no more."""
    while (one := await listed(host, started)) is not None and one["running"]:
        await asyncio.sleep(0.01)
    assert one is not None
    return one


async def test_a_detached_command_has_a_name_and_is_listed(host: Host) -> None:
    started = await detach(host, "exec sleep 600")
    assert started["detached"] and started["exec_id"]
    one = await listed(host, started)
    assert one is not None and one["exec_id"] == started["exec_id"]
    assert one["running"] and one["argv"] == ["/bin/sh", "-c", "exec sleep 600"]
    assert await host.call(op="signal_process", pid=one["pid"]) == {"type": "done"}
    one = await ended(host, started)
    assert (one["code"], one["signal"]) == (-1, 9)


async def test_a_command_in_the_foreground_is_listed_while_it_runs(host: Host) -> None:
    stream = host.open(ENGINE, {"op": "exec", "argv": ["cat"], "stdin": True})
    started = await stream.control()
    one = await listed(host, started)
    assert one is not None and (one["exec_id"], one["running"]) == ("", True)
    await stream.send({"op": "stdin_close"})
    await to_the_end(stream)
    assert await listed(host, started) is None


async def test_a_command_whose_stream_broke_is_not_listed_any_more(host: Host) -> None:
    stream = host.open(ENGINE, {"op": "exec", "argv": ["sleep", "600"]})
    started = await stream.control()
    stream.reset()
    while await listed(host, started):
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("number", [1, 64])
async def test_signals_from_1_to_64_are_sent(host: Host, number: int) -> None:
    started = await detach(host, f"trap 'exit 5' {number}; echo up; while :; do sleep 0.01; done")
    stream, _ = await attach(host, started["exec_id"])
    await output(stream, b"up\n")
    await host.call(op="signal_process", pid=started["pid"], signal=number)
    end, _ = await to_the_end(stream)
    assert end["code"] == 5


async def test_what_is_no_signal_or_no_command_is_refused(host: Host) -> None:
    started = await detach(host, "exec sleep 600")
    wrong = await host.call(op="signal_process", pid=started["pid"], signal=65)
    assert (wrong["status"], "65" in wrong["message"]) == (1, True)
    missing = await host.call(op="signal_process", pid=1, signal=15)
    assert (missing["status"], missing["about"]) == (3, "process")
    unknown = await host.call(op="attach_exec", exec_id="ex_999")
    assert (unknown["status"], unknown["about"]) == (3, "process")


async def test_an_ended_command_is_told_from_any_offset(host: Host) -> None:
    started = await detach(host, "printf 0123456789; printf abcdef >&2; exit 3")
    _, told = await attach(host, started["exec_id"])
    assert (told["out_offset"], told["err_offset"], told["input_offset"]) == (0, 0, 0)
    for out, err in ((0, 0), (4, 6), (10, 1)):
        stream, told = await attach(host, started["exec_id"], out_offset=out, err_offset=err)
        end, bulk = await to_the_end(stream)
        assert (told["out_offset"], told["err_offset"]) == (out, err)
        assert (bulk[OUT], bulk[ERR]) == (b"0123456789"[out:], b"abcdef"[err:])
        assert (end["code"], end["signal"], end["out_total"], end["err_total"]) == (3, 0, 10, 6)


async def test_an_offset_behind_the_end_is_refused(host: Host) -> None:
    started = await detach(host, "printf 0123456789")
    await to_the_end((await attach(host, started["exec_id"]))[0])
    _, refused = await attach(host, started["exec_id"], out_offset=11)
    assert refused["status"] == 1 and "out_offset" in refused["message"]


async def test_lost_output_is_an_error_unless_a_gap_is_allowed(host: Host) -> None:
    size = CAPACITY + 1000
    started = await detach(host, f"head -c {size} /dev/zero; printf end >&2")
    await ended(host, started)
    _, lost = await attach(host, started["exec_id"])
    assert (lost["type"], lost["about"]) == ("error", "output")
    first = 1000 + len("end")
    stream, told = await attach(host, started["exec_id"], out_offset=first)
    assert told["type"] == "started"
    _, bulk = await to_the_end(stream)
    assert len(bulk[OUT]) == size - first
    stream, told = await attach(host, started["exec_id"], allow_gap=True)
    assert (told["out_offset"], told["err_offset"]) == (first, 0)
    _, bulk = await to_the_end(stream)
    assert (len(bulk[OUT]), bulk[ERR]) == (size - first, b"end")


async def test_whoever_is_attached_paces_the_command_and_misses_nothing(host: Host) -> None:
    size = 8 * CAPACITY
    script = f"read go; head -c {size} /dev/zero"
    started = await detach(host, script, stdin=True)
    stream, told = await attach(host, started["exec_id"])
    assert told["takes_input"]
    await stream.send_bulk(FrameKind.STDIN, b"go\n")
    end, bulk = await to_the_end(stream)
    assert len(bulk[OUT]) == size == end["out_total"]


async def test_input_goes_on_where_it_was(host: Host) -> None:
    started = await detach(host, "exec cat", stdin=True)
    stream, _ = await attach(host, started["exec_id"])
    await stream.send_bulk(FrameKind.STDIN, b"first\n")
    await output(stream, b"first\n")
    stream.reset()
    stream, told = await attach(host, started["exec_id"], out_offset=6)
    assert (told["input_offset"], told["takes_input"]) == (6, True)
    await stream.send_bulk(FrameKind.STDIN, b"second\n")
    await stream.send({"op": "stdin_close"})
    end, bulk = await to_the_end(stream)
    assert (bulk[OUT], end["code"]) == (b"second\n", 0)
    _, told = await attach(host, started["exec_id"])
    assert (told["input_offset"], told["takes_input"]) == (13, False)


async def test_the_next_to_attach_takes_over(host: Host) -> None:
    started = await detach(host, "echo up; exec sleep 600")
    first, _ = await attach(host, started["exec_id"])
    await output(first, b"up\n")
    second, _ = await attach(host, started["exec_id"])
    end, _ = await to_the_end(first)
    assert (end["type"], end["status"]) == ("error", 7)
    await output(second, b"up\n")
    await second.send({"op": "signal", "signal": 15})
    assert (await to_the_end(second))[0]["signal"] == 15


async def test_the_limits_of_a_detached_command_hold(host: Host) -> None:
    started = await detach(host, "exec sleep 600", timeout_ms=100)
    end, _ = await to_the_end((await attach(host, started["exec_id"]))[0])
    assert (end["timed_out"], end["signal"]) == (True, 9)
    for most, ended in ((1000, False), (999, True)):
        script = "head -c 1000 /dev/zero; read forever"
        started = await detach(host, script, stdin=True, max_output=most)
        stream, _ = await attach(host, started["exec_id"])
        await output(stream, bytes(1000))
        await stream.send({"op": "stdin_close"})
        end, _ = await to_the_end(stream)
        assert end["truncated"] is ended


async def test_renaming_stays_in_the_workspace(host: Host, workspace: Path) -> None:
    async def rename(old: object, new: object) -> Json:
        return await host.call(op="rename", path=str(old), new_path=str(new))

    (workspace / "a").write_text("a")
    (workspace / "b").write_text("b")
    assert await rename(workspace / "a", workspace / "b") == {"type": "done"}
    assert not (workspace / "a").exists() and (workspace / "b").read_text() == "a"
    (workspace / "out").symlink_to("/tmp")
    for old, new in (
        (workspace / "b", "/tmp/x"),
        ("/etc/passwd", workspace / "x"),
        (workspace / "b", workspace / "out/x"),
        (workspace, workspace / "x"),
        (workspace / "b", workspace),
    ):
        assert (await rename(old, new))["status"] == 2
    assert (await rename(workspace / "none", workspace / "x"))["status"] == 3


async def test_a_watch_tells_what_happens_after_it_is_armed(host: Host, workspace: Path) -> None:
    (workspace / "deep").mkdir()
    stream = host.open(ENGINE, {"op": "watch", "path": str(workspace), "recursive": True})
    assert await stream.control() == {"type": "ready"}
    (workspace / "deep/one").touch()
    told = await stream.control()
    assert told == {"type": "change", "kind": "created", "path": f"{workspace}/deep/one"}
    (workspace / "deep/one").rename(workspace / "two")
    while told["kind"] != "renamed":
        told = await stream.control()
    assert told["path"] == f"{workspace}/two"
    stream.reset()


async def test_a_watch_through_a_link_speaks_of_the_path_it_was_given(
    host: Host, workspace: Path
) -> None:
    (workspace / "real").mkdir()
    (workspace / "link").symlink_to("real")
    stream = host.open(ENGINE, {"op": "watch", "path": f"{workspace}/link"})
    assert await stream.control() == {"type": "ready"}
    (workspace / "real/new").touch()
    assert (await stream.control())["path"] == f"{workspace}/link/new"
    stream.reset()
    (workspace / "away").symlink_to("/tmp")
    for path, status in (("/tmp", 2), (f"{workspace}/away", 2), (f"{workspace}/none", 3)):
        assert (await host.call(op="watch", path=path))["status"] == status
