"""libsandbox and libsandbox++ on a real daemon and real virtual machines."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sdk_c.building import ROOT, c_programs
from tests.sdk_c.driving import Driver, op, run
from tests.sdk_c.installing import Installed
from tests.sdk_c.live import full, pooled
from tests.support.engine import CACHE, Engine, build_template, engine
from tests.support.wait import until

pytestmark = pytest.mark.vm
WAIT_MS = 120_000
NEW = op("create", template="busybox", wait=WAIT_MS)


@pytest.fixture(scope="module")
def live(busybox_template: str) -> Iterator[Engine]:
    """A running engine with one warm VM of the small template."""
    with pooled(busybox_template) as made:
        yield made


@pytest.fixture
def box(live: Engine) -> Driver:
    """The driver, under ASan, on it."""
    return Driver(live.engine_socket, "asan")


async def test_every_function(box: Driver) -> None:
    lines = await box.session(
        op("create", template="busybox", env=["GREETING=hello"], wait=WAIT_MS),
        op("inspect"),
        op("exec", sh="echo $GREETING; echo err >&2; cat; exit 3", data="input"),
        op("mkdir", path="/workspace/d", mode=0o700),
        op("write", path="/workspace/d/f", fill=200_000, mode=0o640),
        op("read", path="/workspace/d/f"),
        op("stat", path="/workspace/d/f"),
        op("list", path="/workspace/d"),
        op("remove", path="/workspace/d", recursive=1),
        op("destroy"),
    )
    created, seen, ran, _, _, read, found, listed, *_ = lines
    assert {line.code for line in lines} == {0}
    assert seen.number("id") == created.number("id")
    assert seen.number("running") == 1
    assert seen.number("rss") > 5
    assert seen.number("faults") > 0
    assert ran.number("exit") == 3
    assert (ran.data("out"), ran.data("err")) == (b"hello\ninput", b"err\n")
    assert read.data("data") == bytes(i % 251 for i in range(200_000))
    assert (found.fields["size"], found.fields["mode"]) == ("200000", "640")
    assert [entry[:3] for entry in listed.entries] == [["f", "1", "200000"]]


async def test_pause_and_resume(box: Driver) -> None:
    _, paused, stopped, resumed, on = await box.session(
        NEW, op("pause"), op("inspect"), op("resume"), op("inspect")
    )
    assert (paused.code, resumed.code) == (0, 0)
    assert (stopped.number("running"), stopped.number("uptime")) == (0, 0)
    assert on.number("running") == 1


async def test_exec_results(box: Driver) -> None:
    _, big, killed, late, capped = await box.session(
        NEW,
        op("exec", sh="head -c 100000 /dev/zero; head -c 50000 /dev/zero >&2"),
        op("exec", sh="kill -TERM $$"),
        op("exec", sh="sleep 1000", timeout=200),
        op("exec", sh="head -c 200000 /dev/zero", max=100_000),
    )
    assert (len(big.data("out")), big.number("out_total")) == (32768, 100_000)
    assert (len(big.data("err")), big.number("err_total")) == (16384, 50_000)
    assert (killed.number("exit"), killed.number("signal")) == (143, 15)
    assert (late.code, late.number("timed_out"), late.number("signal")) == (0, 1, 9)
    assert (capped.code, capped.number("truncated")) == (0, 1)


async def test_files_of_4_mib_come_back_whole(box: Driver) -> None:
    _, wrote, read, over, big, refused = await box.session(
        NEW,
        op("write", path="/workspace/f", fill=4 << 20),
        op("read", path="/workspace/f"),
        op("write", path="/workspace/f", fill=(4 << 20) + 1),
        op("exec", sh="head -c 4194305 /dev/zero > big"),
        op("read", path="/workspace/big"),
    )
    assert (wrote.code, read.code, read.number("len")) == (0, 0, 4 << 20)
    assert read.data("data") == bytes(i % 251 for i in range(4 << 20))
    assert (over.code, big.code, refused.code) == (-13, 0, -13)


async def test_codes_of_specs_and_handles(box: Driver) -> None:
    lines = await box.session(
        op("create", template="absent"),
        op("create", template="busybox", memory=3),
        op("create", template="busybox", vcpus=7),
        op("create", template="busybox", key='a"b'),
        op("create", template="busybox", allow=["a.example"], deny=1),
        op("create", template="busybox", allow=["not.covered.example"]),
        op("renew", key='a"b', extra=1),
        NEW,
        op("destroy"),
        op("inspect", h=0),
        op("exec", h=0, sh="true"),
    )
    assert [line.code for line in lines] == [-2] * 7 + [0, 0, -4, -4]


async def test_codes_of_paths(box: Driver) -> None:
    lines = await box.session(
        NEW,
        op("exec", sh="ln -s /etc out; : > f; mkdir d"),
        op("read", path="relative"),
        op("read", path="/workspace/../etc/passwd"),
        op("read", path="/workspace/out/passwd"),
        op("write", path="/etc/new", data="x"),
        op("remove", path="/workspace"),
        op("read", path="/workspace/absent"),
        op("stat", path="/workspace/absent"),
        op("list", path="/workspace/absent"),
        op("write", path="/workspace/absent/f", data="x"),
        op("write", path="/workspace/f", data="x", flags=1),
        op("mkdir", path="/workspace/d"),
        op("write", path="/workspace/d", data="x"),
        op("exec", arg=["/absent/program"]),
        op("exec", sh="cat", fill=65537),
    )
    assert [line.code for line in lines[2:]] == [
        *(-10, -10, -10, -10, -10, -11, -11, -11, -11, -12, -12, -14, -11, -13)
    ]


async def test_a_paused_machine_is_unavailable_until_it_resumes(box: Driver) -> None:
    _, _, ran, seen, _, again = await box.session(
        NEW, op("pause"), op("exec", sh="true"), op("inspect"), op("resume"), op("exec", sh="true")
    )
    assert (ran.code, seen.code, again.code) == (-9, 0, 0)


async def test_a_machine_that_does_not_answer_is_a_timeout(live: Engine) -> None:
    """Its processor stands still, so neither the command nor its own timeout goes on."""
    process = await asyncio.create_subprocess_exec(
        c_programs("plain") / "driver",
        *op("init", socket=live.engine_socket).argv,
        *NEW.argv,
        *op("exec", sh="echo here").argv,
        *op("exec", sh="sleep 1000", timeout=100).argv,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    while not (line := await process.stdout.readline()).startswith(b"exec"):
        assert line
    for pid in live.vmm_pids():
        os.kill(pid, signal.SIGSTOP)
    try:
        last = await process.stdout.readline()
    finally:
        for pid in live.vmm_pids():
            os.kill(pid, signal.SIGCONT)
    await process.wait()
    assert last.split()[:2] == [b"exec", b"-15"]
    until(lambda: full(live, 1))


async def test_an_empty_pool_fails_fast_and_a_full_node_too(busybox_template: str) -> None:
    with pooled(busybox_template, max_sandboxes=1) as made:
        first, second = await Driver(made.engine_socket, "plain").session(
            op("create", template="busybox", wait=WAIT_MS),
            op("create", template="busybox", wait=100),
        )
    assert (first.code, second.code) == (0, -1)


async def test_a_user_who_is_not_on_the_list(busybox_template: str) -> None:
    with pooled(busybox_template, warm=0, allowed_uids=[65534]) as made:
        opened, *lines = await Driver(made.engine_socket, "plain").raw(
            op("init", socket=made.engine_socket),
            op("create", template="busybox"),
            op("renew", key="k", extra=1),
        )
    assert (opened.code, [line.code for line in lines]) == (0, [-4, -4])


async def test_a_tampered_template_is_internal(busybox_template: str) -> None:
    with engine(start=False, share=False) as made:
        for name in ("store", "cache", "work"):
            (made.data / name).symlink_to(CACHE / name)
        templates = made.data / "templates"
        templates.mkdir()
        source = CACHE / "templates" / busybox_template
        await run("cp", "-a", "--sparse=always", source, templates)
        manifest = templates / busybox_template / "current/manifest.bin"
        manifest.write_bytes(manifest.read_bytes()[:-1] + b"!")
        made.start()
        [created] = await Driver(made.engine_socket, "plain").session(
            op("create", template=busybox_template, wait=WAIT_MS)
        )
    assert created.code == -5


async def test_cleanup_and_disconnect_leave_no_machine(live: Engine, box: Driver) -> None:
    await box.session(NEW, NEW)
    await box.raw(op("init", socket=live.engine_socket), NEW)  # and exit
    until(lambda: full(live, 1) and len(live.vm_folders()) == 1)


@pytest.mark.timeout(600)
async def test_64_threads_on_one_connection(live: Engine) -> None:
    """Each creates, runs a command and destroys; the pool makes them queue."""
    program = c_programs("plain") / "threads"
    assert await run(program, live.engine_socket, "64", "1", "busybox") == "ok\n"
    until(lambda: full(live, 1) and len(live.vm_folders()) == 1)


@pytest.mark.parametrize("flavour", ["plain", "asan", "tsan"])
async def test_a_daemon_killed_in_a_call_fails_every_waiter(
    busybox_template: str, flavour: str
) -> None:
    with pooled(busybox_template) as made:
        await killed_in(made, flavour, "inspect", 64)


async def test_a_daemon_killed_while_16_commands_run(busybox_template: str) -> None:
    """The seventeenth operation is refused as busy: only then is the daemon killed."""
    with pooled(busybox_template) as made:
        await killed_in(made, "plain", "exec", 16)


async def killed_in(made: Engine, flavour: str, what: str, threads: int) -> None:
    """Kill the daemon under `waiters.c`, which checks what its threads were told."""
    process = await asyncio.create_subprocess_exec(
        c_programs(flavour) / "waiters",
        *(made.engine_socket, "busybox", what, str(threads)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"waiting\n"
    made.kill()
    assert await process.stdout.readline() == f"{threads}\n".encode()
    assert await process.wait() == 0


# --- what the documents show ---------------------------------------------------------------

EXAMPLES = sorted((ROOT / "examples").glob("c*/*.c*"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: f"{p.parent.name}/{p.name}")
async def test_an_example_on_a_real_machine(
    live: Engine, installed: Installed, tmp_path: Path, example: Path
) -> None:
    installed.run("make", "-s", "-C", example.parent, f"OUT={tmp_path}", tmp_path / example.stem)
    argv = (tmp_path / example.stem, live.engine_socket, "busybox")
    assert await run(*argv, env=installed.environment) == example.with_suffix(".txt").read_text()


SEED_C = """\
#include <libsandbox.h>

sandbox_init("/var/run/sandbox-engine/engine.sock");
const char* env[] = {"GREETING=hello", NULL};
sandbox_spec_t spec = { .memory_mib = 512, .vcpu_count = 1,
                        .template_name = "python-agent",
                        .env_vars = env, .pool_wait_ms = 500 };
sandbox_handle_t* h = NULL;
if (sandbox_create(&spec, &h) != SANDBOX_OK) { /* handle error */ }
/* ... */
sandbox_destroy(h);
sandbox_cleanup();
"""
SHOW_C = """\
const char* script[] = {"echo $GREETING", NULL};
sandbox_exec_spec_t command = {.argv = script, .flags = SANDBOX_EXEC_SHELL};
sandbox_exec_result_t result;
if (sandbox_exec(h, &command, &result) == SANDBOX_OK) fputs((char*)result.out, stdout);
sandbox_exec_result_free(&result);
"""

SEED_CPP = """\
#include <libsandbox.hpp>

sandbox::Engine engine;
auto sb = engine.create(sandbox::Spec(512, "python-agent").vcpus(2).env("K", "V"));
sb->pause();
"""
SHOW_CPP = 'std::cout << sb->shell("echo $K").out;\n'


def page(name: str) -> tuple[str, str]:
    """The snippet of a tutorial and what it says that one prints."""
    text = (ROOT / "docs" / name).read_text().split("## In short")[1]
    snippet, printed = re.findall(r"```\w+\n(.*?)```", text, re.DOTALL)[:2]
    return snippet, printed


def program(snippet: str, include: str, dots: tuple[str, str]) -> str:
    """The snippet in a `main`, with something where the dots are."""
    head, body = snippet.split("\n\n", 1)
    body = body.replace(dots[0], dots[1])
    return f"{include}\n{head}\nint main(void)\n{{\n{body}return 0;\n}}\n"


async def test_the_c_example_as_it_is_written(
    busybox_tree: Path, installed: Installed, tmp_path: Path
) -> None:
    snippet, printed = page("libsandbox.md")
    assert snippet == SEED_C
    tree = f"dir:{busybox_tree}"
    build_template("python-agent", tree, memory_mib=512, vcpus=1, disk_mib=64)
    with pooled("python-agent") as made:
        text = program(snippet, "#include <stdio.h>", ("/* ... */\n", SHOW_C))
        source = tmp_path / "seed.c"
        source.write_text(
            text.replace("/var/run/sandbox-engine/engine.sock", str(made.engine_socket))
        )
        flags = ["-std=c99", "-Wall", "-Wextra", "-Wno-empty-body", "-Werror"]
        installed.run(
            "gcc", *flags, source, "-o", tmp_path / "seed", *installed.flags("libsandbox")
        )
        assert await run(tmp_path / "seed", env=installed.environment) == printed


async def test_the_cpp_example_as_it_is_written(
    busybox_tree: Path, installed: Installed, tmp_path: Path
) -> None:
    snippet, printed = page("libsandbox-cpp.md")
    assert snippet == SEED_CPP
    tree = f"dir:{busybox_tree}"
    build_template("python-agent-2", tree, memory_mib=512, vcpus=2, disk_mib=64)
    with pooled("python-agent-2") as made:
        text = program(snippet, "#include <iostream>", ("sb->pause", f"{SHOW_CPP}sb->pause"))
        text = text.replace("engine;", f'engine("{made.engine_socket}");')
        source = tmp_path / "seed.cpp"
        source.write_text(text.replace("python-agent", "python-agent-2"))
        flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror"]
        libs = installed.flags("libsandbox++")
        installed.run("g++", *flags, source, "-o", tmp_path / "seed", *libs)
        assert await run(tmp_path / "seed", env=installed.environment) == printed
