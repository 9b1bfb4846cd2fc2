"""`make test`: the whole suite in two lanes side by side, one of them with nearly every VM.

So two cores have work, and there are not more VMs at once than the machine bears: the second
lane has only those marked `beside`, which need two or three.  The first lane is shown as it
runs; what the other one said follows it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from tests.support.engine import LANES, cgroups
from tests.support.wait import until

ROOT = Path(__file__).parents[1]
LOG = ROOT / ".cache" / "lane.log"
NOTHING_TO_RUN = 5
"""What pytest ends with when its options leave no test; as good as 0 in one lane of two."""


def main(options: list[str]) -> int:
    """Run both lanes with pytest's `options`; 0 when both passed, else the first failure."""
    LOG.parent.mkdir(exist_ok=True)
    before = cgroups()
    with LOG.open("w+") as log:
        print("lanes: the rest runs meanwhile; what it says is in .cache/lane.log", flush=True)
        beside = _lane("not vm or beside", [*options, "-p", "no:cacheprovider"], log)
        shown = _lane("vm and not beside", options)
        statuses = [_ended(shown), _ended(beside)]
        log.seek(0)
        print("lanes: the rest:", log.read(), sep="\n", flush=True)
    try:
        until(lambda: not cgroups() - before)
    except AssertionError:
        print("lanes: control groups were left behind:", *sorted(cgroups() - before))
        return 1
    if statuses == [NOTHING_TO_RUN] * 2:
        return NOTHING_TO_RUN
    return next((status for status in statuses if status not in (0, NOTHING_TO_RUN)), 0)


def _lane(marks: str, options: list[str], log: IO[str] | None = None) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "pytest", "-m", marks, "tests", *options]
    return subprocess.Popen(words, cwd=ROOT, stdout=log, stderr=log, env=os.environ | {LANES: "2"})


def _ended(lane: subprocess.Popen[bytes]) -> int:
    """Its status; a Ctrl-C is the lanes' too, and they are given the time to clean up."""
    while True:
        with suppress(KeyboardInterrupt):
            return lane.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
