"""Run the agent beside other processes on a host, for tests: `python -m sandbox_guest`.

It serves the channel on an inherited descriptor, with its own places, and does none of
what only a PID 1 may do to a machine.
"""

from __future__ import annotations

import argparse
import asyncio

from sandbox_guest import linux
from sandbox_guest.identity import Identity
from sandbox_guest.main import serve
from sandbox_guest.places import Places


def main() -> None:
    """Parse places and serve."""
    parser = argparse.ArgumentParser(prog="sandbox_guest")
    parser.add_argument("--fd", type=int, required=True)
    for place in ("library", "workspace", "cgroups", "state", "etc", "silkd", "metadata"):
        parser.add_argument(f"--{place}", required=True)
    options = vars(parser.parse_args())
    fd = options.pop("fd")
    places = Places(**options)
    linux.stand_in_for_init()
    Identity(places).prepare()
    asyncio.run(serve(places, fd))


main()
