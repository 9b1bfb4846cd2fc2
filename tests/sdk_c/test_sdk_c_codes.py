"""Every error code of the seed, each from its cause, and what it is called."""

from __future__ import annotations

import asyncio
import os
import re

import pytest
from sandbox.v1 import legacy_pb2 as pb

from tests.sdk_c.building import ROOT
from tests.sdk_c.driving import Driver, Operation, op
from tests.sdk_c.frame_daemon import MAX_LIFE_S, NOW, Connection, FrameDaemon, failure

CODES = {
    "SANDBOX_OK": 0,
    "SANDBOX_ERR_POOL_EXHAUSTED": -1,
    "SANDBOX_ERR_INVALID_SPEC": -2,
    "SANDBOX_ERR_DAEMON_UNREACHABLE": -3,
    "SANDBOX_ERR_PERMISSION_DENIED": -4,
    "SANDBOX_ERR_INTERNAL": -5,
    "SANDBOX_ERR_SESSION_EXPIRED": -6,
    "SANDBOX_ERR_SESSION_LIMIT": -7,
    "SANDBOX_ERR_SESSION_UNKNOWN": -8,
    "SANDBOX_ERR_GUEST_UNAVAILABLE": -9,
    "SANDBOX_ERR_PATH_DENIED": -10,
    "SANDBOX_ERR_NOT_FOUND": -11,
    "SANDBOX_ERR_EXISTS": -12,
    "SANDBOX_ERR_TOO_LARGE": -13,
    "SANDBOX_ERR_GUEST_IO": -14,
    "SANDBOX_ERR_TIMEOUT": -15,
}


def test_the_header_has_every_code_with_its_value() -> None:
    header = (ROOT / "sdk/c/include/libsandbox.h").read_text()
    found = re.findall(r"^    (SANDBOX_OK|SANDBOX_ERR_\w+) = (-?\d+)", header, re.MULTILINE)
    assert {name: int(value) for name, value in found} == CODES


async def test_every_code_has_its_own_words_and_others_have_some(driver: Driver) -> None:
    values = [*CODES.values(), 1, -16, 1000, -(1 << 31), (1 << 31) - 1]
    lines = await driver.raw(*[op("string", code=value) for value in values])
    texts = [line.text.split("text=")[1] for line in lines]
    assert all(texts)
    assert len(set(texts[: len(CODES)])) == len(CODES)
    assert set(texts[len(CODES) :]) == {"unknown error"}


# --- what the daemon refuses ---------------------------------------------------------------


async def test_pool_exhausted_at_once(driver: Driver, daemon: FrameDaemon) -> None:
    daemon.free_machines = 0
    [created] = await driver.session(op("create", template="base"))
    assert created.code == -1


async def test_pool_exhausted_after_the_wait(driver: Driver, daemon: FrameDaemon) -> None:
    daemon.free_machines = 1
    _, created = await driver.session(
        op("create", template="base"), op("create", template="base", wait=20)
    )
    assert created.code == -1


async def test_pool_exhausted_by_the_cap_of_a_connection(driver: Driver) -> None:
    *created, over = await driver.session(*[op("create", template="base")] * 129)
    assert {line.code for line in created} == {0}
    assert over.code == -1


SPECS = [
    pytest.param(op("create"), id="no template"),
    pytest.param(op("create", template="absent"), id="unknown template"),
    pytest.param(op("create", template="base", memory=3), id="other memory"),
    pytest.param(op("create", template="base", vcpus=99), id="other vCPUs"),
    pytest.param(op("create", template="base", key="x" * 128), id="key too long"),
    pytest.param(op("create", template="base", key='quo"te'), id="key with a quote"),
    pytest.param(op("create", template="base", key="back\\slash"), id="key with a backslash"),
    pytest.param(op("create", template="base", key="a\nb"), id="key with a control byte"),
    pytest.param(op("create", template="base", allow=["a.b"], deny=1), id="egress contradiction"),
    pytest.param(op("create", template="base", allow=["a.b"] * 65), id="65 egress entries"),
    pytest.param(op("create", template="base", allow=["forbidden.example"]), id="not covered"),
    pytest.param(op("create", template="base", env=["A=" + "x" * 90000] * 3), id="over a frame"),
    pytest.param(op("create", template=os.fsdecode(b"caf\xe9")), id="not UTF-8"),
]


@pytest.mark.parametrize("create", SPECS)
async def test_invalid_specs(driver: Driver, create: Operation) -> None:
    refused, good = await driver.session(create, op("create", template="base"))
    assert (refused.code, good.code) == (-2, 0)


async def test_a_user_who_is_not_allowed(driver: Driver, daemon: FrameDaemon) -> None:
    daemon.refuse_all = True
    opened, created, again = await driver.raw(
        op("init", socket=daemon.path), op("create", template="base"), op("create", template="base")
    )
    assert opened.code == 0
    assert created.code in {-4, -3}  # -3 if the refusal was read before anything was asked
    assert again.code in {-4, -3}


async def test_a_refusal_is_told_to_those_who_wait(driver: Driver, daemon: FrameDaemon) -> None:
    async def refuse(connection: Connection, message: pb.ClientMessage) -> None:
        connection.reply(failure(0, -4))
        connection.writer.close()

    daemon.script["create"] = refuse
    created, again = await driver.session(
        op("create", template="base"), op("create", template="base")
    )
    assert (created.code, again.code) == (-4, -4)


async def test_internal(driver: Driver) -> None:
    [created] = await driver.session(op("create", template="broken"))
    assert created.code == -5


async def test_session_codes(driver: Driver, daemon: FrameDaemon) -> None:
    daemon.sessions = {"expired": NOW - 1, "longest": NOW + MAX_LIFE_S}
    lines = await driver.session(
        op("renew", key="expired", extra=1),
        op("renew", key="longest", extra=1),
        op("renew", key="unknown", extra=1),
        op("renew", key="", extra=1),
        op("renew", extra=1),
    )
    assert [line.code for line in lines] == [-6, -7, -8, -2, -2]


async def test_a_paused_guest_is_unavailable(driver: Driver) -> None:
    _, ran, read, _, again = await driver.sandbox(
        op("pause"),
        op("exec", sh="true"),
        op("read", path="/workspace/f"),
        op("resume"),
        op("exec", sh="true"),
    )
    assert (ran.code, read.code, again.code) == (-9, -9, 0)


async def test_pause_and_resume_are_idempotent(driver: Driver) -> None:
    lines = await driver.sandbox(op("resume"), op("pause"), op("pause"), op("resume"))
    assert {line.code for line in lines} == {0}


PATHS = [
    pytest.param("relative", -10, id="relative"),
    pytest.param("/workspace/../etc/passwd", -10, id="dot dot"),
    pytest.param("/workspace/./f", -10, id="dot"),
    pytest.param("/etc/passwd", -10, id="outside"),
    pytest.param("/workspace/out/passwd", -10, id="through a link"),
    pytest.param("/workspace/absent", -11, id="absent"),
]


@pytest.mark.parametrize(("path", "code"), PATHS)
async def test_paths(driver: Driver, path: str, code: int) -> None:
    _, *lines = await driver.sandbox(
        op("exec", sh="ln -s /etc out"),
        op("read", path=path),
        op("stat", path=path),
        op("list", path=path),
        op("remove", path=path),
    )
    assert {line.code for line in lines} == {code}


async def test_paths_of_writing(driver: Driver) -> None:
    lines = await driver.sandbox(
        op("write", path="/workspace/../f", data="x"),
        op("mkdir", path="/workspace/../d"),
        op("write", path="/workspace/absent/f", data="x"),
        op("mkdir", path="/workspace/absent/d"),
        op("write", path="/workspace/f", data="x"),
        op("write", path="/workspace/f", data="x", flags=1),
        op("mkdir", path="/workspace/f"),
        op("mkdir", path="/workspace/d"),
        op("mkdir", path="/workspace/d"),
        op("mkdir", path="/workspace/d", parents=1),
        op("write", path="/workspace/d", data="x"),
        op("remove", path="/workspace"),
    )
    assert [line.code for line in lines] == [
        *(-10, -10, -11, -11, 0, -12, -12, 0, -12, 0, -14, -10)
    ]


async def test_a_program_that_does_not_exist(driver: Driver) -> None:
    [ran] = await driver.sandbox(op("exec", arg=["/absent/program"]))
    assert ran.code == -11


async def test_too_large(driver: Driver, daemon: FrameDaemon) -> None:
    lines = await driver.sandbox(
        op("exec", sh="cat", fill=65537),
        op("write", path="/workspace/f", fill=(4 << 20) + 1),
        op("exec", sh="head -c 4194305 /dev/zero > big"),
        op("read", path="/workspace/big"),
        op("exec", arg=["echo", *["x" * 90000] * 3]),
    )
    assert [line.code for line in lines] == [-13, -13, 0, -13, -13]
    reads = [m for m in daemon.seen if m.guest.HasField("read_file")]
    assert len(reads) == 1  # its size was told with the first piece


async def test_a_file_that_grows_past_the_limit_while_it_is_read(
    driver: Driver, daemon: FrameDaemon
) -> None:
    async def endless(connection: Connection, message: pb.ClientMessage) -> None:
        piece = pb.GuestReadFileResponse(data=b"x" * 49152, file_size=1, truncated=True)
        guest = pb.GuestResponse(read_file=piece)
        connection.reply(pb.ServerMessage(request_id=message.request_id, guest=guest))

    daemon.script["read_file"] = endless
    [read] = await driver.sandbox(op("read", path="/workspace/f"))
    assert read.code == -13


async def test_timeout_and_what_a_newer_daemon_may_say(driver: Driver, daemon: FrameDaemon) -> None:
    codes = iter([-15, -16, 7])

    async def answer(connection: Connection, message: pb.ClientMessage) -> None:
        connection.reply(failure(message.request_id, next(codes)))

    daemon.script["exec"] = answer
    lines = await driver.sandbox(*[op("exec", sh="true")] * 3)
    assert [line.code for line in lines] == [-15, -5, -5]


async def test_sixteen_operations_in_flight(driver: Driver, daemon: FrameDaemon) -> None:
    """The seventeenth is refused; the daemon counts, and the library passes the code on."""
    full = asyncio.Event()

    async def fill_up(connection: Connection, message: pb.ClientMessage) -> None:
        connection.guest_operations = 16
        full.set()
        connection.reply(failure(message.request_id, -15))

    daemon.script["exec"] = fill_up
    _, seen = await driver.sandbox(op("exec", sh="true"), op("stat", path="/workspace"))
    assert full.is_set()
    assert seen.code == -9


# --- what the library refuses itself -------------------------------------------------------

ARGUMENTS = [
    pytest.param(op("pause", h=-1), id="pause"),
    pytest.param(op("resume", h=-1), id="resume"),
    pytest.param(op("inspect", h=-1), id="inspect"),
    pytest.param(op("destroy", h=-1), id="destroy"),
    pytest.param(op("exec", h=-1, sh="true"), id="exec"),
    pytest.param(op("read", h=-1, path="/workspace/f"), id="read"),
    pytest.param(op("exec"), id="no argv"),
    pytest.param(op("exec", arg=["true"], flags=2), id="unknown exec flag"),
    pytest.param(op("read"), id="read without a path"),
    pytest.param(op("write", data="x"), id="write without a path"),
    pytest.param(op("write", path="/workspace/f", flags=8), id="unknown write flag"),
    pytest.param(op("list"), id="list without a path"),
    pytest.param(op("stat"), id="stat without a path"),
    pytest.param(op("mkdir"), id="mkdir without a path"),
    pytest.param(op("remove"), id="remove without a path"),
    pytest.param(op("stat", path=os.fsdecode(b"/workspace/\xff")), id="not UTF-8"),
]


@pytest.mark.parametrize("operation", ARGUMENTS)
async def test_arguments_that_cannot_be(
    driver: Driver, daemon: FrameDaemon, operation: Operation
) -> None:
    refused, seen = await driver.sandbox(operation, op("inspect"))
    assert (refused.code, seen.code) == (-2, 0)
    assert not [m for m in daemon.seen if m.HasField("guest")]


EVERY = [
    op("create", template="base"),
    op("pause", h=0),
    op("resume", h=0),
    op("inspect", h=0),
    op("destroy", h=0),
    op("renew", key="k"),
    op("exec", h=0, sh="true"),
    op("read", h=0, path="/workspace/f"),
    op("write", h=0, path="/workspace/f"),
    op("list", h=0, path="/workspace"),
    op("stat", h=0, path="/workspace"),
    op("mkdir", h=0, path="/workspace/d"),
    op("remove", h=0, path="/workspace/d"),
]


async def test_after_cleanup_every_call_is_an_error(driver: Driver, daemon: FrameDaemon) -> None:
    opened, created, _, *lines = await driver.raw(
        op("init", socket=daemon.path), op("create", template="base"), op("cleanup"), *EVERY
    )
    assert (opened.code, created.code) == (0, 0)
    assert {line.code for line in lines} == {-3}


async def test_a_handle_of_an_ended_session_means_nothing_in_the_next(
    driver: Driver, daemon: FrameDaemon
) -> None:
    lines = await driver.raw(
        op("init", socket=daemon.path),
        op("create", template="base"),
        op("cleanup"),
        op("init", socket=daemon.path),
        op("create", template="base"),
        *[operation for operation in EVERY[1:] if operation.argv[1] != "renew"],
        op("id", h=0),
        op("inspect", h=1),
        op("cleanup"),
    )
    assert {line.code for line in lines[5:-3]} == {-4}
    assert lines[-3].number("id") == 0
    assert lines[-2].code == 0


async def test_before_init_every_call_is_an_error(driver: Driver) -> None:
    lines = await driver.raw(op("create", template="base"), op("renew", key="k"), op("cleanup"))
    assert [line.code for line in lines] == [-3, -3, 0]
