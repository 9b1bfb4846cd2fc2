"""Volumes of claims that live: wanted and applied, every refusal, what fails and is tried again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sandbox_engine.model.volume import MAX_VOLUMES

from tests.engine.node.machines import FakeMachine
from tests.engine.node.world import TINY, World, world
from tests.support.images import make_image
from tests.support.node import Answer
from tests.support.wait import until

DATA, MORE, SCRATCH = {"name": "data"}, {"name": "more"}, {"name": "scratch", "mode": "rw"}
AT_DATA, AT_MORE = DATA | {"mount": "/volumes/data"}, MORE | {"mount": "/volumes/more"}
MANY = [f"v{number}" for number in range(MAX_VOLUMES)]
READERS = ("data", "more", *MANY)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A node with a catalog and two tenants; it tries again at once."""
    folder = tmp_path_factory.mktemp("node")
    image = make_image(folder / "any.img", size="2M")
    entries: list[dict[str, Any]] = [{"name": name, "path": str(image)} for name in READERS]
    for name in ("scratch", "free"):
        path = str(make_image(folder / f"{name}.img", size="2M"))
        entries.append({"name": name, "path": path, "writable": True})
    entries.append({"name": "theirs", "path": str(image), "tenants": ["acme"]})
    entries.append({"name": "gone", "path": str(folder / "gone.img")})
    with world(folder, volumes=entries, audit_log=True) as made:
        made.door.live_volumes.pauses = (0.01,)
        for name in ("acme", "other"):
            path = f"/v1/tenants/{name}"
            assert made.request("PUT", path, {"token": f"{name}-token"}).status == 204
        yield made


@pytest.fixture
def take(node: World) -> Iterator[Callable[..., Any]]:
    """Claims, and gives back after the test."""
    claims: list[Any] = []

    def claim(*volumes: dict[str, Any], token: str = "", **fields: Any) -> Any:
        body = TINY | {"volumes": list(volumes)} | fields
        answer = node.request("POST", "/v1/claim", body, token=token)
        assert answer.status == 200, answer
        claims.append(answer.json)
        return answer.json

    yield claim
    for made in claims:
        node.request("POST", f"/v1/sandboxes/{made['id']}/release")


def call(node: World, method: str, claim: Any, body: Any = None, token: str = "") -> Answer:
    path = f"/v1/sandboxes/{claim['id']}/volumes"
    return node.request(method, path, body, token=token)


def put(node: World, claim: Any, *volumes: dict[str, Any], token: str = "") -> Answer:
    return call(node, "PUT", claim, {"volumes": list(volumes)}, token)


def patch(node: World, claim: Any, **body: Any) -> Answer:
    return call(node, "PATCH", claim, body)


def attached(*volumes: dict[str, Any]) -> dict[str, Any]:
    """The view of a claim that has just these."""
    return {
        "volumes_want": list(volumes),
        "volumes": list(volumes),
        "states": [{"name": one["name"], "state": "attached"} for one in volumes],
        "converging": False,
    }


# -- what converges ------------------------------------------------------------------


def test_a_claim_without_volumes_has_none(node: World, take: Callable[..., Any]) -> None:
    claim = take()
    assert call(node, "GET", claim).json == attached()


def test_put_and_patch_attach_and_detach(node: World, take: Callable[..., Any]) -> None:
    claim = take()
    machine = node.machine(claim)
    answer = put(node, claim, DATA, MORE | {"mount": "/models"})
    at_models = MORE | {"mount": "/models"}
    assert (answer.status, answer.json) == (200, attached(AT_DATA, at_models))
    assert call(node, "GET", claim).json == answer.json
    assert machine.attached == ["volume-ro-0", "volume-ro-1"]
    row = node.request("GET", f"/v1/sandboxes/{claim['id']}").json
    assert row["volumes"] == [AT_DATA, at_models]
    answer = patch(node, claim, add=[{"name": "v0"}], remove=["data"])
    at_v0 = {"name": "v0", "mount": "/volumes/v0"}
    assert (answer.status, answer.json) == (200, attached(at_models, at_v0))
    assert machine.guest.asked[-2] == {
        "op": "unmount_volumes",
        "volumes": [
            {"disk": "volume-ro-0", "name": "data", "mount": "/volumes/data", "writable": False}
        ],
    }
    answer = put(node, claim)
    assert (answer.status, answer.json) == (200, attached())
    assert machine.attached == []
    assert "volumes" not in node.request("GET", f"/v1/sandboxes/{claim['id']}").json


def test_what_is_so_already_asks_the_guest_nothing(node: World, take: Callable[..., Any]) -> None:
    claim = take(DATA)
    asked = len(node.machine(claim).guest.asked)
    for answer in (put(node, claim, DATA), put(node, claim, AT_DATA), patch(node, claim),
                   patch(node, claim, add=[DATA], remove=["never"])):  # fmt: skip
        assert (answer.status, answer.json) == (200, attached(AT_DATA))
    assert len(node.machine(claim).guest.asked) == asked


def test_a_writer_and_what_is_attached_only_stay(node: World, take: Callable[..., Any]) -> None:
    claim = take(DATA, SCRATCH)
    at_scratch = SCRATCH | {"mount": "/volumes/scratch"}
    assert put(node, claim).json["volumes"] == [at_scratch]
    assert put(node, claim, MORE, SCRATCH).json["volumes"] == [at_scratch, AT_MORE]
    refused = patch(node, claim, remove=["scratch"])
    assert (refused.status, "goes with the claim" in refused.json["error"]) == (409, True)
    bare = take(DATA, volumes_attach_only=True)
    assert put(node, bare, MORE).json["volumes"] == [DATA, AT_MORE]
    assert patch(node, bare, remove=["data"]).status == 409


def test_eight_fit_and_nine_do_not(node: World, take: Callable[..., Any]) -> None:
    claim = take()
    eight = [{"name": name} for name in MANY]
    assert put(node, claim, *eight).status == 200
    refused = patch(node, claim, add=[DATA])
    assert (refused.status, "9 volumes; the limit is 8" in refused.json["error"]) == (400, True)
    assert refused.json["volumes"] == call(node, "GET", claim).json["volumes"]
    assert patch(node, claim, add=[DATA], remove=["v3"]).status == 200


def test_a_mount_that_is_in_use_is_tried_again_until_it_is_not(
    node: World, take: Callable[..., Any]
) -> None:
    claim = take(DATA)
    machine = node.machine(claim)
    machine.guest.fails.add("unmount_volumes")
    answer = put(node, claim)
    assert (answer.status, answer.json) == (
        200,
        {
            "volumes_want": [],
            "volumes": [AT_DATA],
            "states": [{"name": "data", "state": "detaching", "error": "no such device"}],
            "converging": True,
        },
    )
    assert node.request("POST", f"/v1/sandboxes/{claim['id']}/hibernate").status == 409
    machine.guest.fails.clear()
    until(lambda: call(node, "GET", claim).json == attached())
    assert machine.attached == []


def test_an_image_that_is_gone_is_pending_until_it_is_back(
    node: World, take: Callable[..., Any]
) -> None:
    claim = take()
    answer = put(node, claim, {"name": "gone"})
    view = answer.json
    assert (answer.status, view["converging"], view["volumes"]) == (200, True, [])
    ((state),) = view["states"]
    assert (state["name"], state["state"]) == ("gone", "pending")
    assert "cannot be opened" in state["error"]
    assert str(node.folder) not in answer.raw.decode()
    make_image(node.folder / "gone.img", size="2M")
    until(lambda: not call(node, "GET", claim).json["converging"])
    assert call(node, "GET", claim).json["volumes"] == [{"name": "gone", "mount": "/volumes/gone"}]
    (node.folder / "gone.img").unlink()


def test_another_wish_ends_what_was_tried(node: World, take: Callable[..., Any]) -> None:
    claim = take()
    guest = node.machine(claim).guest
    guest.fails.add("mount_volumes")
    assert put(node, claim, DATA).json["converging"]
    assert put(node, claim).json == attached()
    assert node.machine(claim).attached == []
    assert put(node, claim, DATA).json["converging"]
    guest.fails.clear()
    until(lambda: call(node, "GET", claim).json == attached(AT_DATA))


def test_a_wish_for_what_is_being_detached_keeps_it(node: World, take: Callable[..., Any]) -> None:
    claim = take(DATA)
    guest = node.machine(claim).guest
    guest.fails.add("unmount_volumes")
    assert put(node, claim).json["converging"]
    moved = put(node, claim, DATA | {"mount": "/elsewhere"})
    assert (moved.status, "is being detached" in moved.json["error"]) == (409, True)
    assert put(node, claim, DATA).json == attached(AT_DATA)
    guest.fails.clear()
    assert put(node, claim).json == attached()


def test_a_claim_ends_in_the_middle_of_a_change(node: World, take: Callable[..., Any]) -> None:
    claim = take()
    node.machine(claim).guest.fails.add("mount_volumes")
    assert put(node, claim, {"name": "free"}).json["converging"]
    assert node.request("POST", f"/v1/sandboxes/{claim['id']}/release").status == 204
    writer = take({"name": "free", "mode": "rw"})
    assert writer["volumes"][0]["mode"] == "rw"


# -- refusals ------------------------------------------------------------------------


class Row(NamedTuple):
    """One refusal of a PUT to a claim that has `data`, mounted where it is by itself."""

    status: int
    words: str
    volumes: list[Any]


ROWS = {
    "unknown": Row(400, "unknown volume 'none'", [{"name": "none"}]),
    "another's": Row(400, "unknown volume 'theirs'", [{"name": "theirs"}]),
    "twice": Row(400, "named twice", [DATA, DATA]),
    "nine": Row(400, "9 entries; the limit is 8", [{"name": f"n{n}"} for n in range(9)]),
    "no name": Row(400, "no volume's name", [{"name": "../data"}]),
    "an odd mode": Row(400, "mode must be ro or rw", [MORE | {"mode": "w"}]),
    "a new writer": Row(400, "rw is for a claim", [SCRATCH]),
    "a reader that would write": Row(409, "is held ro", [DATA | {"mode": "rw"}]),
    "a relative mount": Row(400, "clean path", [MORE | {"mount": "m"}]),
    "the system": Row(400, "guest's system", [MORE | {"mount": "/etc/x"}]),
    "another mount": Row(409, "is mounted on /volumes/data", [DATA | {"mount": "/m"}]),
    "a mount in a mount": Row(400, "holds another", [DATA, MORE | {"mount": "/volumes/data/more"}]),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_change_that_is_refused_shows_what_is_there(
    node: World, take: Callable[..., Any], row: Row
) -> None:
    claim = take(DATA, token="other-token")
    answer = put(node, claim, *row.volumes)
    assert answer.status == row.status
    assert row.words in answer.json["error"]
    assert answer.json | {"error": ""} == attached(AT_DATA) | {"error": ""}
    assert call(node, "GET", claim).json == attached(AT_DATA)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "volumes"),
        ({"volumes": None}, "volumes"),
        ({"volumes": [], "add": []}, "add"),
        ({"volumes": ["data"]}, "volumes"),
        (b"{", "invalid request body"),
    ],
)
def test_a_body_that_cannot_be_read_is_400(
    node: World, take: Callable[..., Any], body: Any, words: str
) -> None:
    claim = take()
    answer = call(node, "PUT", claim, body)
    assert answer.status == 400
    assert words in answer.error


def test_a_patch_that_contradicts_itself_is_400(node: World, take: Callable[..., Any]) -> None:
    answer = patch(node, take(DATA), add=[DATA], remove=["data"])
    assert (answer.status, "in add and in remove" in answer.json["error"]) == (400, True)


def test_busy_and_dirty_ones_are_409(node: World, take: Callable[..., Any]) -> None:
    writer, other = take({"name": "free", "mode": "rw"}), take()
    answer = put(node, other, {"name": "free"})
    assert (answer.status, "is busy" in answer.json["error"]) == (409, True)
    node.kill_machine(writer)
    node.request("POST", f"/v1/sandboxes/{writer['id']}/release")
    answer = put(node, other, {"name": "free"})
    assert (answer.status, "needs recovery" in answer.json["error"]) == (409, True)
    node.release(take({"name": "free", "mode": "rw"}))
    assert put(node, other, {"name": "free"}).status == 200
    taken = node.request("POST", "/v1/claim", TINY | {"volumes": [{"name": "free", "mode": "rw"}]})
    assert taken.status == 409, "a reader that came later does not keep a writer out"
    assert put(node, other).status == 200
    node.release(take({"name": "free", "mode": "rw"}))


def test_who_may(node: World, take: Callable[..., Any]) -> None:
    claim = take(token="acme-token")
    for method, body in (("GET", None), ("PUT", {"volumes": []}), ("PATCH", {})):
        assert call(node, method, claim, body, "acme-token").status == 200
        assert call(node, method, claim, body, "other-token").status == 404
        assert call(node, method, claim, body, claim["token"]).status == 401
        assert call(node, method, {"id": "sb_0"}, body).status == 404
        path = f"/v1/sandboxes/{claim['id']}/volumes"
        assert node.request(method, path, body, token=None).status == 401
    theirs = {"name": "theirs"}
    assert put(node, claim, theirs, token="acme-token").status == 200


def test_states_in_which_nothing_changes(node: World, take: Callable[..., Any]) -> None:
    claim = take(DATA)
    node.pause(claim)
    assert put(node, claim, MORE).status == 409
    assert put(node, claim, DATA).status == 200
    assert call(node, "GET", claim).status == 200
    dead = take(DATA)
    node.kill_machine(dead)
    refused = put(node, dead)
    assert (refused.status, "failed" in refused.json["error"]) == (409, True)
    slept = take()
    assert node.request("POST", f"/v1/sandboxes/{slept['id']}/hibernate").status == 204
    assert put(node, slept, DATA).status == 409
    row = node.request("GET", f"/v1/sandboxes/{slept['id']}").json
    assert row["hibernated"], "it was woken"


def test_what_cannot_have_any(node: World, take: Callable[..., Any]) -> None:
    without = take(template="other")
    answer = put(node, without, DATA)
    assert (answer.status, "build it with `volumes`" in answer.json["error"]) == (400, True)
    archived = take(on_expire="archive")
    answer = put(node, archived, DATA)
    assert (answer.status, "to be archived" in answer.json["error"]) == (400, True)
    assert put(node, without).status == 200


def test_what_was_given_keeps_it_from_being_saved_and_what_was_taken_does_not(
    node: World, take: Callable[..., Any]
) -> None:
    claim = take()
    path = f"/v1/sandboxes/{claim['id']}"
    put(node, claim, DATA)
    assert node.request("POST", f"{path}/hibernate").status == 409
    assert node.request("POST", f"{path}/renew", {"on_expire": "archive"}).status == 400
    put(node, claim)
    assert node.request("POST", f"{path}/hibernate").status == 204


def test_changes_are_audited_without_names(node: World, take: Callable[..., Any]) -> None:
    claim = take()
    put(node, claim, DATA)
    put(node, claim, DATA)
    lines = [json.loads(line) for line in (node.folder / "audit.jsonl").read_text().splitlines()]
    mine = [one for one in lines if one.get("id") == claim["id"]]
    assert [one["op"] for one in mine] == ["volumes"]
    assert "data" not in json.dumps(mine)


def test_a_promoted_template_takes_them(node: World, take: Callable[..., Any]) -> None:
    source = take()
    path = f"/v1/sandboxes/{source['id']}/promote"
    body = {"token": source["token"], "template": "mine:v1"}
    assert node.request("POST", path, body).status == 200
    claim = take(DATA, SCRATCH, template="mine:v1", require_promoted=True)
    assert [one["name"] for one in claim["volumes"]] == ["data", "scratch"]
    assert claim["template_digest"].startswith("sha256:")
    machine: FakeMachine = node.machine(claim)
    assert machine.attached == ["volume-ro-0", "volume-rw-0"]
    busy = node.request(
        "POST", "/v1/claim", TINY | {"template": "mine:v1", "volumes": [{"name": "scratch"}]}
    )
    assert busy.status == 409
    node.release(claim)
    assert not (node.folder / "scratch.img.dirty").exists()
    plain = take(template="other")
    path = f"/v1/sandboxes/{plain['id']}/promote"
    body = {"token": plain["token"], "template": "plain:v1"}
    assert node.request("POST", path, body).status == 200
    refused = node.request(
        "POST", "/v1/claim", TINY | {"template": "plain:v1", "volumes": [DATA, SCRATCH]}
    )
    assert (refused.status, "build it with `volumes`" in refused.error) == (400, True)
    node.release(take(SCRATCH))


def test_no_image_is_left_open(node: World, take: Callable[..., Any]) -> None:
    def opened() -> int:
        links = (path for path in Path("/proc/self/fd").iterdir() if path.exists())
        return sum(".img" in str(path.readlink()) for path in links)

    before = opened()
    claim = take(DATA, SCRATCH)
    put(node, claim, MORE)
    put(node, claim)
    assert opened() == before
