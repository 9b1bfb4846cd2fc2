"""`kill -9` of the daemon at each step of a writer's claim, of its end and of a live change.

What a claim promises then: it is there whole or not at all; a writer that did not leave
cleanly keeps readers out by its marker; the next writer recovers, and nothing is lost that
the guest was told is written.
"""

from __future__ import annotations

import http.client
import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BASE_MEMORY_MIB
from tests.support.engine import Engine, build_template, engine
from tests.support.images import make_image
from tests.support.killed import AT
from tests.support.node import ROOT, Answer, Node, free_port
from tests.support.wait import until

pytestmark = [pytest.mark.vm, pytest.mark.timeout(600)]  # the first one may bake a template
SHELF = {"include": ["git", "python3"], "vcpus": 1, "disk_mib": 1024, "volumes": True}
WRITER, READER = {"name": "kept", "mode": "rw"}, {"name": "kept"}


class World:
    """A daemon that can be told where to die, and a catalog."""

    def __init__(self, made: Engine, images: Path) -> None:
        self.engine, self.kill_at = made, made.data / "kill-at"
        self.marker = images / "kept.img.dirty"
        self.api = Node(made.config["listen"])

    def die(self, where: str, call: Callable[[], object]) -> None:
        """Make the daemon die at `where`, which `call` must reach, and start it again."""
        self.kill_at.write_text(where)
        with pytest.raises((OSError, http.client.HTTPException)):
            call()
        assert self.engine.died() == -signal.SIGKILL, "it was never there"
        self.kill_at.unlink()
        self.engine.start()

    def ask(self, *volumes: dict[str, str], **fields: Any) -> Answer:
        body = {"template": "shelf", "size": "tiny", "volumes": list(volumes)} | fields
        return self.api.request("POST", "/v1/claim", body)

    def claim(self, *volumes: dict[str, str]) -> Any:
        answer = self.ask(*volumes)
        assert answer.status == 200, answer
        return answer.json

    def rows(self) -> list[Any]:
        rows: list[Any] = self.api.request("GET", "/v1/sandboxes").json["sandboxes"]
        return rows

    def sh(self, sandbox: Any, script: str) -> str:
        path = f"/v1/sandboxes/{sandbox['id']}/exec"
        body = {"argv": ["sh", "-c", script]}
        answer = self.api.request("POST", path, body, token=sandbox["token"])
        assert answer.json["exit_code"] == 0, answer
        return str(answer.json["stdout"])

    def only_warm_ones_are_left(self) -> None:
        assert self.rows() == []
        until(lambda: len(self.engine.vm_folders()) == len(self.engine.vmm_pids()) <= 1)

    def recovers(self) -> None:
        """Readers are kept out until a writer came and went; what was there is there."""
        assert self.marker.exists()
        for fields in ({}, {"volumes_attach_only": True}):
            refused = self.ask(READER, **fields)
            assert refused.status == 409
            assert "needs recovery" in refused.error
        writer = self.claim(WRITER)
        assert self.sh(writer, "cat /volumes/kept/marker.txt") == "kept\n"
        self.api.release(writer)
        self.reads()

    def reads(self) -> None:
        """A reader finds what was written."""
        assert not self.marker.exists()
        reader = self.claim(READER)
        assert self.sh(reader, "cat /volumes/kept/marker.txt") == "kept\n"
        self.api.release(reader)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    images = tmp_path_factory.mktemp("images")
    make_image(images / "kept.img", "kept\n")
    make_image(images / "data.img", "data\n")
    build_template("shelf", "debian:bookworm", memory_mib=BASE_MEMORY_MIB, **SHELF)
    with engine(
        start=False,
        listen=f"127.0.0.1:{free_port()}",
        api_token=ROOT,
        sizes={"tiny": {"cpus": 1, "memory_mib": BASE_MEMORY_MIB}},
        pools=[{"template": "shelf", "size": "tiny", "warm": 1}],
        volumes=[
            {"name": "kept", "path": str(images / "kept.img"), "writable": True},
            {"name": "data", "path": str(images / "data.img")},
        ],
    ) as made:
        world = World(made, images)
        made.module, made.env = "tests.support.killed", {AT: str(world.kill_at)}
        made.start()
        yield world


@pytest.mark.parametrize(
    "where",
    ["mark 1 after", "attach_disk 1 after", "mount_volumes 1 after", "sandbox_put 1 before"],
)
def test_a_claim_that_was_never_told_of_is_not_there(world: World, where: str) -> None:
    world.die(where, lambda: world.ask(WRITER))
    world.only_warm_ones_are_left()
    world.recovers()


def test_a_claim_on_record_is_adopted_with_its_volume(world: World) -> None:
    world.die("sandbox_put 1 after", lambda: world.ask(WRITER))
    rows = world.rows()
    assert len(rows) == 1, world.engine.tail()
    (row,) = rows
    assert row["volumes"] == [WRITER | {"mount": "/volumes/kept"}]
    assert world.marker.exists()
    for wish in (READER, WRITER):
        assert "is busy" in world.ask(wish).error
    path = f"/v1/sandboxes/{row['id']}"
    row = world.api.request("GET", path).json
    assert world.sh(row, "cat /volumes/kept/marker.txt") == "kept\n"
    world.api.release_by_id(row["id"])
    world.reads()


@pytest.mark.parametrize("where", ["unmount_volumes 1 after", "stop 1 after", "clear 1 before"])
def test_an_end_that_was_cut_short_keeps_readers_out(world: World, where: str) -> None:
    writer = world.claim(WRITER)
    world.sh(writer, "echo kept > /volumes/kept/marker.txt")
    world.die(where, lambda: world.api.release(writer))
    world.only_warm_ones_are_left()
    world.recovers()


def test_an_end_whose_marker_is_gone_is_one(world: World) -> None:
    writer = world.claim(WRITER)
    world.die("clear 1 after", lambda: world.api.release(writer))
    world.only_warm_ones_are_left()
    world.reads()


@pytest.mark.parametrize(
    "where", ["sandbox_put 1 after", "attach_disk 1 after", "mount_volumes 1 after"]
)
def test_a_change_on_record_is_gone_through_with(world: World, where: str) -> None:
    sandbox = world.claim()
    path = f"/v1/sandboxes/{sandbox['id']}/volumes"
    body = json.dumps({"volumes": [{"name": "data", "mount": "/models"}]}).encode()
    world.die(where, lambda: world.api.request("PUT", path, body))
    until(lambda: not world.api.request("GET", path).json["converging"])
    assert world.sh(sandbox, "cat /models/marker.txt") == "data\n"
    world.api.request("PUT", path, {"volumes": []})
    assert world.sh(sandbox, "ls /models") == ""
    world.api.release(sandbox)


@pytest.mark.parametrize("where", ["unmount_volumes 1 after", "detach_disk 1 after"])
def test_a_removal_on_record_is_gone_through_with(world: World, where: str) -> None:
    sandbox = world.claim(READER)
    path = f"/v1/sandboxes/{sandbox['id']}/volumes"
    world.die(where, lambda: world.api.request("PUT", path, {"volumes": []}))
    until(lambda: not world.api.request("GET", path).json["converging"])
    assert world.sh(sandbox, "ls /volumes/kept") == ""
    world.api.release(world.claim(WRITER))
    world.api.release(sandbox)
