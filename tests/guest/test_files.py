"""The engine's file operations against a real agent process."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from sandbox_guest.framing import FrameKind

from tests.guest.host import ENGINE, Host, HostStream, Json

MIB = 1 << 20


async def write(host: Host, path: object, body: bytes, **fields: object) -> Json:
    stream = host.open(ENGINE, {"op": "write_file", "path": str(path), **fields})
    await stream.send_bulk(FrameKind.DATA, body)
    await stream.send({"op": "data_end"})
    answer, _ = await stream.until("done", "error")
    stream.finish()
    return answer


async def read(host: Host, path: object, **fields: object) -> tuple[Json, bytes]:
    stream = host.open(ENGINE, {"op": "read_file", "path": str(path), **fields})
    answer, bulk = await stream.until("done", "error")
    stream.finish()
    return answer, bulk[FrameKind.DATA]


async def test_write_then_read(host: Host, workspace: Path) -> None:
    body = os.urandom(3 * MIB)
    assert await write(host, workspace / "a.bin", body) == {"type": "done"}
    answer, back = await read(host, workspace / "a.bin")
    assert back == body
    assert answer == {"type": "done", "size": len(body), "truncated": False}
    assert (workspace / "a.bin").stat().st_mode & 0o777 == 0o644


async def test_a_part_of_a_file(host: Host, workspace: Path) -> None:
    (workspace / "part").write_bytes(b"0123456789")
    answer, back = await read(host, workspace / "part", offset=2, max_bytes=3)
    assert (back, answer["truncated"], answer["size"]) == (b"234", True, 10)
    answer, back = await read(host, workspace / "part", offset=7, max_bytes=3)
    assert (back, answer["truncated"]) == (b"789", False)
    answer, back = await read(host, workspace / "part", offset=99)
    assert (back, answer["truncated"]) == (b"", False)


async def test_reading_stops_at_4_mib_and_streaming_does_not(host: Host, workspace: Path) -> None:
    (workspace / "big").write_bytes(bytes(5 * MIB))
    answer, back = await read(host, workspace / "big")
    assert (len(back), answer["truncated"]) == (4 * MIB, True)
    answer, back = await read(host, workspace / "big", max_bytes=9 * MIB)
    assert (len(back), answer["truncated"]) == (4 * MIB, True)
    answer, back = await read(host, workspace / "big", stream=True)
    assert (len(back), answer["truncated"]) == (5 * MIB, False)


async def test_writing_more_than_4_mib_changes_nothing(host: Host, workspace: Path) -> None:
    (workspace / "kept").write_bytes(b"before")
    answer = await write(host, workspace / "kept", bytes(4 * MIB + 1))
    assert answer["status"] == 5
    assert (workspace / "kept").read_bytes() == b"before"
    assert not [name for name in os.listdir(workspace) if name.endswith(".tmp")]
    assert (await write(host, workspace / "kept", bytes(4 * MIB + 1), stream=True)) == {
        "type": "done"
    }


async def test_a_write_that_is_cut_changes_nothing(host: Host, workspace: Path) -> None:
    (workspace / "cut").write_bytes(b"before")
    stream = host.open(ENGINE, {"op": "write_file", "path": f"{workspace}/cut"})
    await stream.send_bulk(FrameKind.DATA, b"after")
    stream.finish()
    assert (await stream.control())["status"] == 1
    stream = host.open(ENGINE, {"op": "write_file", "path": f"{workspace}/cut"})
    await stream.send_bulk(FrameKind.DATA, b"after")
    stream.reset()
    assert (await host.call(op="ping"))["type"] == "pong"
    while [name for name in os.listdir(workspace) if name.endswith(".tmp")]:
        await asyncio.sleep(0.01)
    assert (workspace / "cut").read_bytes() == b"before"


async def test_readers_see_the_old_file_or_the_new(host: Host, workspace: Path) -> None:
    path = workspace / "atomic"
    path.write_bytes(b"old")
    held = path.open("rb")
    stream = host.open(ENGINE, {"op": "write_file", "path": str(path)})
    await stream.send_bulk(FrameKind.DATA, b"new")
    assert path.read_bytes() == b"old"
    await stream.send({"op": "data_end"})
    assert await stream.control() == {"type": "done"}
    assert (path.read_bytes(), held.read()) == (b"new", b"old")
    held.close()


async def test_an_overwritten_file_keeps_mode_and_owner(host: Host, workspace: Path) -> None:
    path = workspace / "mode"
    path.write_bytes(b"1")
    path.chmod(0o751)
    os.chown(path, 4711, 4712)
    await write(host, path, b"2")
    status = path.stat()
    assert (status.st_mode & 0o7777, status.st_uid, status.st_gid) == (0o751, 4711, 4712)
    await write(host, path, b"3", mode=0o600)
    assert path.stat().st_mode & 0o7777 == 0o600


async def test_append_exclusive_and_parents(host: Host, workspace: Path) -> None:
    path = workspace / "deep/er/x"
    assert (await write(host, path, b"1"))["status"] == 3
    assert (await write(host, path, b"1", parents=True))["type"] == "done"
    assert (await write(host, path, b"2", append=True))["type"] == "done"
    assert path.read_bytes() == b"12"
    assert (await write(host, path, b"3", excl=True))["status"] == 8
    assert (await write(host, path, b"3", excl=True, append=True))["status"] == 8
    assert path.read_bytes() == b"12"
    assert (await write(host, workspace / "deep/new", b"3", excl=True))["type"] == "done"
    made = await write(host, workspace / "deep/log", b"4", append=True, mode=0o777)
    assert made["type"] == "done"
    assert (workspace / "deep/log").stat().st_mode & 0o777 == 0o777
    assert sorted(os.listdir(workspace / "deep")) == ["er", "log", "new"]


async def test_two_exclusive_writes_have_one_winner(host: Host, workspace: Path) -> None:
    path = workspace / "race"
    streams: list[HostStream] = []
    for body in (b"1", b"2"):
        stream = host.open(ENGINE, {"op": "write_file", "path": str(path), "excl": True})
        await stream.send_bulk(FrameKind.DATA, body)
        streams.append(stream)
    for stream in streams:
        await stream.send({"op": "data_end"})
    answers = [await stream.control() for stream in streams]
    assert sorted(answer.get("status", 0) for answer in answers) == [0, 8]
    assert path.read_bytes() in (b"1", b"2")


async def test_list_and_stat(host: Host, workspace: Path) -> None:
    folder = workspace / "listed"
    folder.mkdir()
    (folder / "b").write_bytes(b"12345")
    (folder / "a").mkdir()
    (folder / "link").symlink_to("b")
    os.mkfifo(folder / "pipe")
    (folder / os.fsdecode(b"latin-\xe9")).write_bytes(b"")
    answer = await host.call(op="list_dir", path=str(folder))
    kinds = {entry["name"]: entry["kind"] for entry in answer["entries"]}
    assert kinds == {
        "a": "dir", "b": "file", "link": "symlink", "pipe": "other", "latin-\udce9": "file",
    }  # fmt: skip
    assert answer["truncated"] is False
    short = await host.call(op="list_dir", path=str(folder), max_entries=2)
    assert (len(short["entries"]), short["truncated"]) == (2, True)
    found = await host.call(op="stat", path=f"{folder}/link")
    assert found["kind"] == "symlink"
    found = await host.call(op="stat", path=f"{folder}/b")
    assert (found["kind"], found["size"], found["mode"]) == ("file", 5, 0o644)
    assert abs(found["mtime"] - (folder / "b").stat().st_mtime) < 2


async def test_mkdir(host: Host, workspace: Path) -> None:
    path = f"{workspace}/m/n"
    assert (await host.call(op="mkdir", path=path))["status"] == 3
    assert (await host.call(op="mkdir", path=path, parents=True, mode=0o777))["type"] == "done"
    assert Path(path).stat().st_mode & 0o7777 == 0o777
    assert Path(path).parent.stat().st_mode & 0o777 == 0o755
    assert (await host.call(op="mkdir", path=path, parents=True))["type"] == "done"
    assert (await host.call(op="mkdir", path=path))["status"] == 8
    assert (await host.call(op="mkdir", path=str(workspace)))["status"] == 8
    assert (await host.call(op="mkdir", path=str(workspace), parents=True))["type"] == "done"


async def test_remove(host: Host, workspace: Path) -> None:
    tree = workspace / "tree"
    (tree / "a/b/c").mkdir(parents=True)
    (tree / "a/file").write_bytes(b"")
    (tree / "a/out").symlink_to("/etc")
    assert (await host.call(op="remove", path=str(tree)))["status"] == 4
    assert (await host.call(op="remove", path=str(tree), recursive=True))["type"] == "done"
    assert not tree.exists()
    assert Path("/etc/passwd").exists()
    assert (await host.call(op="remove", path=str(tree)))["status"] == 3
    (workspace / "empty").mkdir()
    assert (await host.call(op="remove", path=f"{workspace}/empty"))["type"] == "done"


async def test_a_tree_deeper_than_any_path_is_removed(host: Host, workspace: Path) -> None:
    script = "for i in $(seq 1 600); do mkdir -p 0123456789 && cd 0123456789; done"
    assert (await host.run("bash", "-c", f"mkdir deep1 && cd deep1 && {script}"))[0]["code"] == 0
    answer = await host.call(op="remove", path=f"{workspace}/deep1", recursive=True)
    assert answer == {"type": "done"}


@pytest.mark.parametrize("unconfined", [False, True])
async def test_the_roots_are_never_removed(
    host: Host, workspace: Path, *, unconfined: bool
) -> None:
    for path in ("/", str(workspace), f"{workspace}/", f"/{workspace}//", "//"):
        answer = await host.call(op="remove", path=path, recursive=True, unconfined=unconfined)
        assert answer["status"] == 2, path
    assert workspace.is_dir()


@pytest.fixture
def escapes(workspace: Path, tmp_path: Path) -> Path:
    """Ways out of the workspace, to a folder that holds `secret`."""
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "folder").mkdir()
    for name, target in (
        ("absolute", tmp_path), ("relative", os.path.relpath(tmp_path, workspace)),
        ("file", tmp_path / "secret"), ("magic", "/proc/self/root"),
    ):  # fmt: skip
        (workspace / name).unlink(missing_ok=True)
        (workspace / name).symlink_to(target)
    return tmp_path


@pytest.mark.parametrize(
    "path",
    [
        "relative/secret", "absolute/secret", "file", "../secret", "a/../../secret", "./x",
        "magic/etc/passwd", "/etc/passwd", "relative", "etc/passwd",
    ],
)  # fmt: skip
async def test_no_path_leaves_the_workspace(
    host: Host, workspace: Path, escapes: Path, path: str
) -> None:
    """Every operation refuses with `denied`, or acts on the link itself."""
    target = path if path.startswith(("/", "etc")) else f"{workspace}/{path}"
    link = path in ("file", "relative")
    before = sorted(os.listdir(escapes))
    assert (await read(host, target))[0]["status"] == 2
    assert (await host.call(op="list_dir", path=target))["status"] == 2 or path == "file"
    assert (await write(host, target, b"x", append=True))["status"] == 2
    if not link:
        assert (await write(host, target, b"x"))["status"] == 2
        assert (await host.call(op="stat", path=target))["status"] == 2
        assert (await host.call(op="mkdir", path=f"{target}.d"))["status"] == 2
        assert (await host.call(op="remove", path=target))["status"] == 2
    assert (await host.call(op="mkdir", path=f"{target}/d", parents=True))["status"] in (2, 4)
    assert sorted(os.listdir(escapes)) == before
    assert (escapes / "secret").read_bytes() == b"secret"


async def test_a_racing_link_never_wins(host: Host, workspace: Path, tmp_path: Path) -> None:
    """A folder swapped for a link to the outside, all the while: inside or refused."""
    (tmp_path / "x").write_bytes(b"outside")
    for name in ("inside", "swap"):
        (workspace / name).mkdir()
    (workspace / "inside/x").write_bytes(b"inside")
    (workspace / "swap/x").write_bytes(b"inside")
    script = f"while :; do mv -T swap s2; ln -s {tmp_path} swap; rm swap; mv -T s2 swap; done"
    swapping = host.open(ENGINE, {"op": "exec", "argv": ["sh", "-c", script]})
    await swapping.control()
    for number in range(150):
        _, body = await read(host, f"{workspace}/swap/x")
        assert body in (b"", b"inside")
        await write(host, f"{workspace}/swap/w{number}", b"w")
    swapping.reset()
    assert os.listdir(tmp_path) == ["x"]


async def test_what_is_no_regular_file_is_not_read(host: Host, workspace: Path) -> None:
    (workspace / "d").mkdir()
    os.mkfifo(workspace / "fifo")
    for name in ("d", "fifo"):
        assert (await read(host, workspace / name))[0]["status"] == 4
    assert (await write(host, workspace / "d", b""))["status"] == 4
    assert (await host.call(op="list_dir", path=f"{workspace}/fifo"))["status"] == 4


async def test_a_full_disk_says_so_and_leaves_nothing(host: Host, workspace: Path) -> None:
    small = workspace / "small"
    small.mkdir()
    mounted, _, err = await host.run("mount", "-t", "tmpfs", "-o", "size=64k", "x", str(small))
    assert mounted["code"] == 0, err
    try:
        answer = await write(host, small / "f", bytes(MIB))
        assert answer["status"] == 4
        assert "space" in answer["message"].lower()
        assert os.listdir(small) == []
    finally:
        await host.run("umount", str(small))


async def test_unconfined_is_for_the_engine(host: Host, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    assert (await read(host, tmp_path / "f"))[0]["status"] == 2
    assert (await read(host, tmp_path / "f", unconfined=True))[1] == b"x"


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"op": "stat"}, id="no path"),
        pytest.param({"op": "stat", "path": 1}, id="a number as path"),
        pytest.param({"op": "stat", "path": "/a\0b"}, id="NUL"),
        pytest.param({"op": "read_file", "path": "/x", "offset": -1}, id="negative offset"),
        pytest.param({"op": "mkdir", "path": "/x", "mode": 0o10000}, id="mode"),
        pytest.param({"op": "format"}, id="unknown op"),
        pytest.param({}, id="no op"),
    ],
)
async def test_a_bad_request_is_refused(host: Host, request_: Json) -> None:
    assert (await host.call(**request_))["status"] == 1


async def test_what_is_no_request_is_refused(host: Host) -> None:
    stream = host.open(ENGINE)
    await stream.send_raw(b"\x01\x00\x00\x00\x04nope")
    assert (await stream.control())["status"] == 1
    stream = host.open(ENGINE)
    await stream.send_bulk(FrameKind.DATA, b"x")
    assert (await stream.control())["status"] == 1
    stream = host.open(ENGINE)
    stream.finish()
    assert await stream.receive() is None


async def test_the_seventeenth_operation_is_told_to_come_back(host: Host) -> None:
    streams = [host.open(ENGINE, {"op": "exec", "argv": ["cat"], "stdin": True}) for _ in range(16)]
    for stream in streams:
        assert (await stream.control())["type"] == "started"
    assert (await host.call(op="stat", path="/workspace"))["status"] == 7
    assert (await host.call(op="ping"))["type"] == "pong"
    await streams[0].send({"op": "stdin_close"})
    await streams[0].until("exit")
    assert (await host.run("true"))[0]["code"] == 0
    for stream in streams[1:]:
        stream.reset()
    assert (await host.run("true"))[0]["code"] == 0
