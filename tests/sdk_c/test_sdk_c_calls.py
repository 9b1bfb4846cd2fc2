"""Each function of libsandbox does what the seed says of it."""

from __future__ import annotations

import os

import pytest

from tests.sdk_c.driving import Driver, op
from tests.sdk_c.frame_daemon import MAX_LIFE_S, NOW, FrameDaemon


def pattern(size: int) -> bytes:
    """What the driver's `fill=` writes."""
    return bytes(i % 251 for i in range(size))


async def test_the_whole_spec_reaches_the_daemon(driver: Driver, daemon: FrameDaemon) -> None:
    [created] = await driver.session(
        op(
            "create",
            memory=512,
            vcpus=2,
            template="base",
            env=["A=1", "B=two words"],
            wait=500,
            key="project x",
            ttl=60,
            allow=["index.example", "*.packages.example:443"],
        )
    )
    assert created.code == 0
    request = daemon.seen[0].create
    assert (request.memory_mib, request.vcpu_count, request.template_name) == (512, 2, "base")
    assert list(request.env_vars) == ["A=1", "B=two words"]
    assert (request.pool_wait_ms, request.session_key, request.ttl_seconds) == (
        500,
        "project x",
        60,
    )
    assert list(request.egress_allow) == ["index.example", "*.packages.example:443"]
    assert not request.egress_deny_all


async def test_deny_all_reaches_the_daemon(driver: Driver, daemon: FrameDaemon) -> None:
    await driver.session(op("create", template="base", deny=1))
    assert daemon.seen[0].create.egress_deny_all


async def test_a_zeroed_spec_asks_for_nothing_but_its_template(
    driver: Driver, daemon: FrameDaemon
) -> None:
    await driver.session(op("create", template="base"))
    assert daemon.frames[0] == bytes.fromhex("0a061a0462617365a00601")


async def test_pause_resume_inspect(driver: Driver) -> None:
    paused, seen, resumed, again = await driver.sandbox(
        op("pause"), op("inspect"), op("resume"), op("inspect")
    )
    assert (paused.code, resumed.code) == (0, 0)
    assert seen.number("running") == 0
    assert seen.number("rss") == 123
    assert seen.number("faults") == (1 << 32) - 1
    assert again.number("running") == 1


async def test_a_sandbox_that_was_destroyed_is_gone(driver: Driver, daemon: FrameDaemon) -> None:
    first, second, destroyed, after, other = await driver.session(
        op("create", template="base"),
        op("create", template="base"),
        op("destroy", h=0),
        op("inspect", h=0),
        op("inspect", h=1),
    )
    assert first.number("id") != second.number("id")
    assert (destroyed.code, after.code, other.code) == (0, -4, 0)
    assert daemon.destroyed[0] == first.number("id")


async def test_cleanup_destroys_what_is_left(driver: Driver, daemon: FrameDaemon) -> None:
    created = await driver.session(*[op("create", template="base")] * 40)
    assert len(created) == 40
    asked = [m.destroy.sandbox_id for m in daemon.seen if m.HasField("destroy")]
    assert sorted(asked) == sorted(line.number("id") for line in created)


async def test_renew(driver: Driver, daemon: FrameDaemon) -> None:
    daemon.sessions["k"] = NOW + 100
    [renewed] = await driver.session(op("renew", key="k", extra=50))
    assert (renewed.code, renewed.number("ends")) == (0, NOW + 150)


async def test_renew_is_clamped(driver: Driver, daemon: FrameDaemon) -> None:
    daemon.sessions["k"] = NOW + 100
    [renewed] = await driver.session(op("renew", key="k", extra=4294967295))
    assert renewed.number("ends") == NOW + MAX_LIFE_S


async def test_exec_of_an_argv(driver: Driver) -> None:
    [ran] = await driver.sandbox(op("exec", arg=["/bin/echo", "one", "two  three"]))
    assert (ran.code, ran.number("exit"), ran.data("out")) == (0, 0, b"one two  three\n")


async def test_exec_of_a_script_with_both_streams_and_a_status(driver: Driver) -> None:
    [ran] = await driver.sandbox(op("exec", sh="echo out; echo err >&2; exit 3"))
    assert (ran.code, ran.number("exit"), ran.number("signal")) == (0, 3, 0)
    assert (ran.data("out"), ran.data("err")) == (b"out\n", b"err\n")


async def test_exec_has_the_sandbox_s_variables_and_its_own(driver: Driver) -> None:
    _, ran = await driver.session(
        op("create", template="base", env=["GREETING=hello", "X=1"]),
        op("exec", sh="echo $GREETING $X", env=["X=2"]),
    )
    assert ran.data("out") == b"hello 2\n"


async def test_exec_in_a_directory(driver: Driver) -> None:
    _, ran = await driver.sandbox(
        op("mkdir", path="/workspace/there"), op("exec", sh="pwd", cwd="/workspace/there")
    )
    assert ran.data("out").endswith(b"/there\n")


async def test_exec_reads_input_up_to_64_kib(driver: Driver) -> None:
    [ran] = await driver.sandbox(op("exec", sh="wc -c", fill=65536))
    assert ran.data("out").strip() == b"65536"


async def test_exec_returns_heads_and_true_totals(driver: Driver) -> None:
    [ran] = await driver.sandbox(
        op("exec", sh="head -c 100000 /dev/zero; head -c 50000 /dev/zero >&2")
    )
    assert (len(ran.data("out")), ran.number("out_total")) == (32768, 100000)
    assert (len(ran.data("err")), ran.number("err_total")) == (16384, 50000)


async def test_exec_timeout_is_a_result(driver: Driver) -> None:
    [ran] = await driver.sandbox(op("exec", sh="sleep 1000", timeout=50))
    assert (ran.code, ran.number("timed_out"), ran.number("exit")) == (0, 1, 137)
    assert ran.number("signal") == 9


async def test_exec_output_cap_is_a_result(driver: Driver) -> None:
    [ran] = await driver.sandbox(op("exec", sh="head -c 2000 /dev/zero", max=1000))
    assert (ran.code, ran.number("truncated")) == (0, 1)


async def test_exec_that_dies_of_a_signal(driver: Driver) -> None:
    [ran] = await driver.sandbox(op("exec", sh="kill -TERM $$"))
    assert (ran.number("exit"), ran.number("signal")) == (143, 15)


@pytest.mark.parametrize("size", [0, 1, 49151, 49152, 49153, 98304, 1 << 20, 4 << 20])
async def test_files_of_any_size_come_back_whole(
    driver: Driver, daemon: FrameDaemon, size: int
) -> None:
    wrote, read = await driver.sandbox(
        op("write", path="/workspace/f", fill=size), op("read", path="/workspace/f")
    )
    assert (wrote.code, read.code, read.number("len")) == (0, 0, size)
    assert read.data("data") == pattern(size)
    writes = [m.guest.write_file for m in daemon.seen if m.guest.HasField("write_file")]
    assert len(writes) == max(1, -(-size // 49152))
    assert [w.append for w in writes] == [False] + [True] * (len(writes) - 1)


async def test_write_replaces_or_appends(driver: Driver) -> None:
    *_, read = await driver.sandbox(
        op("write", path="/workspace/f", data="a longer text"),
        op("write", path="/workspace/f", data="short"),
        op("write", path="/workspace/f", data=" and more", flags=2),
        op("read", path="/workspace/f"),
    )
    assert read.data("data") == b"short and more"


async def test_a_large_append_appends_every_piece(driver: Driver, daemon: FrameDaemon) -> None:
    *_, read = await driver.sandbox(
        op("write", path="/workspace/f", data="head"),
        op("write", path="/workspace/f", fill=100000, flags=2),
        op("read", path="/workspace/f"),
    )
    assert read.data("data") == b"head" + pattern(100000)


async def test_a_large_exclusive_write_is_exclusive_once(driver: Driver) -> None:
    wrote, read, again = await driver.sandbox(
        op("write", path="/workspace/a/b/f", fill=100000, flags=1 | 4, mode=0o600),
        op("read", path="/workspace/a/b/f"),
        op("write", path="/workspace/a/b/f", fill=100000, flags=1 | 4),
    )
    assert (wrote.code, read.code, again.code) == (0, 0, -12)
    assert read.data("data") == pattern(100000)


async def test_stat(driver: Driver, daemon: FrameDaemon) -> None:
    _, seen, folder = await driver.sandbox(
        op("write", path="/workspace/f", data="12345", mode=0o640),
        op("stat", path="/workspace/f"),
        op("stat", path="/workspace"),
    )
    assert (seen.fields["type"], seen.fields["size"], seen.fields["mode"]) == ("1", "5", "640")
    assert seen.number("mtime") > 1_500_000_000
    assert folder.fields["type"] == "2"


async def test_list_names_kinds_and_sizes(driver: Driver, daemon: FrameDaemon) -> None:
    *_, listed = await driver.sandbox(
        op("exec", sh="ln -s f link; mkfifo pipe; printf 12345 > f; mkdir d"),
        op("list", path="/workspace"),
    )
    assert (listed.code, listed.number("count"), listed.number("truncated")) == (0, 4, 0)
    assert [(name, kind) for name, kind, *_ in listed.entries] == [
        ("d", "2"),
        ("f", "1"),
        ("link", "3"),
        ("pipe", "4"),
    ]
    assert listed.entries[1][2] == "5"


async def test_list_of_an_empty_directory(driver: Driver) -> None:
    [listed] = await driver.sandbox(op("list", path="/workspace"))
    assert (listed.code, listed.number("count")) == (0, 0)


async def test_list_of_more_than_fits(driver: Driver) -> None:
    _, listed = await driver.sandbox(
        op("exec", sh="for i in $(seq 1000); do : > $i-" + "n" * 200 + "; done"),
        op("list", path="/workspace"),
    )
    assert listed.number("truncated") == 1
    assert 100 < listed.number("count") == len(listed.entries) < 1000


async def test_list_of_a_name_that_is_not_utf8(driver: Driver, daemon: FrameDaemon) -> None:
    long = os.fsdecode(b"\xff" * 255)
    _, listed = await driver.sandbox(
        op("exec", sh=r": > $(printf '\377%.0s' $(seq 255))"), op("list", path="/workspace")
    )
    assert listed.entries[0][0] == "�" * len(long)


async def test_mkdir_and_remove(driver: Driver) -> None:
    made, seen, *removed, gone = await driver.sandbox(
        op("mkdir", path="/workspace/a/b", mode=0o700, parents=1),
        op("stat", path="/workspace/a/b"),
        op("remove", path="/workspace/a"),
        op("remove", path="/workspace/a/b"),
        op("write", path="/workspace/a/f", data="x"),
        op("remove", path="/workspace/a", recursive=1),
        op("stat", path="/workspace/a"),
    )
    assert (made.code, seen.fields["mode"]) == (0, "700")
    assert [line.code for line in removed] == [-14, 0, 0, 0]
    assert gone.code == -11


async def test_init_again_is_the_same_session(driver: Driver, daemon: FrameDaemon) -> None:
    again, elsewhere, seen = await driver.sandbox(
        op("init", socket=daemon.path), op("init", socket="/nowhere"), op("inspect")
    )
    assert (again.code, elsewhere.code, seen.code) == (0, -2, 0)
    assert len(daemon.connections) == 1
