"""Catalog volumes in real guests: mounted, written, changed while they run, recovered."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocoonsandbox
import pytest

from tests.conftest import BASE_MEMORY_MIB
from tests.support.engine import Engine, build_template, engine
from tests.support.images import make_image
from tests.support.node import ROOT, Answer, Node, free_port
from tests.support.wait import until
from tests.system.node.test_public_client import SUITE, run

SNIPPET = """
device=
tries=0
while [ "$tries" -lt 200 ]; do
  for serial in /sys/block/*/serial /sys/block/*/device/serial; do
    [ -r "$serial" ] || continue
    [ "$(cat "$serial")" = scratch-db ] || continue
    block=${serial#/sys/block/}
    candidate="/dev/${block%%/*}"
    [ -b "$candidate" ] && { device="$candidate"; break 2; }
  done
  tries=$((tries + 1))
  sleep 0.01
done
[ -n "$device" ] || { echo "scratch-db device not ready" >&2; exit 1; }
printf '%s\\n' "$device"
"""
"""As the API's description gives it to users."""
pytestmark = [pytest.mark.vm, pytest.mark.timeout(600)]  # the first one may bake a template
NAMES = ("imagenet", "scratch-db", "a", "b", "c", "d", "e", "a-name-of-20-letters")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of images."""
    folder = tmp_path_factory.mktemp("images")
    for name in NAMES:
        make_image(folder / f"{name}.img", f"{name}\n")
    return folder


@pytest.fixture(scope="module")
def node(images: Path) -> Iterator[Engine]:
    """An engine with a catalog, and a template whose machines take volumes."""
    build_template(
        "shelf",
        "debian:bookworm",
        include=["git", "python3"],
        memory_mib=BASE_MEMORY_MIB,
        vcpus=1,
        disk_mib=1024,
        volumes=True,
    )
    with engine(
        listen=f"127.0.0.1:{free_port()}",
        api_token=ROOT,
        sizes={"tiny": {"cpus": 1, "memory_mib": BASE_MEMORY_MIB}},
        pools=[{"template": "shelf", "size": "tiny", "warm": 1}],
        volumes=[
            {"name": name, "path": str(images / f"{name}.img"), "writable": name != "imagenet"}
            for name in NAMES
        ],
    ) as made:
        yield made


@pytest.fixture
def api(node: Engine) -> Node:
    """Its API."""
    return Node(node.config["listen"])


def claim(api: Node, *volumes: Any, **fields: Any) -> Any:
    wishes = [{"name": one} if isinstance(one, str) else one for one in volumes]
    return api.claim("shelf", size="tiny", volumes=wishes, **fields)


def ask(api: Node, wish: dict[str, str]) -> Answer:
    body = {"template": "shelf", "size": "tiny", "volumes": [wish]}
    return api.request("POST", "/v1/claim", body)


def sh(api: Node, sandbox: Any, script: str) -> tuple[int, str]:
    path = f"/v1/sandboxes/{sandbox['id']}/exec"
    body = {"argv": ["sh", "-c", script]}
    answer = api.request("POST", path, body, token=sandbox["token"])
    assert answer.status == 200, answer
    return answer.json["exit_code"], answer.json["stdout"] + answer.json["stderr"]


def test_the_public_client_mounts_a_volume(node: Engine) -> None:
    if SUITE.exists():
        run(node, "shelf", "volumes", "tiny", SANDBOXD_VOLUME="imagenet")


def test_eight_at_once_are_there_before_the_claim_returns(api: Node) -> None:
    made = claim(api, *NAMES)
    assert [one["mount"] for one in made["volumes"]] == [f"/volumes/{name}" for name in NAMES]
    code, words = sh(api, made, "cat /volumes/*/marker.txt")
    assert (code, sorted(words.split())) == (0, sorted(NAMES))
    for mode in ("", "-o remount,rw "):
        code, words = sh(api, made, f"mount {mode}/volumes/imagenet; echo x > /volumes/imagenet/x")
        assert code != 0
        assert "ead-only" in words or "write-protected" in words
    api.release(made)


def test_attached_only_a_device_is_found_as_the_description_says(api: Node, images: Path) -> None:
    wishes = ({"name": "scratch-db", "mode": "rw"}, "imagenet")
    made = claim(api, *wishes, volumes_attach_only=True)
    code, device = sh(api, made, SNIPPET)
    assert (code, device.startswith("/dev/vd")) == (0, True)
    device = device.strip()
    assert sh(api, made, "grep volumes /proc/mounts")[0] == 1
    ro = SNIPPET.replace("scratch-db", "imagenet")
    code, words = sh(api, made, f"{ro} blockdev --setrw $device; echo x > $device")
    assert code != 0, "a read-only device was written"
    code, words = sh(api, made, f"mount {device} /mnt && echo kept > /mnt/kept && umount /mnt")
    assert (code, words) == (0, "")
    api.release(made)
    until(lambda: not (images / "scratch-db.img.dirty").exists())
    made = claim(api, "scratch-db")
    assert sh(api, made, "cat /volumes/scratch-db/kept") == (0, "kept\n")
    api.release(made)


def test_the_public_client_changes_the_volumes_of_a_live_claim(node: Engine, api: Node) -> None:
    client = cocoonsandbox.Client(node.config["listen"], ROOT, keep_alive=0)
    with client.new("shelf", size="tiny") as box:
        view = box.set_volumes(["imagenet", {"name": "d", "mount": "/models"}])
        assert view["volumes"] == box.get_volumes()["volumes_want"]
        assert [one["state"] for one in view["states"]] == ["attached"] * 2
        assert not view["converging"]
        assert box.read_file("/volumes/imagenet/marker.txt") == b"imagenet\n"
        assert box.read_file("/models/marker.txt") == b"d\n"
        serials = "cat /sys/block/*/serial"
        assert "imagenet" in box.exec("sh", "-c", serials)
        # A process that is in it keeps it; the rest changes at once.
        busy = box.spawn("sleep", "1000", cwd="/volumes/imagenet")
        view = box.patch_volumes(add=["e"], remove=["imagenet", "d"])
        assert [(one["name"], one["state"]) for one in view["states"]] == [
            ("e", "attached"),
            ("imagenet", "detaching"),
        ]
        assert view["converging"]
        assert box.read_file("/volumes/e/marker.txt") == b"e\n"
        assert ask(api, {"name": "d", "mode": "rw"}).status == 200, "its lock is held still"
        assert ask(api, {"name": "e", "mode": "rw"}).status == 409
        node.restart()
        assert box.get_volumes()["converging"], "a restart forgot what was under way"
        box.kill(busy)
        until(lambda: not box.get_volumes()["converging"])
        assert [one["name"] for one in box.volumes] == ["e"]
        assert "imagenet" not in box.exec("sh", "-c", serials)
        with pytest.raises(cocoonsandbox.errors.VolumeError) as caught:
            box.patch_volumes(add=[{"name": "scratch-db", "mode": "rw"}])
        assert (caught.value.status, caught.value.response["volumes"]) == (400, box.volumes)
    for row in api.request("GET", "/v1/sandboxes").json["sandboxes"]:
        api.release_by_id(row["id"])


def test_what_a_writer_wrote_is_read_by_the_next_and_survives_a_killed_engine(
    node: Engine, api: Node, images: Path
) -> None:
    marker = images / "a.img.dirty"
    writer = claim(api, {"name": "a", "mode": "rw", "mount": "/data"})
    assert sh(api, writer, "echo one > /data/one")[0] == 0
    assert marker.exists()
    node.restart()
    assert ask(api, {"name": "a"}).status == 409
    assert ask(api, {"name": "a", "mode": "rw"}).status == 409
    # A process that holds it open keeps nobody from unmounting it.
    assert sh(api, writer, "cd /data && sleep 1000 > busy & echo two > /data/two")[0] == 0
    api.release(writer)
    assert not marker.exists()
    reader = claim(api, "a")
    assert sh(api, reader, "cat /volumes/a/one /volumes/a/two") == (0, "one\ntwo\n")
    api.release(reader)


def test_an_engine_killed_within_a_claim_leaves_the_marker_and_a_writer_recovers(
    node: Engine, api: Node, images: Path
) -> None:
    marker = images / "b.img.dirty"
    answers: list[Any] = []

    def ask_in_vain() -> None:
        try:
            answers.append(ask(api, {"name": "b", "mode": "rw"}).status)
        except OSError as error:
            answers.append(error)

    thread = threading.Thread(target=ask_in_vain)
    thread.start()
    until(marker.exists, timeout_s=60)
    node.kill()
    thread.join()
    node.start()
    finished = answers == [200]  # the kill came too late to matter: then it is adopted
    rows = api.request("GET", "/v1/sandboxes").json["sandboxes"]
    assert len(rows) == finished
    until(lambda: len(node.vm_folders()) == len(node.vmm_pids()))  # the pool fills meanwhile
    assert marker.exists()
    for row in rows:
        api.release_by_id(row["id"])
    if not finished:
        refused = ask(api, {"name": "b"})
        assert refused.status == 409
        assert "needs recovery" in refused.error
        writer = claim(api, {"name": "b", "mode": "rw"})
        assert sh(api, writer, "cat /volumes/b/marker.txt") == (0, "b\n")
        api.release(writer)
    assert not marker.exists()
    reader = claim(api, "b")
    api.release(reader)


def test_a_guest_that_dies_leaves_the_marker_and_its_journal_is_replayed(
    node: Engine, api: Node, images: Path
) -> None:
    marker = images / "c.img.dirty"
    writer = claim(api, {"name": "c", "mode": "rw"})
    assert sh(api, writer, "echo kept > /volumes/c/kept; sync")[0] == 0
    vm = "vm-" + writer["id"].removeprefix("sb_")
    (pid,) = [pid for pid in node.vmm_pids() if Path(f"/proc/{pid}/cwd").readlink().name == vm]
    os.kill(pid, 9)
    path = f"/v1/sandboxes/{writer['id']}"
    until(lambda: api.request("GET", path).json.get("failed"))
    assert api.request("POST", f"{path}/wake").status == 409
    api.release(writer)
    assert ask(api, {"name": "c"}).status == 409
    writer = claim(api, {"name": "c", "mode": "rw"})
    assert sh(api, writer, "cat /volumes/c/kept") == (0, "kept\n")
    api.release(writer)
    assert not marker.exists()
