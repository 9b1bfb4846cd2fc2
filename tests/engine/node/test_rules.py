"""The rules that only claims have: sizes, keys, mounts, tokens, idle clocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import text
from sandbox_engine.api.node.routes import shape_of
from sandbox_engine.config import Config, PoolConfig, SizeConfig
from sandbox_engine.errors import InvalidArgument, SandboxNotFound, Unauthenticated
from sandbox_engine.ids import TokenMint
from sandbox_engine.journal.ledger import FileDocument
from sandbox_engine.model.claim_request import metadata_filter
from sandbox_engine.model.size import Key, Size, Sizes
from sandbox_engine.model.volume import check_mount
from sandbox_engine.services.access import Access
from sandbox_engine.services.audit import Audit
from sandbox_engine.services.idle import IdleClock
from sandbox_engine.services.tenants import Tenants

from tests.engine.node.world import SetClock

MINT = TokenMint(b"key")
OWN = MINT.token("sb_1")


def access_with(api_token: str) -> Access:
    """The rules of a node with this root token and no tenant."""
    tenants = Tenants(
        document=FileDocument(Path("/nonexistent/tenants.json")),
        api_token=api_token,
        classes=frozenset,
        audit=Audit(None, SetClock()),
    )
    return Access(api_token, MINT, tenants)


def test_the_standard_sizes_can_be_added_to_and_changed() -> None:
    sizes = Sizes({"tiny": Size(cpus=1, memory_mib=256), "small": Size(cpus=2, memory_mib=512)})
    assert sizes.get("tiny") == Size(cpus=1, memory_mib=256)
    assert sizes.get("small") == Size(cpus=2, memory_mib=512)
    assert sizes.get("2xlarge") == Size(cpus=8, memory_mib=16384)
    assert sizes.name_of(Size(cpus=4, memory_mib=4096)) == "large"
    assert sizes.name_of(Size(cpus=3, memory_mib=1)) == ""
    with pytest.raises(InvalidArgument, match="unknown size 'huge'"):
        sizes.get("huge")


def test_keys_have_digests_that_cannot_be_confused() -> None:
    keys = [Key("a", "b", "c"), Key("ab", "", "c"), Key("a", "bc", ""), Key("a")]
    assert len({key.digest() for key in keys}) == 4
    assert Key("a").digest() == Key("a", "none", "small").digest()


@pytest.mark.parametrize("mount", ["/m", "/var/lib/data", "/srv/me", "/etcetera", "/volumes/x"])
def test_mounts_that_may_be(mount: str) -> None:
    assert check_mount(mount) == mount


@pytest.mark.parametrize(
    "mount", ["", "m", "/", "//m", "/m/", "/m/../n", "/./m", "/usr", "/etc/x", "/proc/1", "/m\n"]
)
def test_mounts_that_may_not(mount: str) -> None:
    with pytest.raises(InvalidArgument):
        check_mount(mount)


def test_a_metadata_value_may_hold_what_a_key_may_not() -> None:
    assert metadata_filter(["a=b=c", "d="]) == {"a": "b=c", "d": ""}


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        (["v1", "claim"], ("/v1/claim", "", "")),
        (["v1", "sandboxes"], ("/v1/sandboxes", "", "")),
        (["v1", "sandboxes", "sb_1"], ("/v1/sandboxes/*", "sb_1", "")),
        (["v1", "sandboxes", "*", "ports", "80"], ("/v1/sandboxes/*/ports/*", "*", "80")),
        (["v1", "sandboxes", "a/b", "exec"], ("/v1/sandboxes/*/exec", "a/b", "")),
        (["v1", "templates", "labels"], ("/v1/templates/labels", "", "")),
        ([""], ("/", "", "")),
    ],
)
def test_paths_have_shapes(path: list[str], shape: tuple[str, str, str]) -> None:
    assert shape_of(path) == shape


def test_who_a_token_is() -> None:
    access = access_with("root")
    assert access.node("root").by_token
    assert access.sandbox(OWN, "sb_1").sandbox == "sb_1"
    assert access.sandbox("root", "sb_1", operator=True).root
    assert not access_with("").node("anything").by_token


@given(token=text())
def test_no_other_token_is_anybody(token: str) -> None:
    access = access_with("root")
    if token == "root":
        return
    with pytest.raises(Unauthenticated):
        access.node(token)
    with pytest.raises(SandboxNotFound):
        access.sandbox(token, "sb_1", operator=True)


def test_no_token_is_nobody() -> None:
    for access in (access_with("root"), access_with("")):
        with pytest.raises(Unauthenticated):
            access.sandbox(None, "sb_1", operator=True)
        with pytest.raises(SandboxNotFound):
            access.sandbox("", "sb_1", operator=True)
    with pytest.raises(Unauthenticated):
        access_with("root").node(None)


def test_an_idle_clock_counts_from_the_last_use() -> None:
    clock = SetClock()
    idle = IdleClock(clock)
    clock.at += 5
    with idle.hold():
        clock.at += 5
        assert idle.idle_s() == 0
    clock.at += 3
    assert idle.idle_s() == 3
    idle.touch()
    assert idle.idle_s() == 0


def test_a_passive_hold_stops_the_clock_and_does_not_set_it() -> None:
    clock = SetClock()
    idle = IdleClock(clock)
    clock.at += 5
    hold = idle.hold(passive=True)
    assert idle.idle_s() == 0
    hold.close()
    hold.close()
    assert idle.idle_s() == 5


@pytest.mark.parametrize(
    ("pool", "bounds"),
    [
        (PoolConfig(template="t"), (4, 4)),
        (PoolConfig(template="t", warm=2), (2, 2)),
        (PoolConfig(template="t", warm_max=8), (0, 8)),
        (PoolConfig(template="t", warm=2, warm_max=8), (2, 8)),
    ],
)
def test_four_are_warm_only_where_nothing_else_is_said(
    pool: PoolConfig, bounds: tuple[int, int]
) -> None:
    target = pool.target()
    assert (target.warm, target.warm_max) == bounds


@pytest.mark.parametrize(
    "settings",
    [
        {"listen": "7777"},
        {"client_advertise": "node.example"},
        {"client_advertise": "http://node.example/path"},
        {"pools": [PoolConfig(template="t"), PoolConfig(template="t")]},
        {"pools": [PoolConfig(template="t", size="vast")]},
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Config(**settings)


def test_a_pool_may_name_a_size_the_file_adds() -> None:
    sizes = {"tiny": SizeConfig(cpus=1, memory_mib=256)}
    assert Config(sizes=sizes, pools=[PoolConfig(template="t", size="tiny")])
