"""Engine exec against a real agent process."""

from __future__ import annotations

from tests.guest.host import Host


async def test_output_and_code(host: Host) -> None:
    end, out, err = await host.run("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (end["code"], end["signal"], out, err) == (7, 0, b"out\n", b"err\n")
