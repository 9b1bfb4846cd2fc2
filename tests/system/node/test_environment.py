"""What a real guest knows of itself: its environment and its instance metadata."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BASE_MEMORY_MIB
from tests.support.engine import Engine, build_template
from tests.support.node import Node

pytestmark = [pytest.mark.vm, pytest.mark.timeout(600)]  # the first ones may bake templates
SECRET = os.urandom(24).hex()
VISIBLE = os.urandom(24).hex()
PIECE = 1 << 24

CLOUD_INIT = """
import json
from cloudinit import distros, helpers
from cloudinit.sources.DataSourceEc2 import DataSourceEc2
paths = helpers.Paths({"cloud_dir": "/tmp/cloud", "run_dir": "/tmp/run"})
distro = distros.fetch("debian")("debian", {}, paths)
source = DataSourceEc2({}, distro, paths)
source._cloud_name = "aws"  # which it would read from the firmware
assert source.wait_for_metadata_service()
assert source._api_token, "cloud-init took no token"
found = source.crawl_metadata()
print(json.dumps([found["meta-data"]["instance-id"], found["meta-data"]["placement"],
                  found["user-data"].decode(), source.metadata_address]))
"""
DOCUMENT = {
    "latest": {
        "meta-data": {"instance-id": "i-0123", "placement": {"availability-zone": "here-1a"}},
        "user-data": "#cloud-config\nhostname: one\n",
        "dynamic": {"instance-identity": {"document": "{}"}},
    }
}


@pytest.fixture(scope="module")
def cloud_template() -> str:
    """A template of Debian with cloud-init, which nothing there starts."""
    build_template(
        "cloud",
        "debian:bookworm",
        include=["cloud-init"],
        memory_mib=BASE_MEMORY_MIB,
        vcpus=1,
        disk_mib=1536,
    )
    return "cloud"


def run(api: Node, claim: Any, *argv: str) -> str:
    path = f"/v1/sandboxes/{claim['id']}/exec"
    answer = api.request("POST", path, {"argv": list(argv)}, token=claim["token"])
    assert answer.status == 200, answer
    assert answer.json["exit_code"] == 0, answer.json
    return str(answer.json["stdout"])


def memory_holds(engine: Engine, *words: str) -> list[bool]:
    """Whether the VMMs' memory, the guests' RAM among it, holds these words."""
    found = [False] * len(words)
    for pid in engine.vmm_pids():
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                area, rights, *_ = line.split()
                if "r" not in rights or line.endswith(("[vvar]", "[vsyscall]")):
                    continue
                start, end = (int(word, 16) for word in area.split("-"))
                tail = b""
                for at in range(start, end, PIECE):
                    memory.seek(at)
                    try:
                        data = tail + memory.read(min(PIECE, end - at))
                    except OSError:
                        break  # nothing is behind it
                    for number, word in enumerate(words):
                        found[number] |= word.encode() in data
                    tail = data[-64:]
    return found


def test_host_only_values_are_nowhere_in_a_guests_memory(node: Engine) -> None:
    api = Node(node.config["listen"])
    env = {"SEEN": {"value": VISIBLE}, "UNSEEN": {"value": SECRET, "guest": False}}
    claim = api.claim("base", size="tiny", env=env)
    assert run(api, claim, "sh", "-c", "echo $SEEN,$UNSEEN") == f"{VISIBLE},\n"
    patch = {"LATER": {"value": SECRET + "2", "guest": False}, "SEEN": {"value": VISIBLE + "2"}}
    path = f"/v1/sandboxes/{claim['id']}/env"
    assert api.request("PATCH", path, {"env": patch}).status == 204
    assert run(api, claim, "sh", "-c", "echo $SEEN,$LATER") == f"{VISIBLE}2,\n"
    assert memory_holds(node, VISIBLE, SECRET) == [True, False]
    base = f"/v1/sandboxes/{claim['id']}"
    assert api.request("POST", f"{base}/hibernate").status == 204
    assert api.request("PATCH", path, {"env": {"LATER": None}}).status == 204
    assert api.request("PATCH", path, {"env": {"SEEN": None}}).status == 409
    assert run(api, claim, "sh", "-c", "echo $SEEN,$UNSEEN,$LATER") == f"{VISIBLE}2,,\n"
    api.release(claim)


def test_cloud_init_reads_what_the_operator_put(node: Engine, cloud_template: str) -> None:
    api = Node(node.config["listen"])
    claim = api.claim(cloud_template, size="tiny")
    path = f"/v1/sandboxes/{claim['id']}"
    document = json.dumps(DOCUMENT).encode()
    assert api.request("PUT", f"{path}/instance-metadata", document).status == 204
    assert json.loads(run(api, claim, "python3", "-c", CLOUD_INIT).splitlines()[-1]) == [
        "i-0123",
        {"availability-zone": "here-1a"},
        "#cloud-config\nhostname: one\n",
        "http://169.254.169.254",
    ]
    stored = run(api, claim, "cat", "/run/silkd/instance-metadata.json")
    assert stored.encode() == document
    (child,) = api.request("POST", f"{path}/fork", {"count": 1}).json["children"]
    assert run(api, child, "cat", "/run/silkd/instance-metadata.json") == stored
    assert api.request("PUT", path + "/instance-metadata", b"{}").status == 204
    assert run(api, child, "cat", "/run/silkd/instance-metadata.json") == stored
    for one in (claim, child):
        api.release(one)
