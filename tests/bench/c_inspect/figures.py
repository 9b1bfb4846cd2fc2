"""`sandbox_inspect` from C against a bare echo on the same loop, and calls a second."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.measure import Row, timed
from tests.support.engine import ROOT, engine

SOURCE = Path(__file__).parent / "round_trips.c"
MOST = 3.0


def rows(template: str = "base") -> list[Row]:
    """The figures as lines of the table."""
    found = measured(template)
    inspect_s, echo_s = found["inspect_us"] / 1e6, found["echo_us"] / 1e6
    one, sixteen = found["calls_a_second_1_thread"], found["calls_a_second_16_threads"]
    return [
        timed("`sandbox_inspect` from C", inspect_s, "40-byte echo, same loop", echo_s, MOST),
        Row(what="`sandbox_inspect` calls a second, 1 thread", value=f"{one:.0f}"),
        Row(what="`sandbox_inspect` calls a second, 16 threads", value=f"{sixteen:.0f}"),
    ]


def measured(template: str = "base") -> dict[str, Any]:
    """What `round_trips.c` prints, on a fresh engine."""
    with (
        tempfile.TemporaryDirectory(prefix="echo-") as folder,
        echo_server(Path(folder) / "echo.sock") as echo,
        engine(pools=[{"template": template, "warm": 1, "waiting": 0}]) as made,
    ):
        program = compiled(Path(folder))
        argv = list(map(str, [program, echo.path, made.engine_socket, template]))
        with servers_apart_from_the_client(echo.pid, made.pid):
            done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@contextmanager
def servers_apart_from_the_client(*servers: int) -> Iterator[None]:
    """Both servers' loops on one CPU, and what is started meanwhile on the others.

    Left to itself the scheduler puts the bare echo on its client's CPU and the daemon, which
    has more to do, on another: then one figure has the cost of waking a CPU and the other has
    not, and their ratio says how the host sleeps.
    """
    every = os.sched_getaffinity(0)
    first = min(every)
    if len(every) < 2:
        yield
        return
    for pid in servers:
        os.sched_setaffinity(pid, {first})
    os.sched_setaffinity(0, every - {first})
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


class Echo(NamedTuple):
    """The floor: where it listens, and its process."""

    path: Path
    pid: int


@contextmanager
def echo_server(path: Path) -> Iterator[Echo]:
    """The floor, serving on `path`."""
    command = [sys.executable, "-m", "tests.bench.c_inspect.echo_server", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield Echo(path, process.pid)
        finally:
            process.kill()


def compiled(folder: Path) -> Path:
    """The program, with the library as it is shipped."""
    library = ROOT / "build/sdk/c"
    subprocess.run(["make", "-s", "-j2", "-C", ROOT / "sdk/c", f"BUILD={library}"], check=True)
    program = folder / "round_trips"
    flags = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-pthread"]
    parts = map(str, (SOURCE, library / "libsandbox.a", "-o", program))
    subprocess.run(["gcc", *flags, f"-I{ROOT / 'sdk/c/include'}", *parts], check=True)
    return program
