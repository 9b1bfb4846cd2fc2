"""The public protocol's files, trees, search and watch against a real agent process."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import tarfile
from pathlib import Path

import pytest
from sandbox_guest.framing import FrameKind

from tests.guest.host import CLIENT, AgentProcess, Host, HostStream, Json

DATA = FrameKind.DATA


@pytest.fixture
def client(host: Host) -> HostStream:
    """A client's stream."""
    return host.open(CLIENT)


async def call(stream: HostStream, **request: object) -> Json:
    """One RPC with a single answer."""
    await stream.send({"v": 1, **request})
    return await stream.control()


async def upload(stream: HostStream, body: bytes, **request: object) -> Json:
    await stream.send({"v": 1, **request})
    await stream.send_bulk(DATA, body)
    await stream.send({"op": "data_end"})
    return (await stream.until("done", "error"))[0]


async def download(stream: HostStream, **request: object) -> tuple[Json, bytes]:
    await stream.send({"v": 1, **request})
    end, bulk = await stream.until("done", "error")
    return end, bulk[DATA]


async def frames(stream: HostStream, **request: object) -> list[Json]:
    """Control frames up to and with the terminal one."""
    await stream.send({"v": 1, **request})
    seen = [await stream.control()]
    while seen[-1]["type"] not in ("done", "error"):
        seen.append(await stream.control())
    return seen


class TestFiles:
    async def test_write_read_stat_rename_remove(self, client: HostStream, tmp_path: Path) -> None:
        body = os.urandom(3 << 20)
        path = str(tmp_path / "a.bin")
        assert (await upload(client, body, op="fs_write", path=path, mode=0o640))["type"] == "done"
        assert await download(client, op="fs_read", path=path) == ({"type": "done"}, body)
        info = (await call(client, op="fs_stat", path=path))["info"]
        assert (info["kind"], info["size"], info["mode"]) == ("file", len(body), 0o640)
        assert abs(info["mtime_epoch_secs"] - Path(path).stat().st_mtime) < 2
        to = str(tmp_path / "b.bin")
        assert (await call(client, op="fs_rename", **{"from": path, "to": to}))["type"] == "done"
        assert (await call(client, op="fs_stat", path=path))["kind"] == "not_found"
        assert (await call(client, op="fs_rm", path=to))["type"] == "done"
        assert os.listdir(tmp_path) == []

    async def test_overwrite_keeps_the_mode_and_writes_through_links(
        self, client: HostStream, tmp_path: Path
    ) -> None:
        (tmp_path / "x").write_bytes(b"1")
        (tmp_path / "x").chmod(0o755)
        (tmp_path / "link").symlink_to("x")
        await upload(client, b"2", op="fs_write", path=str(tmp_path / "link"))
        assert (tmp_path / "x").read_bytes() == b"2"
        assert (tmp_path / "x").stat().st_mode & 0o777 == 0o755
        assert sorted(os.listdir(tmp_path)) == ["link", "x"]

    async def test_a_cut_write_changes_nothing(self, client: HostStream, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"before")
        await client.send({"v": 1, "op": "fs_write", "path": str(tmp_path / "x")})
        await client.send_bulk(DATA, b"after")
        await client.send({"v": 1, "op": "info"})  # a new request ends the input
        assert (await client.control())["kind"] == "bad_request"
        assert (await client.control())["type"] == "info"
        assert (tmp_path / "x").read_bytes() == b"before"
        assert os.listdir(tmp_path) == ["x"]

    async def test_what_is_sent_to_a_failed_write_is_dropped(
        self, client: HostStream, tmp_path: Path
    ) -> None:
        answer = await upload(client, bytes(5 << 20), op="fs_write", path=f"{tmp_path}/no/x")
        assert answer["kind"] == "not_found"
        assert (await call(client, op="info"))["type"] == "info"

    async def test_a_big_folder_lists_in_batches(self, client: HostStream, tmp_path: Path) -> None:
        for number in range(5000):
            (tmp_path / f"{number}").touch()
        seen = await frames(client, op="fs_list", path=str(tmp_path))
        assert [len(frame.get("entries", [])) for frame in seen] == [4096, 904, 0]
        assert seen[0]["entries"][0].keys() == {"name", "kind", "size"}

    async def test_a_name_that_is_not_utf_8_is_shown(
        self, client: HostStream, tmp_path: Path
    ) -> None:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xe9")).touch()
        await client.send({"v": 1, "op": "fs_list", "path": str(tmp_path)})
        message = await client.receive()
        assert message is not None
        assert "\ufffd" in message[1].decode()  # valid JSON for any client

    @pytest.mark.parametrize(
        ("request_", "kind"),
        [
            pytest.param({"op": "fs_read", "path": "/etc"}, "bad_request", id="read a folder"),
            pytest.param({"op": "fs_read", "path": "/dev/null"}, "bad_request", id="a device"),
            pytest.param({"op": "fs_read", "path": "/no"}, "not_found", id="read nothing"),
            pytest.param({"op": "fs_list", "path": "/etc/passwd"}, "bad_request", id="list a file"),
            pytest.param({"op": "fs_mkdir", "path": "/etc"}, "bad_request", id="it exists"),
            pytest.param({"op": "fs_mkdir", "path": "/no/no"}, "not_found", id="no parent"),
            pytest.param({"op": "fs_rm", "path": "/"}, "bad_request", id="rm the root"),
            pytest.param({"op": "fs_rm", "path": "/etc"}, "bad_request", id="rm a tree"),
            pytest.param({"op": "fs_stat"}, "bad_request", id="no path"),
            pytest.param({"op": "fs_pull", "path": "/no"}, "not_found", id="pull nothing"),
            pytest.param({"op": "fs_watch", "path": "/no"}, "not_found", id="watch nothing"),
            pytest.param(
                {"op": "fs_find", "path": "/no", "pattern": "x"}, "not_found", id="find in nothing"
            ),
            pytest.param(
                {"op": "fs_find", "path": "/etc", "pattern": "("}, "bad_request", id="bad pattern"
            ),
        ],
    )
    async def test_errors(self, client: HostStream, request_: Json, kind: str) -> None:
        assert (await call(client, **request_))["kind"] == kind
        assert (await call(client, op="info"))["type"] == "info"


def tar_of(*members: tuple[str, bytes | str | None], **attributes: object) -> bytes:
    """A tar: bytes are a file, a string is a symlink's target, None a folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, body in members:
            info = tarfile.TarInfo(name)
            if isinstance(body, bytes):
                info.size = len(body)
            else:
                info.type = tarfile.DIRTYPE if body is None else tarfile.SYMTYPE
                info.linkname = body or ""
                info.mode = 0o755
            for key, value in attributes.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(body) if isinstance(body, bytes) else None)
    return buffer.getvalue()


class TestTrees:
    async def test_round_trip(self, client: HostStream, tmp_path: Path) -> None:
        body = os.urandom(700_000)
        long = "deep/" * 40 + "name" * 30
        pushed = tar_of(("a.bin", body), ("d", None), ("d/l", "../a.bin"), (long, b"x"))
        answer = await upload(client, pushed, op="fs_push", dest=f"{tmp_path}/new")
        assert answer == {"type": "done"}
        assert (tmp_path / "new/d/l").read_bytes() == body
        assert (tmp_path / "new" / long).read_bytes() == b"x"
        _, pulled = await download(client, op="fs_pull", path=f"{tmp_path}/new")
        with tarfile.open(fileobj=io.BytesIO(pulled)) as tar:
            assert {"new", "new/a.bin", "new/d", "new/d/l", f"new/{long}"} <= set(tar.getnames())
            assert tar.getmember("new").isdir()
            member = tar.extractfile("new/a.bin")
            assert member is not None
            assert member.read() == body
            assert tar.getmember("new/d/l").linkname == "../a.bin"

    async def test_pulling_a_file(self, client: HostStream, tmp_path: Path) -> None:
        (tmp_path / "one").write_bytes(b"1")
        _, pulled = await download(client, op="fs_pull", path=f"{tmp_path}/one")
        with tarfile.open(fileobj=io.BytesIO(pulled)) as tar:
            assert tar.getnames() == ["one"]

    async def test_what_is_there_is_joined(self, client: HostStream, tmp_path: Path) -> None:
        (tmp_path / "d").mkdir()
        (tmp_path / "d/kept").write_bytes(b"kept")
        (tmp_path / "d/old").write_bytes(b"old")
        (tmp_path / "file").write_bytes(b"becomes a folder")
        pushed = tar_of(("d/old", b"new"), ("d/sub/x", b"x"), ("file", None))
        assert (await upload(client, pushed, op="fs_push", dest=str(tmp_path)))["type"] == "done"
        assert (tmp_path / "d/kept").read_bytes() == b"kept"
        assert (tmp_path / "d/old").read_bytes() == b"new"
        assert (tmp_path / "file").is_dir()
        assert sorted(os.listdir(tmp_path)) == ["d", "file"]

    async def test_a_link_in_the_way_is_replaced_not_followed(
        self, client: HostStream, tmp_path: Path
    ) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "dest").mkdir()
        (tmp_path / "dest/sub").symlink_to("../out")
        await upload(client, tar_of(("sub/x", b"x")), op="fs_push", dest=f"{tmp_path}/dest")
        assert os.listdir(tmp_path / "out") == []
        assert (tmp_path / "dest/sub/x").read_bytes() == b"x"

    @pytest.mark.parametrize("keep", [100, 511, 512, 60_000, 100_000, 100_864, -1024])
    async def test_a_cut_archive_changes_nothing(
        self, client: HostStream, tmp_path: Path, keep: int
    ) -> None:
        (tmp_path / "t").write_bytes(b"before")
        pushed = tar_of(("t", b"X" * 100_000))[: 512 + 100_352 + 1024][:keep]
        answer = await upload(client, pushed, op="fs_push", dest=str(tmp_path))
        assert answer["kind"] == "bad_request"
        assert (tmp_path / "t").read_bytes() == b"before"
        assert os.listdir(tmp_path) == ["t"]

    async def test_a_reset_push_changes_nothing(
        self, host: Host, client: HostStream, tmp_path: Path
    ) -> None:
        pushed = tar_of(("t", b"X" * 100_000))
        await client.send({"v": 1, "op": "fs_push", "dest": str(tmp_path)})
        await client.send_bulk(DATA, pushed[:50_000])
        client.reset()
        assert (await host.call(op="ping"))["type"] == "pong"
        while os.listdir(tmp_path):
            await asyncio.sleep(0.01)

    @pytest.mark.parametrize(
        "pushed",
        [
            pytest.param(tar_of(("/etc/evil", b"x")), id="absolute"),
            pytest.param(tar_of(("../evil", b"x")), id="parent"),
            pytest.param(tar_of(("a/../../evil", b"x")), id="parent inside"),
            pytest.param(tar_of(("l", "/etc")), id="absolute link"),
            pytest.param(tar_of(("d/l", "../../x")), id="link out"),
            pytest.param(tar_of(("l", "d"), ("d", None), ("l/x", b"x")), id="below a link"),
            pytest.param(tar_of(("fifo", None), type=tarfile.FIFOTYPE), id="fifo"),
            pytest.param(tar_of(("dev", None), type=tarfile.CHRTYPE), id="device"),
            pytest.param(
                tar_of(("h", None), type=tarfile.LNKTYPE, linkname="/etc/passwd"), id="hard link"
            ),
            pytest.param(
                tar_of(("h", None), type=tarfile.LNKTYPE, linkname="missing"), id="hard link to no"
            ),
            pytest.param(b"x" * 10_240, id="garbage"),
            pytest.param(b"", id="nothing"),
        ],
    )
    async def test_what_could_escape_is_refused(
        self, client: HostStream, tmp_path: Path, pushed: bytes
    ) -> None:
        answer = await upload(client, pushed, op="fs_push", dest=f"{tmp_path}/dest")
        assert answer["kind"] == "bad_request"
        assert os.listdir(tmp_path / "dest") == []
        assert os.listdir(tmp_path) == ["dest"]

    async def test_hard_links_inside_the_archive_are_kept(
        self, client: HostStream, tmp_path: Path
    ) -> None:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            info = tarfile.TarInfo("a")
            info.size = 1
            tar.addfile(info, io.BytesIO(b"x"))
            info = tarfile.TarInfo("b")
            info.type, info.linkname = tarfile.LNKTYPE, "a"
            tar.addfile(info)
        answer = await upload(client, buffer.getvalue(), op="fs_push", dest=str(tmp_path))
        assert answer["type"] == "done"
        assert (tmp_path / "a").stat().st_ino == (tmp_path / "b").stat().st_ino


class TestSearch:
    async def test_find(self, client: HostStream, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub/code.rs").write_text("fn main() {\n  // FIX me\r\n}\n")
        (tmp_path / "notes.txt").write_text("FIX decoy\n")
        (tmp_path / "binary.rs").write_bytes(b"FIX\0")
        (tmp_path / "big.rs").write_bytes(b"FIX\n" + b"x" * (8 << 20))
        (tmp_path / "latin.rs").write_bytes(b"FIX \xe9\n")
        seen = await frames(client, op="fs_find", path=str(tmp_path), pattern="FIX", glob="*.rs")
        hits = {(hit["file"], hit["line"], hit["content"]) for hit in seen[:-1]}
        assert hits == {
            (f"{tmp_path}/sub/code.rs", 2, "  // FIX me"),
            (f"{tmp_path}/latin.rs", 1, "FIX \ufffd"),
        }
        seen = await frames(client, op="fs_find", path=f"{tmp_path}/notes.txt", pattern="^FIX")
        assert len(seen) == 2

    async def test_a_pattern_that_never_ends_can_be_left(
        self, host: Host, client: HostStream, tmp_path: Path
    ) -> None:
        (tmp_path / "x").write_text("a" * 60 + "b")
        await client.send({"v": 1, "op": "fs_find", "path": str(tmp_path), "pattern": "(a+)+$"})
        other = host.open(CLIENT)
        assert (await call(other, op="info"))["type"] == "info"  # the loop goes on
        client.reset()

    async def test_replace(self, client: HostStream, tmp_path: Path) -> None:
        one, two = tmp_path / "one", tmp_path / "two"
        one.write_text("x=1\nx=2\n")
        one.chmod(0o750)
        two.write_text("nothing\n")
        seen = await frames(
            client, op="fs_replace", files=[str(one), str(two)], pattern=r"(\w)=(\d)",
            replacement="${2}=$1$$",
        )  # fmt: skip
        assert [(hit["file"], hit["replacements"]) for hit in seen[:-1]] == [
            (str(one), 2), (str(two), 0),
        ]  # fmt: skip
        assert one.read_text() == "1=x$\n2=x$\n"
        assert one.stat().st_mode & 0o777 == 0o750

    @pytest.mark.parametrize("bad", ["missing", "binary", "folder"])
    async def test_replace_stops_at_the_first_that_fails(
        self, client: HostStream, tmp_path: Path, bad: str
    ) -> None:
        for name in ("first", "last"):
            (tmp_path / name).write_text("x")
        (tmp_path / "binary").write_bytes(b"x\xff")
        (tmp_path / "folder").mkdir()
        files = [f"{tmp_path}/{name}" for name in ("first", bad, "last")]
        seen = await frames(client, op="fs_replace", files=files, pattern="x", replacement="y")
        assert [frame["type"] for frame in seen] == ["replaced", "error"]
        assert seen[1]["kind"] == ("not_found" if bad == "missing" else "bad_request")
        assert (tmp_path / "first").read_text() == "y"
        assert (tmp_path / "last").read_text() == "x"


class TestWatch:
    async def until(self, client: HostStream, kind: str, path: Path) -> list[Json]:
        seen = []
        while True:
            event = await client.control()
            seen.append(event)
            if (event.get("kind"), event.get("path")) == (kind, str(path)):
                return seen

    async def test_a_tree_with_what_appears_in_it(self, client: HostStream, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub/old").write_text("x")
        request = {"v": 1, "op": "fs_watch", "path": str(tmp_path), "recursive": True}
        await client.send(request)
        assert await client.control() == {"type": "ready"}
        (tmp_path / "sub/old").write_text("y")
        await self.until(client, "modified", tmp_path / "sub/old")
        (tmp_path / "a/b/c").mkdir(parents=True)
        (tmp_path / "a/b/c/file").write_text("x")
        await self.until(client, "created", tmp_path / "a/b/c/file")
        (tmp_path / "a/b").rename(tmp_path / "moved")
        await self.until(client, "renamed", tmp_path / "moved")
        (tmp_path / "moved/c/file").unlink()
        await self.until(client, "deleted", tmp_path / "moved/c/file")
        (tmp_path / "sub/old").rename(tmp_path.parent / f"{tmp_path.name}-out")
        await self.until(client, "deleted", tmp_path / "sub/old")
        await client.send({"v": 1, "op": "info"})
        assert (await client.control())["type"] == "done"
        assert (await client.control())["type"] == "info"

    async def test_one_folder_is_not_its_subfolders(
        self, client: HostStream, tmp_path: Path
    ) -> None:
        (tmp_path / "sub").mkdir()
        await client.send({"v": 1, "op": "fs_watch", "path": str(tmp_path)})
        await client.control()
        (tmp_path / "sub/unseen").write_text("x")
        (tmp_path / "seen").write_text("x")
        seen = await self.until(client, "created", tmp_path / "seen")
        assert all("unseen" not in event["path"] for event in seen)

    async def test_an_overflow_is_an_error(
        self, agent: tuple[AgentProcess, Host], client: HostStream, tmp_path: Path
    ) -> None:
        """More happens than the kernel keeps while nobody reads: the client is told."""
        await client.send({"v": 1, "op": "fs_watch", "path": str(tmp_path)})
        await client.control()
        process = agent[0].process
        assert process is not None
        limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        process.send_signal(signal.SIGSTOP)
        for _ in range(limit // 2 + 100):
            (tmp_path / "x").touch()
            (tmp_path / "x").unlink()
        process.send_signal(signal.SIGCONT)
        while (answer := await client.control())["type"] == "event":
            pass
        assert (answer["type"], answer["kind"]) == ("error", "internal")
        assert "overflow" in answer["message"]
