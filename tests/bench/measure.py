"""How a figure is taken: rounds of all contenders in turn, medians, ratio to the floor."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from msgspec import Struct


class Row(Struct, frozen=True, kw_only=True):
    """One line of the table."""

    what: str
    value: str
    floor: str = ""
    ratio: float | None = None
    limit: float | None = None
    """The ratio asked for; None where a figure is only reported."""

    @property
    def verdict(self) -> str:
        """`reached`, `not reached`, or empty."""
        if self.ratio is None or self.limit is None:
            return ""
        return "reached" if self.ratio <= self.limit else "not reached"


def timed(what: str, value_s: float, floor: str, floor_s: float, limit: float | None) -> Row:
    """A row of two times."""
    return Row(
        what=what,
        value=show(value_s),
        floor=f"{floor}: {show(floor_s)}",
        ratio=value_s / floor_s,
        limit=limit,
    )


def show(seconds: float) -> str:
    """Seconds for people."""
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


async def in_turn(rounds: int, *contenders: Callable[[], Awaitable[float]]) -> list[float]:
    """Each contender's median over `rounds`, taken A B C A B C, after one warm-up."""
    results: list[list[float]] = [[] for _ in contenders]
    for number in range(rounds + 1):
        for index, contender in enumerate(contenders):
            value = await contender()
            if number:
                results[index].append(value)
    return [statistics.median(values) for values in results]


def host_facts() -> str:
    """What a figure depends on, in a line."""
    model = "unknown CPU"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    qemu = subprocess.check_output(["qemu-system-x86_64", "--version"], text=True).split("\n")[0]
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} x {model}, {memory} GiB, "
        f"Linux {platform.release()}, {qemu}, Python {platform.python_version()}, "
        "software emulation (TCG)"
    )


def table(rows: list[Row]) -> str:
    """The rows in Markdown."""
    lines = ["| what | measured | floor, same run | ratio | asked | |", "|---|---|---|---|---|---|"]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        limit = "" if row.limit is None else f"at most {row.limit:g}"
        lines.append(
            f"| {row.what} | {row.value} | {row.floor} | {ratio} | {limit} | {row.verdict} |"
        )
    return "\n".join(lines)
