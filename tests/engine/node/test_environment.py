"""A claim's environment: rules, merging, what reaches the guest, what stays on the host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import booleans, builds, dictionaries, none, sampled_from, text
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.environment import (
    EnvEntry,
    Inject,
    check_environment,
    guest_part,
    host_part,
    merged,
    shown,
    whole,
)

from tests.engine.node.world import World, world
from tests.support.node import Answer

SECRET = "the-secret-value"
HOST_ONLY = {"value": SECRET, "guest": False}


def env_path(claim: Any) -> str:
    return f"/v1/sandboxes/{claim['id']}/env"


def put(node: World, claim: Any, env: Any, method: str = "PUT") -> Answer:
    return node.request(method, env_path(claim), {"env": env})


def shown_env(node: World, claim: Any) -> Any:
    answer = node.request("GET", env_path(claim))
    assert answer.status == 200
    assert SECRET not in answer.raw.decode()
    return answer.json["env"]


def host_values(node: World, claim: Any) -> dict[str, str]:
    """What the proxy would be given."""

    async def read() -> dict[str, str]:
        (found,) = [one for one in node.door.claims.all() if one.id == claim["id"]]
        assert found.claim is not None
        return {name: entry.value for name, entry in found.claim.host_env.items()}

    return node.call(read())


# -- rules ---------------------------------------------------------------------------

ENTRIES = builds(EnvEntry, value=text(max_size=4), guest=booleans())
ENVS = dictionaries(sampled_from("ABCDE"), ENTRIES, max_size=4)


@given(env=ENVS)
def test_the_parts_are_the_whole_and_have_nothing_in_common(env: dict[str, EnvEntry]) -> None:
    guest, host = guest_part(env), host_part(env)
    assert whole(guest, host) == env
    assert not guest.keys() & host.keys()
    assert all(entry.value == "" for name, entry in shown(env).items() if name in host)


@given(env=ENVS, patch=dictionaries(sampled_from("ABCDE"), none() | ENTRIES))
def test_a_patch_touches_what_it_names_only(
    env: dict[str, EnvEntry], patch: dict[str, EnvEntry | None]
) -> None:
    after = merged(env, patch)
    assert {n: e for n, e in after.items() if n not in patch} == {
        n: e for n, e in env.items() if n not in patch
    }
    assert {n: after.get(n) for n in patch} == patch


def inject(**fields: Any) -> dict[str, EnvEntry]:
    return {"K": EnvEntry(value=SECRET, inject=Inject(**({"hosts": ["api.example"]} | fields)))}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"hosts": []}, "1 to 16 hosts"),
        ({"hosts": ["api.example"] * 17}, "1 to 16 hosts"),
        ({"hosts": ["other.example"]}, "'other.example' is not intercepted"),
        ({"header": "x", "query": "y"}, "not both"),
        ({"header": "a b"}, "no header"),
        ({"query": "a&b=\n"}, "no header or parameter"),
        ({"placeholder": "x" * 257}, "at most 256"),
        ({"placeholder": "a b"}, "printable"),
    ],
)
def test_an_inject_is_checked_against_its_form_and_the_policy(
    fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidArgument, match=words) as refused:
        check_environment(inject(**fields), {"api.example"})
    assert SECRET not in str(refused.value)


def test_an_inject_leaves_the_guest_a_placeholder() -> None:
    env = inject(header="authorization", placeholder="cb-key-1", body=True)
    check_environment(env, {"api.example"})
    assert guest_part(env) == {"K": "cb-key-1"}
    assert guest_part(inject(header="authorization")) == {}
    assert whole(guest_part(env), host_part(env)) == env
    (entry,) = shown(env).values()
    assert entry == EnvEntry(value="", inject=env["K"].inject)


# -- the verbs -----------------------------------------------------------------------


def test_a_claim_keeps_host_only_values_from_its_guest(node: World) -> None:
    claim = node.claim(env={"MODE": {"value": "prod"}, "KEY": HOST_ONLY})
    node.settle()
    assert node.machine(claim).guest.env == {"MODE": "prod"}
    assert host_values(node, claim) == {"KEY": SECRET}
    assert shown_env(node, claim) == {
        "KEY": {"value": "", "guest": False},
        "MODE": {"value": "prod"},
    }
    node.release(claim)


def test_a_put_replaces_and_a_patch_merges(node: World, claim: Any) -> None:
    guest = node.machine(claim).guest
    assert put(node, claim, {"A": {"value": "1"}, "OLD": {"value": "2"}, "K": HOST_ONLY}).status
    assert guest.env == {"A": "1", "OLD": "2"}
    patch = {"A": {"value": "3"}, "OLD": None, "GONE": None}
    assert put(node, claim, patch, "PATCH").status == 204
    assert guest.env == {"A": "3"}
    assert host_values(node, claim) == {"K": SECRET}
    assert put(node, claim, {"B": {"value": "4"}}).status == 204
    assert (guest.env, host_values(node, claim)) == ({"B": "4"}, {})
    assert put(node, claim, {}).status == 204
    assert (guest.env, shown_env(node, claim)) == ({}, {})


def test_a_change_of_what_the_host_knows_never_touches_the_guest(node: World, claim: Any) -> None:
    guest = node.machine(claim).guest
    assert put(node, claim, {"A": {"value": "1"}, "K": HOST_ONLY}).status == 204
    wrote = guest.configured
    assert put(node, claim, {"K": {"value": "new", "guest": False}}, "PATCH").status == 204
    assert host_values(node, claim) == {"K": "new"}
    assert guest.configured == wrote


def test_an_unchanged_result_is_written_again_and_not_stored_again(node: World, claim: Any) -> None:
    guest = node.machine(claim).guest
    assert put(node, claim, {"A": {"value": "1"}, "K": HOST_ONLY}).status == 204
    guest.env = {"lost": "x"}
    before = (node.folder / "audit.jsonl").read_text().count('"op":"env"')
    again = {"K": HOST_ONLY, "A": {"value": "1"}}
    for method, env in (("PUT", again), ("PATCH", {"K": HOST_ONLY})):
        wrote = guest.configured
        assert put(node, claim, env, method).status == 204
        assert guest.configured == wrote + 1
        assert guest.env == {"A": "1"}
    assert (node.folder / "audit.jsonl").read_text().count('"op":"env"') == before


def test_from_guest_to_host_only_takes_it_from_the_guest(node: World, claim: Any) -> None:
    assert put(node, claim, {"A": {"value": SECRET}}).status == 204
    assert put(node, claim, {"A": HOST_ONLY}, "PATCH").status == 204
    assert node.machine(claim).guest.env == {}
    assert shown_env(node, claim) == {"A": {"value": "", "guest": False}}


def test_a_write_that_fails_is_stored_and_can_be_sent_again(node: World, claim: Any) -> None:
    guest = node.machine(claim).guest
    guest.deaf = True
    answer = put(node, claim, {"A": {"value": "1"}, "K": HOST_ONLY})
    assert answer.status == 500
    assert "is stored" in answer.error
    assert host_values(node, claim) == {"K": SECRET}
    guest.deaf = False
    assert guest.env == {}
    assert put(node, claim, {}, "PATCH").status == 204
    assert guest.env == {"A": "1"}


@pytest.mark.parametrize("state", ["hibernated", "paused", "failed"])
def test_a_guest_that_does_not_run_takes_host_values_only(node: World, state: str) -> None:
    claim = node.claim(env={"A": {"value": "1"}})
    node.settle()
    if state == "hibernated":
        path = f"/v1/sandboxes/{claim['id']}/hibernate"
        assert node.request("POST", path).status == 204
    elif state == "paused":
        node.pause(claim)
    else:
        node.kill_machine(claim)
    refused = put(node, claim, {"A": {"value": "2"}, "K": HOST_ONLY}, "PATCH")
    assert refused.status == 409
    assert state in refused.error
    assert host_values(node, claim) == {}, "a refused change was stored in part"
    assert put(node, claim, {"K": HOST_ONLY}, "PATCH").status == 204
    assert put(node, claim, {"K": HOST_ONLY}, "PATCH").status == 204
    assert host_values(node, claim) == {"K": SECRET}
    assert node.request("GET", f"/v1/sandboxes/{claim['id']}").json["hibernated"] is (
        state == "hibernated"
    )
    node.release(claim)


def test_children_have_their_parents_and_a_branch_has_its_own(node: World, claim: Any) -> None:
    assert put(node, claim, {"A": {"value": "1"}, "K": HOST_ONLY}).status == 204
    path = f"/v1/sandboxes/{claim['id']}"
    (child,) = node.request("POST", f"{path}/fork", {"count": 1}).json["children"]
    assert shown_env(node, child).keys() == {"A", "K"}
    made = node.request("POST", f"{path}/checkpoint", {}).json["checkpoint"]
    body = {"env": {"B": {"value": "2"}, "L": HOST_ONLY}}
    branch = node.request("POST", f"/v1/checkpoints/{made['id']}/claim", body).json
    assert shown_env(node, branch) == {"B": {"value": "2"}, "L": {"value": "", "guest": False}}
    assert host_values(node, branch) == {"L": SECRET}
    bad = {"env": {"1": {"value": ""}}}
    assert node.request("POST", f"/v1/checkpoints/{made['id']}/claim", bad).status == 400
    for one in (child, branch):
        node.release(one)


def test_it_is_kept_with_the_claim(tmp_path: Path) -> None:
    with world(tmp_path) as node:
        claim = node.claim(env={"A": {"value": "1"}})
        assert put(node, claim, {"K": HOST_ONLY}, "PATCH").status == 204

        async def read() -> Any:
            (one,) = [one for one in node.journal.sandboxes() if one.id == claim["id"]]
            assert one.claim is not None
            return one.spec.env, one.claim.host_env["K"].value

        assert node.call(read()) == ({"A": "1"}, SECRET)


def test_a_tenant_reaches_its_own_only(node: World, claim: Any) -> None:
    assert node.request("PUT", "/v1/tenants/acme", {"token": "acme-token"}).status == 204
    for method in ("GET", "PUT", "PATCH"):
        answer = node.request(method, env_path(claim), {"env": {}}, token="acme-token")
        assert answer.status == 404
    own = node.request(
        "POST", "/v1/claim", {"template": "base", "size": "tiny"}, token="acme-token"
    ).json
    body = {"env": {"A": {"value": "1"}}}
    assert node.request("PUT", env_path(own), body, token="acme-token").status == 204
    node.release(own)


def test_no_log_and_no_listing_has_a_value(node: World, claim: Any) -> None:
    assert put(node, claim, {"K": HOST_ONLY}).status == 204
    assert SECRET not in json.dumps(node.request("GET", "/v1/sandboxes").json)
    for name in ("audit.jsonl", "usage.jsonl"):
        assert SECRET not in (node.folder / name).read_text()


FULL = {f"E{n}": {"value": "x"} for n in range(64)}


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"1A": {"value": ""}}, "not a variable's name"),
        ({"": {"value": ""}}, "not a variable's name"),
        ({"A": {"value": "\0" + SECRET}}, "value is bad"),
        ({"A": {}}, "value"),
        ({"A": {"value": 1}}, "$.env"),
        ({"A": {"value": "", "colour": 1}}, "colour"),
        ({"A": {"value": "", "inject": {"hosts": ["api.example"]}}}, "not intercepted"),
        (FULL | {"F": {"value": ""}}, " entries; the limit is 64"),
        ({"A": {"value": "x" * (65536 - 2)}}, "the limit is 65536"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_bad_entry_is_400_and_changes_nothing(
    node: World, claim: Any, method: str, env: Any, words: str
) -> None:
    assert put(node, claim, {"KEPT": {"value": "1"}}).status == 204
    answer = put(node, claim, env, method)
    assert answer.status == 400
    assert words in answer.error
    assert SECRET not in answer.error
    assert shown_env(node, claim) == {"KEPT": {"value": "1"}}


def test_at_the_limits_it_is_taken_and_a_patch_past_them_is_not(node: World, claim: Any) -> None:
    assert put(node, claim, {"A": {"value": "x" * (65536 - 3)}}).status == 204
    assert put(node, claim, {"B": {"value": ""}}, "PATCH").status == 400
    assert put(node, claim, FULL).status == 204
    assert put(node, claim, {"F": {"value": ""}}, "PATCH").status == 400
    assert put(node, claim, {"F": {"value": ""}, "E0": None}, "PATCH").status == 204


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH"])
def test_other_statuses(node: World, claim: Any, method: str) -> None:
    path = env_path(claim)
    body: dict[str, Any] = {"env": {}}
    assert node.request(method, path, body, token=None).status == 401
    assert node.request(method, path, body, token=claim["token"]).status == 401
    assert node.request(method, path.replace(claim["id"], "sb_0"), body).status == 404
    if method != "GET":
        assert node.request(method, path, {"env": {}, "x": 1}).status == 400
        assert node.request(method, path, {}).status == 400
        assert node.request(method, path, b"").status == 400
