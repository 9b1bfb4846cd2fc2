"""`PUT /v1/sandboxes/{id}/instance-metadata`: what is taken, and when."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.node.world import World

LARGEST = b'{"k":"' + b"x" * (4096 - 8) + b'"}'


def path(claim: Any) -> str:
    return f"/v1/sandboxes/{claim['id']}/instance-metadata"


@pytest.mark.parametrize(
    "document", [b"{}", b' {"b": 1,\n "a": "\xc3\xa4", "b": 2} ', LARGEST], ids=["", "odd", "4096"]
)
def test_a_document_reaches_the_guest_byte_for_byte(
    node: World, claim: Any, document: bytes
) -> None:
    for _ in range(2):
        assert node.request("PUT", path(claim), document).status == 204
        assert node.machine(claim).guest.metadata.encode() == document


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b"", "not JSON"),
        (b"[]", "one JSON object"),
        (b'"x"', "one JSON object"),
        (b"{", "not JSON"),
        (b"{} {}", "not JSON"),
        (b'{"a":"\xff"}', "not JSON"),
        (b" " + LARGEST, "4097 bytes; the limit is 4096"),
    ],
)
def test_what_is_no_small_object_is_400(
    node: World, claim: Any, document: bytes, words: str
) -> None:
    answer = node.request("PUT", path(claim), document)
    assert answer.status == 400
    assert words in answer.error


@pytest.mark.parametrize("state", ["hibernated", "paused", "failed"])
def test_a_guest_that_does_not_run_is_409_and_sleeps_on(node: World, state: str) -> None:
    claim = node.claim()
    if state == "hibernated":
        assert node.request("POST", f"/v1/sandboxes/{claim['id']}/hibernate").status == 204
    elif state == "paused":
        node.pause(claim)
    else:
        node.kill_machine(claim)
    answer = node.request("PUT", path(claim), b"{}")
    assert answer.status == 409
    assert state in answer.error
    row = node.request("GET", f"/v1/sandboxes/{claim['id']}").json
    assert row["hibernated"] is (state == "hibernated")
    node.release(claim)


def test_an_image_that_serves_none_is_409(node: World, claim: Any) -> None:
    node.machine(claim).guest.serves_metadata = False
    answer = node.request("PUT", path(claim), b"{}")
    assert answer.status == 409
    assert "serves no instance metadata" in answer.error


def test_it_is_the_operators(node: World, claim: Any) -> None:
    assert node.request("PUT", "/v1/tenants/acme", {"token": "acme-token"}).status == 204
    assert node.request("PUT", path(claim), b"{}", token="acme-token").status == 403
    assert node.request("PUT", path(claim), b"{}", token=claim["token"]).status == 401
    assert node.request("PUT", path(claim), b"{}", token=None).status == 401
    assert node.request("PUT", path({"id": "sb_0"}), b"{}").status == 404
