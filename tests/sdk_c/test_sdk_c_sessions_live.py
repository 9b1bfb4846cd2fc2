"""Workspaces through libsandbox on a real daemon: its three session errors, and the files."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from tests.sdk_c.driving import Driver, Operation, op
from tests.sdk_c.live import pooled
from tests.support.engine import Engine

pytestmark = pytest.mark.vm
WAIT_MS = 120_000
EXPIRED, LIMIT, UNKNOWN = -6, -7, -8


@pytest.fixture(scope="module")
def live(busybox_template: str) -> Iterator[Engine]:
    """A running engine whose workspaces are small."""
    with pooled(busybox_template, workspace_mib=16) as made:
        yield made


@pytest.fixture
def box(live: Engine) -> Driver:
    """The driver, under ASan, on it."""
    return Driver(live.engine_socket, "asan")


def create(key: str, ttl: int) -> Operation:
    return op("create", template="busybox", wait=WAIT_MS, key=key, ttl=ttl)


async def test_a_session_that_never_was_is_unknown(box: Driver) -> None:
    (line,) = await box.session(op("renew", key=secrets.token_hex(4), extra=60))
    assert line.code == UNKNOWN


async def test_renewing_up_to_the_platform_s_maximum(box: Driver) -> None:
    key = secrets.token_hex(4)
    lines = await box.session(
        create(key, 60), op("destroy"), op("renew", key=key, extra=10),
        op("renew", key=key, extra=1 << 31), op("renew", key=key, extra=1),
    )  # fmt: skip
    assert [line.code for line in lines] == [0, 0, 0, 0, LIMIT]


async def test_a_session_whose_time_is_over_has_expired(box: Driver) -> None:
    key = secrets.token_hex(4)
    script = "echo kept > /workspace/a; sync; sleep 1.2"
    lines = await box.session(
        create(key, 1), op("exec", sh=script), op("destroy"), op("renew", key=key, extra=60)
    )
    assert [line.code for line in lines] == [0, 0, 0, EXPIRED]


async def test_files_stay_from_one_sandbox_to_the_next(box: Driver) -> None:
    key = secrets.token_hex(4)
    await box.session(create(key, 0), op("exec", sh="echo kept > /workspace/a"), op("destroy"))
    _, read = await box.session(create(key, 0), op("read", path="/workspace/a"))
    assert (read.code, read.data("data")) == (0, b"kept\n")
