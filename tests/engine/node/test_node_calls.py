"""The calls about the node: pools that last, drain, reload, metrics, audit."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.node.world import TINY, World, world
from tests.support.wait import until

Make = Callable[..., World]
BASE_POOL = {"template": "base", "size": "tiny", "warm": 2}


def info(node: World) -> Any:
    return node.request("GET", "/v1/info").json


def pools(node: World) -> dict[str, tuple[int, int]]:
    """(warm, target) by key."""
    return {
        " ".join(pool["key"].values()): (pool["warm"], pool["target"])
        for pool in info(node)["pools"]
    }


def put(node: World, *wishes: Any) -> Any:
    answer = node.request("PUT", "/v1/pools", {"pools": list(wishes)})
    assert answer.status == 200, answer
    return answer.json


def test_info_of_an_idle_node(make_node: Make) -> None:
    assert info(make_node()) == {
        "pools": [], "templates": [], "claimed": 0, "hibernated": 0, "archived": 0, "peers": [],
    }  # fmt: skip


def test_a_pool_fills_and_says_so(make_node: Make) -> None:
    node = make_node(pools=[BASE_POOL])
    until(lambda: pools(node) == {"base none tiny": (2, 2)})
    (pool,) = info(node)["pools"]
    assert (pool["refilling"], pool["golden"]) == (0, True)


def test_put_replaces_the_pools_and_touches_no_claim(make_node: Make) -> None:
    node = make_node(pools=[BASE_POOL])
    claim = node.claim()
    answer = put(node, {"template": "other", "size": "tiny", "warm": 1})
    assert [pool["key"]["template"] for pool in answer["pools"]] == ["other"]
    until(lambda: pools(node) == {"other none tiny": (1, 1)})
    assert node.machine(claim).guest.env == {}
    names = {machine.spec.name for machine in node.driver.machines.values()}
    assert len(names) <= 3  # the claim's, the warm one, one that waits


def test_defaults_of_a_put_are_a_claims(make_node: Make) -> None:
    node = make_node(sizes={"small": {"cpus": 1, "memory_mib": 256}})
    put(node, {"template": "base"}, {"template": "other", "warm_max": 3})
    assert pools(node)["base none small"][1] == 4
    assert pools(node)["other none small"][1] == 0


def test_a_refused_put_changes_nothing(make_node: Make) -> None:
    node = make_node(pools=[BASE_POOL])
    wishes = [{"template": "other", "size": "tiny"}, {"template": "none", "size": "tiny"}]
    assert node.request("PUT", "/v1/pools", {"pools": wishes}).status == 400
    assert list(pools(node)) == ["base none tiny"]
    assert not (node.folder / "pools.json").exists()


def test_what_was_put_wins_over_the_file_until_it_is_deleted(tmp_path: Path) -> None:
    with world(tmp_path, pools=[BASE_POOL]) as node:
        put(node, {"template": "other", "size": "tiny", "warm": 1})
    with world(tmp_path, pools=[BASE_POOL]) as node:
        assert list(pools(node)) == ["other none tiny"]
    (tmp_path / "pools.json").unlink()
    with world(tmp_path, pools=[BASE_POOL]) as node:
        assert list(pools(node)) == ["base none tiny"]


def test_a_pool_of_another_size_than_the_baked_one_is_booted(make_node: Make) -> None:
    node = make_node()
    put(node, {"template": "base", "size": "medium", "warm": 1})
    until(lambda: pools(node) == {"base none medium": (1, 1)})
    (pool,) = info(node)["pools"]
    assert pool["golden"] is False
    claim = node.claim(size="medium")
    assert node.machine(claim).spec.memory_mib == 1024
    page = node.request("GET", "/metrics").raw.decode()
    assert 'sandboxd_claims_total{tier="warm"} 1.0' in page


def test_a_pools_warmup_runs_in_each_vm_before_it_joins(make_node: Make) -> None:
    node = make_node(pools=[BASE_POOL | {"warmup": ["prime", "caches"]}])
    claim = node.claim()
    assert node.machine(claim).guest.calls == [{"op": "warmup", "argv": ["prime", "caches"]}]
    put(node, BASE_POOL)  # the warm-up stays the file's
    until(lambda: pools(node)["base none tiny"][0] == 2)
    assert node.machine(node.claim()).guest.calls[0]["op"] == "warmup"


def test_a_vm_whose_warmup_fails_does_not_join(make_node: Make) -> None:
    node = make_node(pools=[BASE_POOL | {"warmup": ["fails"]}])
    answer = node.request("POST", "/v1/claim", TINY)
    assert answer.status == 500
    assert "the warm-up fails failed: exit status 3: no good" in answer.error
    assert pools(node)["base none tiny"][0] == 0


def test_a_pool_with_a_ceiling_rises_with_its_claims_and_decays(make_node: Make) -> None:
    node = make_node(pools=[{"template": "base", "size": "tiny", "warm": 1, "warm_max": 3}])
    node.slow_demand()
    until(lambda: pools(node) == {"base none tiny": (1, 1)})
    for _ in range(5):
        node.claim()
    until(lambda: pools(node) == {"base none tiny": (3, 3)})
    node.wait_out_demand()
    until(lambda: pools(node) == {"base none tiny": (1, 1)})


def test_drain_cordons_and_empties_and_lifting_refills(make_node: Make) -> None:
    node = make_node(pools=[BASE_POOL])
    claim = node.claim()
    until(lambda: pools(node) == {"base none tiny": (2, 2)})
    drained = node.request("POST", "/v1/drain").json
    assert drained["draining"] is True
    until(lambda: len(node.driver.machines) == 1)
    assert pools(node) == {"base none tiny": (0, 0)}
    assert node.request("POST", "/v1/claim", TINY).status == 429
    path = f"/v1/sandboxes/{claim['id']}/exec"
    assert node.request("POST", path, {"argv": ["echo"]}, token=claim["token"]).status == 200
    lifted = node.request("DELETE", "/v1/drain").json
    assert "draining" not in lifted
    until(lambda: pools(node) == {"base none tiny": (2, 2)})
    node.claim()


def test_drain_is_not_kept_over_a_restart(tmp_path: Path) -> None:
    with world(tmp_path) as node:
        node.request("POST", "/v1/drain")
    with world(tmp_path) as node:
        assert "draining" not in info(node)


def test_a_node_without_room_says_why(make_node: Make) -> None:
    node = make_node()
    node.driver.full = "no space left for a disk"
    assert node.request("POST", "/v1/claim", TINY).status == 500
    answer = info(node)
    assert (answer["at_capacity"], answer["at_capacity_reason"]) == (True, node.driver.full)
    node.driver.full = ""
    node.claim()
    assert "at_capacity" not in info(node)


# -- reload ------------------------------------------------------------------------


def reload(node: World) -> Any:
    return node.request("POST", "/v1/config/reload")


def test_reload_of_an_unchanged_file_changes_nothing(make_node: Make) -> None:
    assert reload(make_node()).json == {"changed": [], "ignored": []}


def test_reload_applies_what_can_change(make_node: Make) -> None:
    node = make_node(pools=[BASE_POOL])
    node.write_config(
        max_claims=1, audit_log=True, pools=[BASE_POOL | {"warm": 1, "warmup": ["w"]}]
    )
    assert reload(node).json == {
        "changed": [
            "audit_log", "max_claims",
            "pools[base none tiny] targets", "pools[base none tiny].warmup",
        ],
        "ignored": [],
    }  # fmt: skip
    claim = node.claim()
    assert node.request("POST", "/v1/claim", TINY).status == 429
    node.request(
        "POST", f"/v1/sandboxes/{claim['id']}/exec", {"argv": ["echo"]}, token=claim["token"]
    )
    assert (node.folder / "audit.jsonl").read_bytes().count(b"\n") == 1
    assert pools(node)["base none tiny"][1] == 1


def test_reload_leaves_what_the_api_owns(make_node: Make) -> None:
    node = make_node(pools=[BASE_POOL])
    put(node, BASE_POOL | {"warm": 3})
    node.write_config(pools=[BASE_POOL | {"warm": 1, "warmup": ["w"]}])
    assert reload(node).json == {
        "changed": ["pools[base none tiny].warmup"],
        "ignored": ["pools[base none tiny] targets (PUT /v1/pools owns them)"],
    }
    assert pools(node)["base none tiny"][1] == 3


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        pytest.param({"colour": "red"}, 400, "colour", id="unknown key"),
        pytest.param({"max_claims": "many"}, 400, "max_claims", id="wrong type"),
        pytest.param({"pools": [{"template": "base", "size": "vast"}]}, 400, "vast", id="bad size"),
        pytest.param({"listen": "127.0.0.1:1"}, 409, "listen", id="needs a restart"),
        pytest.param(
            {"listen": "127.0.0.1:1", "api_token": "x", "max_claims": 1},
            409,
            "listen, api_token;",
            id="several need a restart",
        ),
    ],
)
def test_a_refused_reload_applies_nothing(
    make_node: Make, changes: Any, status: int, words: str
) -> None:
    node = make_node()
    node.write_config(**({"max_claims": 1} | changes))
    answer = reload(node)
    assert answer.status == status
    assert words in answer.error
    for _ in range(2):
        node.claim()


def test_a_file_that_cannot_be_read_is_400(make_node: Make) -> None:
    node = make_node()
    node.config_file.write_text("{")
    assert reload(node).status == 400
    node.config_file.unlink()
    assert reload(node).status == 400


def test_a_signal_reloads_and_a_bad_file_is_only_logged(make_node: Make) -> None:
    assert signal.SIGHUP  # what the daemon binds to this
    node = make_node()
    node.config_file.write_text("{")
    node.call(node.door.reload.run_by_signal())
    node.write_config(max_claims=1)
    node.call(node.door.reload.run_by_signal())
    node.claim()
    assert node.request("POST", "/v1/claim", TINY).status == 429


# -- metrics, audit ------------------------------------------------------------------


def test_metrics_are_prometheus_text(make_node: Make) -> None:
    node = make_node(pools=[BASE_POOL])
    claim = node.claim()
    node.kill_machine(claim)
    node.release(claim)
    answer = node.request("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.raw.decode().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert values["sandboxd_claimed"] == "0.0"
    assert values["sandboxd_releases_total"] == values["sandboxd_vmm_exits_total"] == "1.0"
    assert values['sandboxd_pool_target{net="none",size="tiny",template="base"}'] == "2.0"
    assert float(values["sandboxd_claim_seconds_total"]) > 0


def test_the_audit_log_names_calls_and_never_what_was_sent(make_node: Make) -> None:
    node = make_node(audit_log=True)
    claim = node.claim()
    relay = node.upgrade(claim)
    relay.send(op="info")
    relay.send(op="exec", argv=["cat"], env={"SECRET": "hunter2"})
    relay.send(op="stdin", data="c2VjcmV0")
    relay.send(op="stdin_close")
    relay.send(op="git_clone", url="https://me:hunter2@git.example/x", path="/x", auth="hunter2")
    relay.send(op="fs_stat", path="/" + "x" * 5000)
    relay.socket.sendall(b"hunter2\n")
    relay.shut()
    assert relay.read()
    relay.close()
    path = f"/v1/sandboxes/{claim['id']}/exec"
    node.request("POST", path, {"argv": ["echo", "x"]}, token=claim["token"])
    text = (node.folder / "audit.jsonl").read_text()
    assert "hunter2" not in text
    records = [json.loads(line) for line in text.splitlines()]
    assert {record.pop("id") for record in records} == {claim["id"]}
    assert {record.pop("t") for record in records} == {"2026-09-21T14:13:20.000000Z"}
    assert records == [
        {"op": "info"},
        {"op": "exec", "argv": ["cat"]},
        {"op": "git_clone", "url": "https://git.example/x", "path": "/x"},
        {"op": "oversized"},
        {"op": "malformed"},
        {"op": "exec", "argv": ["echo", "x"]},
    ]
