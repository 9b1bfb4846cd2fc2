"""The seed's "Determinism": what is the same in every sandbox, what is not, and the clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.api import Api, Client

pytestmark = pytest.mark.vm


@pytest.fixture(scope="module")
def pair(plane: Api) -> Iterator[tuple[Client, list[str]]]:
    """Two sessions of one template."""
    client = plane.client("two")
    sessions = [client.open(), client.open()]
    yield client, sessions
    for session in sessions:
        client.request("DELETE", f"{session}?workspace=delete")


def both(pair: tuple[Client, list[str]], command: str) -> list[Any]:
    client, sessions = pair
    return [client.sh(session, command)["stdout"] for session in sessions]


def test_the_wall_clock_is_the_host_s_and_not_the_template_s(
    pair: tuple[Client, list[str]],
) -> None:
    client, sessions = pair
    for session in sessions:
        before = time.time()
        told = float(client.sh(session, "date +%s.%N")["stdout"])
        assert before - 2 <= told <= time.time() + 2


@pytest.mark.parametrize(
    "command",
    [
        "cksum /bin/sh /usr/bin/git /etc/passwd",
        "dpkg-query -W | cksum",
        "find /usr -xdev -type f | sort | cksum",
        "uname -srvm; cat /proc/version",
        "grep -E 'model name|flags' /proc/cpuinfo",
        "nproc; grep MemTotal /proc/meminfo",
    ],
)
def test_software_files_cpu_and_kernel_are_the_same(
    pair: tuple[Client, list[str]], command: str
) -> None:
    one, other = both(pair, command)
    assert one == other != ""


@pytest.mark.parametrize(
    "command",
    [
        "head -c 32 /dev/urandom | od -An -tx1",
        "python3 -c 'import os; print(os.getrandom(32).hex())'",
        "cat /proc/sys/kernel/random/uuid",
        "cat /proc/sys/kernel/random/boot_id",
        "cat /etc/machine-id",
        "hostname",
    ],
)
def test_randomness_and_identity_are_reseeded(pair: tuple[Client, list[str]], command: str) -> None:
    one, other = both(pair, command)
    assert one != other


def test_the_same_key_is_the_same_session_and_files(plane: Api) -> None:
    client = plane.client("one")
    session = client.open(key="again")
    client.sh(session, "echo x > /workspace/a")
    client.request("DELETE", session)
    assert client.open(key="again") == session
    assert client.sh(session, "cat a")["stdout"] == "x\n"
    client.request("DELETE", f"{session}?workspace=delete")
