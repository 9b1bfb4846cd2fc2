"""`make bench`: measure, print the table, keep it under `results/` and in the README."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime

import uvloop

from tests.bench import clones, control_plane, doors, node, rest, states, tiers
from tests.bench.c_inspect import figures as c_inspect
from tests.bench.measure import Row, host_facts, table
from tests.support.engine import ROOT, build_template

MARKS = re.compile(r"(<!-- bench:begin -->\n).*?(<!-- bench:end -->)", re.DOTALL)


def main() -> None:
    """Measure everything; `--no-readme` leaves the README as it is."""
    build_template(
        "base",
        "debian:bookworm",
        include=["git", "python3"],
        memory_mib=256,
        vcpus=1,
        disk_mib=1024,
    )
    rows, channel_bytes_s = uvloop.run(_clones())
    rows += doors.rows()
    rows += c_inspect.rows()
    rows += control_plane.rows()
    rows += node.rows(channel_bytes_s)
    rows += rest.rows()
    text = f"{host_facts()}\n\n{table(rows)}\n\n{tiers.section()}\n"
    print(text)
    results = ROOT / "results" / f"{datetime.now(UTC):%Y-%m-%d-%H%M}.md"
    results.parent.mkdir(exist_ok=True)
    results.write_text(text)
    if "--no-readme" not in sys.argv:
        readme = ROOT / "README.md"
        readme.write_text(MARKS.sub(lambda m: f"{m[1]}{text}{m[2]}", readme.read_text()))


async def _clones() -> tuple[list[Row], float]:
    async with clones.bench() as parts:
        rows = [
            *await clones.clone_rows(parts),
            *await clones.exec_rows(parts),
            await clones.burst_row(parts),
            *await states.rows(parts),
        ]
        return rows, await clones.channel_rate(parts)


if __name__ == "__main__":
    main()
