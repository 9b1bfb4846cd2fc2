"""Catalog volumes: who may have what, the marker, what is echoed, and every refusal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from sandbox_engine.config import VolumeConfig
from sandbox_engine.storage.volumes import FileImages

from tests.engine.node.world import TINY, World, world
from tests.support.images import make_image
from tests.support.node import Answer
from tests.support.wait import until

DATA, SCRATCH = {"name": "data"}, {"name": "scratch", "mode": "rw"}
DATA_DISK = {"disk": "volume-ro-0", "name": "data", "mount": "/volumes/data", "writable": False}
SCRATCH_DISK = {"disk": "volume-rw-0", "name": "scratch", "mount": "/models", "writable": True}


def catalog(folder: Path) -> list[dict[str, Any]]:
    """Images and their entries: one to read, one to write, one of a tenant's, one that is gone."""
    for name in ("data", "scratch", "theirs"):
        if not (folder / f"{name}.img").exists():
            make_image(folder / f"{name}.img", size="2M")
    return [
        {"name": "data", "path": str(folder / "data.img")},
        {"name": "scratch", "path": str(folder / "scratch.img"), "writable": True},
        {"name": "theirs", "path": str(folder / "theirs.img"), "tenants": ["acme"]},
        {"name": "gone", "path": str(folder / "gone.img"), "tenants": []},
    ]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A node with a catalog and two tenants."""
    folder = tmp_path_factory.mktemp("node")
    with world(folder, volumes=catalog(folder), audit_log=True) as made:
        for name in ("acme", "other"):
            path = f"/v1/tenants/{name}"
            assert made.request("PUT", path, {"token": f"{name}-token"}).status == 204
        yield made


def ask(node: World, *volumes: dict[str, Any], token: str = "", **fields: Any) -> Answer:
    body = TINY | {"volumes": list(volumes)} | fields
    return node.request("POST", "/v1/claim", body, token=token)


@pytest.fixture
def take(node: World) -> Iterator[Callable[..., Any]]:
    """Claims volumes, and gives them back after the test."""
    claims: list[Any] = []

    def claim(*volumes: dict[str, Any], **fields: Any) -> Any:
        answer = ask(node, *volumes, **fields)
        assert answer.status == 200, answer
        claims.append(answer.json)
        return answer.json

    yield claim
    for made in claims:
        node.request("POST", f"/v1/sandboxes/{made['id']}/release")


def dirty(node: World, name: str = "scratch") -> bool:
    return (node.folder / f"{name}.img.dirty").exists()


# -- what is granted -----------------------------------------------------------------


def test_names_mounts_and_modes_are_echoed_and_listed(
    node: World, take: Callable[..., Any]
) -> None:
    claim = take(DATA, SCRATCH | {"mount": "/models"})
    told = [
        {"name": "data", "mount": "/volumes/data"},
        {"name": "scratch", "mount": "/models", "mode": "rw"},
    ]
    assert claim["volumes"] == told
    assert node.request("GET", f"/v1/sandboxes/{claim['id']}").json["volumes"] == told
    machine = node.machine(claim)
    assert machine.attached == ["volume-ro-0", "volume-rw-0"]
    assert machine.guest.asked == [{"op": "mount_volumes", "volumes": [DATA_DISK, SCRATCH_DISK]}]


def test_attached_only_nothing_is_mounted_and_no_mount_is_told(
    node: World, take: Callable[..., Any]
) -> None:
    claim = take(DATA, SCRATCH, volumes_attach_only=True)
    assert claim["volumes"] == [{"name": "data"}, {"name": "scratch", "mode": "rw"}]
    machine = node.machine(claim)
    assert machine.attached == ["volume-ro-0", "volume-rw-0"]
    until(lambda: machine.guest.asked)
    disks = [DATA_DISK | {"mount": ""}, SCRATCH_DISK | {"mount": ""}]
    assert machine.guest.asked == [{"op": "mount_volumes", "volumes": disks}]
    node.release(claim)
    assert len(machine.guest.asked) == 1, "there is nothing to unmount"
    assert not dirty(node), "a filesystem that was left cleanly keeps its marker"


def test_no_path_and_no_list_leaves_the_node(node: World, take: Callable[..., Any]) -> None:
    claim = take({"name": "theirs"}, token="acme-token")
    texts = [
        json.dumps(claim),
        node.request("GET", "/v1/volumes").raw.decode(),
        node.request("GET", "/v1/sandboxes").raw.decode(),
        ask(node, {"name": "gone"}).raw.decode(),
        (node.folder / "usage.jsonl").read_text(),
        (node.folder / "audit.jsonl").read_text(),
    ]
    for text in texts:
        assert ".img" not in text
        assert str(node.folder) not in text
        assert "tenants" not in text or '"op":"tenants"' in text


def test_the_usage_journal_names_what_was_claimed(node: World, take: Callable[..., Any]) -> None:
    claim = take(DATA, SCRATCH)
    lines = (node.folder / "usage.jsonl").read_text().splitlines()
    (event,) = [one for line in lines if (one := json.loads(line))["id"] == claim["id"]]
    assert (event["volumes"], event["volumes_rw"]) == (["data", "scratch"], ["scratch"])
    plain = node.claim()
    last = json.loads((node.folder / "usage.jsonl").read_text().splitlines()[-1])
    assert not {"volumes", "volumes_rw"} & set(last)
    node.release(plain)


def test_the_catalog_shows_each_caller_its_own(node: World) -> None:
    def names(token: str = "") -> list[str]:
        answer = node.request("GET", "/v1/volumes", token=token)
        return [row["name"] for row in answer.json["volumes"]]

    assert names() == ["data", "gone", "scratch", "theirs"]
    assert names("acme-token") == ["data", "scratch", "theirs"]
    assert names("other-token") == ["data", "scratch"]
    rows = {row["name"]: row for row in node.request("GET", "/v1/volumes").json["volumes"]}
    assert rows["scratch"] == {
        "name": "scratch",
        "default_mount": "/volumes/scratch",
        "size_bytes": 2 << 20,
        "available": True,
        "nodes": 1,
        "writable": True,
    }
    assert (rows["gone"]["available"], rows["gone"]["size_bytes"]) == (False, 0)
    assert "writable" not in rows["data"]
    assert node.request("GET", "/v1/volumes", token=None).status == 401
    assert node.request("GET", "/v1/volumes", token="x").status == 401


# -- refusals ------------------------------------------------------------------------


class Row(NamedTuple):
    """One refusal."""

    status: int
    words: str
    volumes: list[Any]
    fields: Any = None


ROWS = {
    "unknown": Row(400, "unknown volume 'none'", [{"name": "none"}]),
    "twice": Row(400, "named twice", [DATA, DATA]),
    "nine": Row(400, "9 entries; the limit is 8", [{"name": f"v{n}"} for n in range(9)]),
    "no name": Row(400, "no volume's name", [{"name": "../data"}]),
    "rw of a read-only one": Row(400, "data: is not writable", [DATA | {"mode": "rw"}]),
    "an odd mode": Row(400, "mode must be ro or rw", [DATA | {"mode": "w"}]),
    "an unknown field": Row(400, "path", [DATA | {"path": "/x"}]),
    "a relative mount": Row(400, "clean path", [DATA | {"mount": "m"}]),
    "an unclean mount": Row(400, "clean path", [DATA | {"mount": "/a/../b"}]),
    "the root": Row(400, "clean path", [DATA | {"mount": "/"}]),
    "the system": Row(400, "guest's system", [DATA | {"mount": "/usr/share/x"}]),
    "the same mount": Row(
        400, "used twice", [DATA | {"mount": "/m"}, {"name": "scratch", "mount": "/m"}]
    ),
    "a mount in a mount": Row(
        400, "holds another", [DATA | {"mount": "/m"}, {"name": "scratch", "mount": "/m/n"}]
    ),
    "a mount in a default": Row(
        400, "holds another", [DATA, {"name": "scratch", "mount": "/volumes/data/x"}]
    ),
    "attach-only of none": Row(400, "needs volumes", [], {"volumes_attach_only": True}),
    "attach-only with a mount": Row(
        400, "excludes a mount", [DATA | {"mount": "/m"}], {"volumes_attach_only": True}
    ),
    "a template without slots": Row(400, "build it with `volumes`", [DATA], {"template": "other"}),
    "that is to be archived": Row(400, "cannot be archived", [DATA], {"on_expire": "archive"}),
    "an image that is gone": Row(500, "cannot be opened", [{"name": "gone"}]),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_claim_that_is_refused(node: World, row: Row) -> None:
    answer = ask(node, *row.volumes, **(row.fields or {}))
    assert answer.status == row.status
    assert row.words in answer.error
    assert not dirty(node)
    until(lambda: ask_and_release(node, DATA, SCRATCH) == 200)


def ask_and_release(node: World, *volumes: dict[str, Any]) -> int:
    """Whether these can be had now."""
    answer = ask(node, *volumes)
    if answer.status == 200:
        node.release(answer.json)
    return answer.status


def test_an_unknown_and_a_forbidden_one_cannot_be_told_apart(node: World) -> None:
    unknown = ask(node, {"name": "nobody"}, token="other-token")
    forbidden = ask(node, {"name": "theirs"}, token="other-token")
    assert (unknown.status, forbidden.status) == (400, 400)
    assert unknown.error.replace("nobody", "theirs") == forbidden.error
    assert ask_and_release(node, {"name": "theirs"}) == 200


@pytest.mark.parametrize("only", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "status"),
    [("ro", "ro", 200), ("ro", "rw", 409), ("rw", "ro", 409), ("rw", "rw", 409)],
)
def test_a_writer_excludes_everybody_and_readers_a_writer(
    node: World, take: Callable[..., Any], first: str, second: str, status: int, *, only: bool
) -> None:
    one = take({"name": "scratch", "mode": first}, volumes_attach_only=only)
    wish = {"name": "scratch", "mode": second}
    answer = ask(node, wish)
    assert answer.status == status
    if status == 200:
        node.release(answer.json)
    else:
        assert "busy" in answer.error
    assert dirty(node) == (first == "rw")
    node.release(one)
    assert ask_and_release(node, wish) == 200


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("hibernate", None),
        ("fork", {"count": 1}),
        ("checkpoint", {}),
        ("promote", {"template": "mine:v1"}),
    ],
)
def test_what_would_copy_a_volume_is_409(
    node: World, take: Callable[..., Any], verb: str, body: Any
) -> None:
    claim = take(DATA)
    answer = node.request("POST", f"/v1/sandboxes/{claim['id']}/{verb}", body)
    assert answer.status == 409
    assert "volumes" in answer.error
    row = node.request("GET", f"/v1/sandboxes/{claim['id']}").json
    assert not row["hibernated"]


def test_it_is_neither_archived_nor_put_to_sleep(node: World, take: Callable[..., Any]) -> None:
    claim = take(DATA)
    path = f"/v1/sandboxes/{claim['id']}/renew"
    answer = node.request("POST", path, {"on_expire": "archive"})
    assert answer.status == 400
    assert "cannot be archived" in answer.error
    assert node.request("POST", path, {"on_expire": "destroy"}).status == 200


def test_a_failed_one_is_not_booted_without_its_volumes(
    node: World, take: Callable[..., Any]
) -> None:
    claim = take(DATA)
    assert node.request("POST", f"/v1/sandboxes/{claim['id']}/wake").status == 204
    node.kill_machine(claim)
    assert node.request("POST", f"/v1/sandboxes/{claim['id']}/wake").status == 409


# -- the marker ----------------------------------------------------------------------


def test_a_writers_marker_stands_while_it_lives_and_goes_with_a_clean_unmount(
    node: World, take: Callable[..., Any]
) -> None:
    claim = take(SCRATCH)
    assert dirty(node)
    guest = node.machine(claim).guest
    node.release(claim)
    disk = SCRATCH_DISK | {"mount": "/volumes/scratch"}
    assert guest.asked[-1] == {"op": "unmount_volumes", "volumes": [disk], "end": True}
    assert not dirty(node)


def test_what_was_only_read_is_unmounted_too(node: World, take: Callable[..., Any]) -> None:
    claim = take(DATA, {"name": "scratch"})
    guest = node.machine(claim).guest
    node.release(claim)
    assert guest.asked[-1]["op"] == "unmount_volumes"
    assert [one["name"] for one in guest.asked[-1]["volumes"]] == ["data", "scratch"]


@pytest.mark.parametrize("how", ["no unmount", "dead"])
def test_an_unclean_end_needs_a_writer_to_recover(
    node: World, take: Callable[..., Any], how: str
) -> None:
    claim = take(SCRATCH)
    if how == "dead":
        node.kill_machine(claim)
    else:
        node.machine(claim).guest.fails.add("unmount_volumes")
    node.release(claim)
    assert dirty(node)
    for only in (False, True):
        refused = ask(node, {"name": "scratch"}, volumes_attach_only=only)
        assert refused.status == 409
        assert "needs recovery" in refused.error
    assert ask_and_release(node, SCRATCH) == 200
    assert not dirty(node)
    assert ask_and_release(node, {"name": "scratch"}) == 200


def test_a_claim_that_fails_keeps_the_marker_and_gives_the_volume_back(node: World) -> None:
    async def deafen() -> None:
        for machine in node.driver.machines.values():
            machine.guest.fails.add("mount_volumes")

    node.call(deafen())
    answer = ask(node, SCRATCH)
    assert answer.status == 500
    assert "provisioning failed" in answer.error
    assert dirty(node)
    until(lambda: ask_and_release(node, SCRATCH) == 200)
    assert not dirty(node)


def test_a_filesystem_that_was_not_left_cleanly_keeps_its_marker(tmp_path: Path) -> None:
    images, path = FileImages(), make_image(tmp_path / "x.img", size="2M")
    images.mark(str(path))
    needs_recovery = bytearray(path.read_bytes())
    needs_recovery[1024 + 0x60] |= 0x4
    path.write_bytes(needs_recovery)
    images.clear(str(path))
    assert images.is_dirty(str(path))
    needs_recovery[1024 + 0x60] &= ~0x4
    path.write_bytes(needs_recovery)
    images.clear(str(path))
    assert not images.is_dirty(str(path))


def test_an_image_of_no_known_filesystem_keeps_its_marker(tmp_path: Path) -> None:
    images, path = FileImages(), tmp_path / "raw.img"
    path.write_bytes(bytes(4096))
    images.mark(str(path))
    images.clear(str(path))
    assert images.is_dirty(str(path))


# -- the configuration ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["a" * 20, "A.b_c-1"])
def test_names_that_fit_a_serial_number(name: str) -> None:
    assert msgspec.convert({"name": name, "path": "/x"}, VolumeConfig).name == name


@pytest.mark.parametrize(
    "entry", [{"name": "a" * 21}, {"name": ""}, {"name": "a/b"}, {"path": "x"}]
)
def test_entries_that_cannot_be(entry: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"name": "a", "path": "/x"} | entry, VolumeConfig)


def test_a_name_is_there_once(make_node: Callable[..., World]) -> None:
    twice = [{"name": "a", "path": "/x"}] * 2
    with pytest.raises(Exception, match="volumes names 'a' twice"):
        make_node(volumes=twice)
