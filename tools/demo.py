"""`make demo`: from nothing to a command in a virtual machine, as a newcomer would type it.

The daemon runs on a folder of its own, `.cache/demo`, where the template stays: the second
demo is quick.  Nothing else remains.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = ROOT / ".cache" / "demo"
BIN = Path(sys.executable).parent
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
VMM_UID_BASE = 720_000
"""Away from an engine that is installed on this host, and from that of the tests."""


def main() -> int:
    """Build, start, run, stop; the exit code of the first step that failed."""
    if os.geteuid() != 0:
        print("demo: the engine runs as root; try `sudo make demo`", file=sys.stderr)
        return 1
    DATA.mkdir(parents=True, exist_ok=True)
    # Sockets have short names only, and a checkout may lie deep.
    with tempfile.TemporaryDirectory(prefix="sandbox-demo-") as folder, daemon(Path(folder)) as env:
        for words in (
            ["sandbox-cli", "template", "build", "base", "--from", "debian:bookworm"],
            [
                "sandbox-cli",
                "run",
                "--template",
                "base",
                "--exec",
                'echo "hello from $(uname -sr)"',
            ],
        ):
            print(f"\n$ {shlex.join(words)}", flush=True)
            start = time.monotonic()
            status = subprocess.run([BIN / words[0], *words[1:]], env=env, check=False).returncode
            if status:
                return status
            print(f"({time.monotonic() - start:.1f} s)")
    print(f"\nThe host runs {platform.system()} {platform.release()}.")
    return 0


@contextmanager
def daemon(folder: Path) -> Iterator[dict[str, str]]:
    """A running daemon with its sockets in `folder`; yields the environment of its clients."""
    frames, grpc = folder / "engine.sock", folder / "grpc.sock"
    config, log = folder / "config.json", DATA / "engine.log"
    settings = {
        "data_dir": str(DATA),
        "engine_socket": str(frames),
        "grpc_socket": str(grpc),
        "vmm_uid_base": VMM_UID_BASE,
    }
    config.write_text(json.dumps(settings))
    print("$ sandbox-engined --config config.json &", flush=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready, log.open("wb") as out:
        ready.bind(str(folder / "notify.sock"))
        process = subprocess.Popen(
            [BIN / "sandbox-engined", "--config", config],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=os.environ | {"NOTIFY_SOCKET": str(folder / "notify.sock")},
        )
        try:
            wait_until_ready(ready, process, log)
            yield os.environ | {"SANDBOX_SOCKET": str(frames), "SANDBOX_GRPC_SOCKET": str(grpc)}
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_TIMEOUT_S)


def wait_until_ready(ready: socket.socket, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once the daemon says that it serves; exit with its last words if it does not."""
    ready.settimeout(0.2)
    limit = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < limit:
        try:
            if ready.recv(64) == b"READY=1":
                return
        except TimeoutError:
            if process.poll() is not None:
                break
    sys.exit(f"demo: the daemon did not start:\n{log.read_text(errors='replace')[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
