"""Tenants, volumes, environment, instance metadata, previews: each status of the seed for them.

A row is a call, what has happened to the sandbox it is about, and the answer.  What exactly is
refused, and that nothing changes then, is beside each part's own tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.engine.node.world import TINY, World, world
from tests.support.images import make_image
from tests.support.node import ROOT
from tests.support.wait import until

MISSING, UNKNOWN, ACME, OTHER, OWN = "missing", "unknown", "acme-token", "other-token", "own"
"""Kinds of token; OWN is the sandbox's, and what else is none of these is sent as it is."""
ENV = {"env": {"A": {"value": "1"}}}
HOST_ONLY = {"env": {"K": {"value": "1", "guest": False}}}
INJECT = {"env": {"K": {"value": "1", "inject": {"hosts": ["a.example"], "header": "x"}}}}
RW = {"name": "free", "mode": "rw"}
BIG = b'{"k":"' + b"x" * 4096 + b'"}'


class Row(NamedTuple):
    """One answer."""

    call: str
    body: Any
    status: int
    words: str = ""
    """Part of the error's message."""
    token: str = ROOT
    after: str = ""
    """What happened to the claim, which is tenant acme's, before."""


def claim(status: int, words: str, *volumes: Any, token: str = ROOT, **fields: Any) -> Row:
    body = TINY | {"volumes": list(volumes)} | fields
    return Row("POST /v1/claim", body, status, words, token)


def env(method: str, body: Any, status: int, words: str = "", **more: str) -> Row:
    return Row(f"{method} /v1/sandboxes/{{id}}/env", body, status, words, **more)


def document(body: Any, status: int, words: str = "", **more: str) -> Row:
    return Row("PUT /v1/sandboxes/{id}/instance-metadata", body, status, words, **more)


def preview(body: Any, status: int, words: str = "", **more: str) -> Row:
    return Row("POST /v1/sandboxes/{id}/preview", body, status, words, **more)


def live(method: str, body: Any, status: int, words: str = "", **more: str) -> Row:
    return Row(f"{method} /v1/sandboxes/{{id}}/volumes", body, status, words, **more)


def tenants(body: Any, status: int, words: str = "", **more: str) -> Row:
    return Row("PUT /v1/tenants", {"tenants": body}, status, words, **more)


ROWS = {
    # claims of volumes
    "volume granted": claim(200, "", {"name": "data"}),
    "volume written": claim(200, "", RW),
    "volume attached only": claim(200, "", {"name": "data"}, volumes_attach_only=True),
    "volume unknown": claim(400, "unknown volume", {"name": "none"}),
    "volume of others": claim(400, "unknown volume", {"name": "theirs"}, token=OTHER),
    "volume not writable": claim(400, "not writable", {"name": "data", "mode": "rw"}),
    "volume with a bad token": claim(401, "bad api token", {"name": "data"}, token=UNKNOWN),
    "volume busy for a writer": claim(409, "busy", {"name": "taken", "mode": "rw"}),
    "volume busy for a reader": claim(409, "busy", {"name": "taken"}),
    "volume that needs recovery": claim(409, "needs recovery", {"name": "dirty"}),
    "volume that is gone": claim(500, "provisioning failed", {"name": "gone"}),
    "tenant at its own max_claims": claim(429, "its limit", token="capped-token"),
    # GET /v1/volumes
    "catalog": Row("GET /v1/volumes", None, 200),
    "catalog of a tenant": Row("GET /v1/volumes", None, 200, token=OTHER),
    "catalog without a token": Row("GET /v1/volumes", None, 401, "missing", MISSING),
    "catalog with a sandbox's": Row("GET /v1/volumes", None, 401, "bad api token", OWN),
    # volumes of a live claim
    "live shown": live("GET", None, 200),
    "live put": live("PUT", {"volumes": [{"name": "data"}]}, 200, token=ACME),
    "live patched": live("PATCH", {"add": [{"name": "data"}]}, 200),
    "live unknown": live("PUT", {"volumes": [{"name": "none"}]}, 400, "unknown volume"),
    "live rw": live("PATCH", {"add": [RW]}, 400, "rw is for a claim"),
    "live bad body": live("PUT", {}, 400, "volumes"),
    "live busy": live("PATCH", {"add": [{"name": "taken"}]}, 409, "busy"),
    "live dirty": live("PATCH", {"add": [{"name": "dirty"}]}, 409, "needs recovery"),
    "live paused": live("PUT", {"volumes": [{"name": "data"}]}, 409, "paused", after="paused"),
    "live asleep": live(
        "PUT", {"volumes": [{"name": "data"}]}, 409, "hibernated", after="hibernated"
    ),
    "live of another": live("GET", None, 404, "no sandbox", token=OTHER),
    "live with its own token": live("GET", None, 401, "bad api token", token=OWN),
    "live of nobody": Row("GET /v1/sandboxes/sb_0/volumes", None, 404, "sb_0"),
    # env
    "env shown": env("GET", None, 200, token=ACME),
    "env put": env("PUT", ENV, 204, token=ACME),
    "env patched": env("PATCH", {"env": {"A": None}}, 204),
    "env bad entry": env("PUT", {"env": {"1A": {"value": ""}}}, 400, "1A"),
    "env unknown field": env("PATCH", {"env": {}, "x": 1}, 400, "x"),
    "env inject elsewhere": env("PUT", INJECT, 400, "not intercepted"),
    "env without a token": env("PUT", ENV, 401, "missing", token=MISSING),
    "env with its own token": env("GET", None, 401, "bad api token", token=OWN),
    "env of another": env("PUT", ENV, 404, "no sandbox", token=OTHER),
    "env of nobody": Row("PUT /v1/sandboxes/sb_0/env", ENV, 404, "sb_0"),
    "env of a paused one": env("PUT", ENV, 409, "paused", after="paused"),
    "env of a sleeper": env("PUT", ENV, 409, "hibernated", after="hibernated"),
    "env of an archived one": env("PATCH", ENV, 409, "archived", after="archived"),
    "env of a failed one": env("PUT", ENV, 409, "failed", after="failed"),
    "host-only env of a sleeper": env("PUT", HOST_ONLY, 204, after="hibernated"),
    "host-only env of an archived one": env("PATCH", HOST_ONLY, 204, after="archived"),
    "env that the guest did not take": env("PUT", ENV, 500, "send it again", after="deaf"),
    # instance metadata
    "document": document(b'{"a": 1}', 204),
    "document that is a list": document(b"[]", 400, "one JSON object"),
    "document too big": document(BIG, 400, "the limit is 4096"),
    "document with a bad token": document(b"{}", 401, "bad api token", token=UNKNOWN),
    "document of a tenant": document(b"{}", 403, "operator", token=ACME),
    "document of nobody": Row("PUT /v1/sandboxes/sb_0/instance-metadata", b"{}", 404, "sb_0"),
    "document of a sleeper": document(b"{}", 409, "hibernated", after="hibernated"),
    "document of an archived one": document(b"{}", 409, "archived", after="archived"),
    "document that nobody serves": document(b"{}", 409, "serves no", after="serves none"),
    # previews
    "preview": preview({"port": 80, "token": OWN}, 200),
    "preview of a tenant": preview({"port": 80, "token": OWN}, 200, token=ACME),
    "preview of an archived one": preview({"port": 80, "token": OWN}, 200, after="archived"),
    "preview of port 0": preview({"port": 0, "token": OWN}, 400, "port"),
    "preview with a bad token": preview({"port": 80, "token": OWN}, 401, "bad", token=UNKNOWN),
    "preview without the sandbox's token": preview({"port": 80}, 404, "no sandbox"),
    "preview with another's": preview({"port": 80, "token": "0" * 64}, 404, "no sandbox"),
    # tenants; a change that is taken would be in the way of the other rows
    "tenants listed": Row("GET /v1/tenants", None, 200),
    "tenants for a tenant": Row("GET /v1/tenants", None, 403, "operator", ACME),
    "tenants for nobody": Row("GET /v1/tenants", None, 401, "bad api token", UNKNOWN),
    "tenants with a bad name": tenants([{"name": "-x", "token": "t"}], 400, "name"),
    "tenants named twice": tenants([{"name": "a", "token": "t"}] * 2, 400, "twice"),
    "tenants with one token": tenants(
        [{"name": "a", "token": "t"}, {"name": "b", "token": "t"}], 400, "same"
    ),
    "tenants with root's token": tenants([{"name": "a", "token": ROOT}], 400, "api_token"),
    "tenants of an unknown class": tenants(
        [{"name": "a", "token": "t", "egress_class": "none"}], 400, "egress_class"
    ),
    "a tenant put": Row("PUT /v1/tenants/third", {"token": "third-token"}, 204),
    "a tenant with no token": Row("PUT /v1/tenants/fourth", {}, 400, "token"),
    "a tenant deleted": Row("DELETE /v1/tenants/leaving", None, 204),
    "a tenant unknown": Row("DELETE /v1/tenants/nobody", None, 404, "unknown tenant"),
    "a tenant by a tenant": Row("DELETE /v1/tenants/other", None, 403, "operator", ACME),
    # what a removal means for the claims of the removed
    "renew of a removed tenant's": Row(
        "POST /v1/sandboxes/{id}/renew", None, 403, "was removed", OWN, "removed"
    ),
    "renew of it by the operator": Row("POST /v1/sandboxes/{id}/renew", None, 200, after="removed"),
    "wake of an archived one of it": Row(
        "POST /v1/sandboxes/{id}/wake", None, 403, "was removed", OWN, "archived and removed"
    ),
    "claim of a removed tenant": claim(401, "bad api token", token="gone-token"),
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A node with everything, one volume taken and one left by a guest that died."""
    folder = tmp_path_factory.mktemp("node")
    images = {name: make_image(folder / f"{name}.img", size="2M") for name in ("data", "free")}
    images |= {name: make_image(folder / f"{name}.img", size="2M") for name in ("taken", "dirty")}
    entries: list[dict[str, Any]] = [
        {"name": name, "path": str(path), "writable": name != "data"}
        for name, path in images.items()
    ]
    entries.append({"name": "theirs", "path": str(images["data"]), "tenants": ["acme"]})
    entries.append({"name": "gone", "path": str(folder / "gone.img")})
    with world(folder, volumes=entries, preview_listen="127.0.0.1:0") as made:
        for name in ("acme", "other", "capped", "leaving", "gone"):
            put_tenant(made, name, max_claims=1 if name == "capped" else 0)
        assert made.request("DELETE", "/v1/tenants/gone").status == 204
        assert made.request("POST", "/v1/claim", TINY, token="capped-token").status == 200
        made.claim(volumes=[{"name": "taken", "mode": "rw"}])
        Path(f"{images['dirty']}.dirty").touch()
        yield made


def put_tenant(node: World, name: str, **fields: Any) -> None:
    body = {"token": f"{name}-token"} | {key: value for key, value in fields.items() if value}
    assert node.request("PUT", f"/v1/tenants/{name}", body).status == 204


def _hibernate(node: World, box: Any) -> None:
    assert node.request("POST", f"/v1/sandboxes/{box['id']}/hibernate").status == 204


def _archive(node: World, box: Any) -> None:
    node.clock.at += 61
    node.call(node.look_at_leases())
    until(lambda: node.request("GET", f"/v1/sandboxes/{box['id']}").json.get("archived"))


def _deafen(node: World, box: Any) -> None:
    node.machine(box).guest.deaf = True


def _serve_none(node: World, box: Any) -> None:
    node.machine(box).guest.serves_metadata = False


def _remove(node: World, _: Any) -> None:
    assert node.request("DELETE", "/v1/tenants/acme").status == 204


AFTER: dict[str, tuple[Callable[[World, Any], None], ...]] = {
    "": (),
    "paused": (World.pause,),
    "hibernated": (_hibernate,),
    "archived": (_archive,),
    "failed": (World.kill_machine,),
    "deaf": (_deafen,),
    "serves none": (_serve_none,),
    "removed": (_remove,),
    "archived and removed": (_archive, _remove),
}


@pytest.fixture
def box(node: World) -> Iterator[Any]:
    """A claim of tenant acme, for one row."""
    body = TINY | {"ttl_seconds": 60, "on_expire": "destroy"}
    answer = node.request("POST", "/v1/claim", body, token=ACME)
    assert answer.status == 200, answer
    yield answer.json
    put_tenant(node, "acme")
    node.request("POST", f"/v1/sandboxes/{answer.json['id']}/release")


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_status(node: World, box: Any, row: Row) -> None:
    if "archived" in row.after:
        path = f"/v1/sandboxes/{box['id']}/renew"
        body = {"ttl_seconds": 60, "on_expire": "archive"}
        assert node.request("POST", path, body).status == 200
    for step in AFTER[row.after]:
        step(node, box)
    method, _, path = row.call.partition(" ")
    body = row.body
    if isinstance(body, dict) and body.get("token") == OWN:
        body = body | {"token": box["token"]}
    token = {MISSING: None, UNKNOWN: "0" * 64, OWN: box["token"]}.get(row.token, row.token)
    answer = node.request(method, path.format(id=box["id"]), body, token=token)
    assert answer.status == row.status, answer
    assert row.words in (answer.json["error"] if answer.status >= 400 else "")
    if row.call == "POST /v1/claim" and answer.status == 200:
        node.release(answer.json)
    assert (answer.status == 204) == (answer.raw == b"")
    assert ("retry-after" in answer.headers) == (answer.status == 429)
