"""How long a workspace lives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_engine.errors import InvalidArgument, SessionExpired, SessionLimit
from sandbox_engine.model.workspace import (
    DEFAULT_TTL_S,
    MAX_TTL_S,
    Workspace,
    attached,
    granted,
    renewed,
)

LENGTHS = st.integers(0, 4 * MAX_TTL_S)


def workspace(*, created_at: float = 1000.0, ttl_s: int = 60, gone: bool = False) -> Workspace:
    return Workspace(
        owner="me",
        key="k",
        volume="v",
        size_bytes=1,
        created_at=created_at,
        expires_at=created_at + ttl_s,
        gone=gone,
    )


def test_nothing_asked_is_seven_days() -> None:
    assert granted(0, MAX_TTL_S) == DEFAULT_TTL_S == 7 * 24 * 3600


def test_too_long_is_clamped() -> None:
    assert granted(MAX_TTL_S + 1, MAX_TTL_S) == MAX_TTL_S == 30 * 24 * 3600
    assert granted(0, 60) == 60


@pytest.mark.parametrize("extra_s", [0, -1])
def test_nothing_more_is_no_renewal(extra_s: int) -> None:
    with pytest.raises(InvalidArgument):
        renewed(workspace(), 1000.0, extra_s, MAX_TTL_S)


def test_at_the_limit() -> None:
    with pytest.raises(SessionLimit):
        renewed(workspace(ttl_s=MAX_TTL_S), 1000.0, 1, MAX_TTL_S)


def test_too_late() -> None:
    with pytest.raises(SessionExpired):
        renewed(workspace(), 1060.0, 1, MAX_TTL_S)
    with pytest.raises(SessionExpired):
        renewed(workspace(gone=True), 1000.0, 1, MAX_TTL_S)


@given(ttl_s=LENGTHS, asked_s=LENGTHS, later_s=st.integers(0, MAX_TTL_S))
def test_attaching_never_shortens_and_never_passes_the_limit(
    ttl_s: int, asked_s: int, later_s: int
) -> None:
    before = workspace(ttl_s=granted(ttl_s, MAX_TTL_S))
    after = attached(before, before.created_at + later_s, asked_s, MAX_TTL_S)
    assert before.expires_at <= after.expires_at <= before.created_at + MAX_TTL_S


@given(ttl_s=st.integers(1, MAX_TTL_S - 1), extra_s=st.integers(1, 4 * MAX_TTL_S))
def test_renewing_adds_up_to_the_limit(ttl_s: int, extra_s: int) -> None:
    before = workspace(ttl_s=ttl_s)
    after = renewed(before, before.created_at, extra_s, MAX_TTL_S)
    assert after.expires_at == before.created_at + min(ttl_s + extra_s, MAX_TTL_S)
