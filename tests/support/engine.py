"""A real engine for tests: `sandbox-engined` as its own process on a folder of its own.

Templates are baked once and kept by content in the checkout's cache; every engine gets
them by links, and everything else (VMs, journal, sockets) in a temporary folder.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
from sandbox_engine.vmm.cgroup import PARENT, Cgroups

from tests.support.wait import until

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("SANDBOX_TEST_CACHE", ROOT / ".cache" / "test"))
SHARED = ("templates", "store", "cache", "work")
"""Folders of the data folder that hold templates and what they are made of."""
OURS = f"sbx-{os.getpid()}-"
"""How the folders of this run's engines begin."""
START_TIMEOUT_S = 60.0
LANE = SimpleNamespace(may_start=True)
"""Whether what runs is marked `vm`; always outside a test run."""
LANES = "SANDBOX_TEST_LANES"
"""Set where another lane of the suite runs beside, whose VMs are not this one's to judge."""


class Engine:
    """One data folder and, while `start()`ed, the daemon on it."""

    def __init__(self, data: Path, **config: Any) -> None:
        self.data = data
        self.engine_socket = data / "engine.sock"
        self.grpc_socket = data / "grpc.sock"
        self.log = data / "engine.log"
        self.config: dict[str, Any] = {
            "data_dir": str(data),
            "engine_socket": str(self.engine_socket),
            "grpc_socket": str(self.grpc_socket),
            "vmm_uid_base": 710_000,
            **config,
        }
        self.module = "sandbox_engine"
        """What is run as the daemon."""
        self.prefix: list[str] = []
        """Words before it, as for another network namespace."""
        self.env: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The daemon's."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the daemon and wait until it says that it serves."""
        assert LANE.may_start, "a test that starts an engine is marked `vm`"
        config = self.data / "config.json"
        config.write_bytes(msgspec.json.encode(self.config))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready, self.log.open("ab") as log:
            notify = self.data / "notify.sock"
            notify.unlink(missing_ok=True)
            ready.bind(str(notify))
            self._process = subprocess.Popen(
                [*self.prefix, sys.executable, "-m", self.module, "--config", str(config)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"NOTIFY_SOCKET": str(notify)} | self.env,
            )
            pidfd = os.pidfd_open(self._process.pid)
            told, _, _ = select.select([ready.fileno(), pidfd], [], [], START_TIMEOUT_S)
            os.close(pidfd)
            if ready.fileno() not in told:
                self.kill()
                raise AssertionError(f"the engine did not start:\n{self.tail()}")
            assert ready.recv(64) == b"READY=1"

    def stop(self) -> None:
        """SIGTERM, and wait for an orderly end."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            status = self._process.wait(timeout=60)
            self._process = None
            assert status == 0, f"the engine ended with {status}:\n{self.tail()}"

    def kill(self) -> None:
        """SIGKILL: nothing of it is told."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def died(self) -> int:
        """Wait for a daemon that ends by itself; its status, as a negative signal number."""
        assert self._process is not None
        status = self._process.wait(timeout=60)
        self._process = None
        return status

    def restart(self) -> None:
        """Kill, and start again on the same folder."""
        self.kill()
        self.start()

    def tail(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-4000:]

    def vmm_pids(self) -> list[int]:
        """Processes whose working folder is one of this engine's VMs."""
        return processes_below(self.data / "vms")

    def vm_folders(self) -> list[str]:
        """Names below its `vms` folder."""
        folder = self.data / "vms"
        return sorted(os.listdir(folder)) if folder.exists() else []


def end_processes_below(folder: Path) -> None:
    """SIGKILL, and wait until they are gone."""
    for pid in processes_below(folder):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not processes_below(folder))


def remove_groups(names: list[str]) -> None:
    """Control groups of VMMs whose engine is not there to do it; a dying one is in its group."""

    def removed() -> bool:
        for name in names:
            Cgroups().remove(name)
        return not cgroups() & set(names)

    until(removed)


def cgroups() -> set[str]:
    """Groups of VMMs on this host, whoever made them."""
    found: set[str] = set()
    for parent in (Path("/sys/fs/cgroup") / PARENT, *Path("/sys/fs/cgroup").glob(f"*/{PARENT}")):
        if parent.is_dir():
            found |= {group.name for group in parent.iterdir() if group.is_dir()}
    return found


def left_behind() -> list[str]:
    """Folders of this run's engines, and processes in them, that are still there."""
    folders = [str(path) for path in Path("/tmp").glob(OURS + "*")]
    inside = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                cwd = str((entry / "cwd").readlink())
                if cwd.startswith(f"/tmp/{OURS}"):
                    inside.append(f"process {entry.name} in {cwd}")
    return folders + inside


def processes_below(folder: Path) -> list[int]:
    """Processes whose working folder lies below `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cwd").readlink().is_relative_to(folder):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@contextmanager
def engine(
    *, start: bool = True, share: bool = True, prefix: Sequence[str] = (), **config: Any
) -> Iterator[Engine]:
    """An engine on a new folder; stopped, and everything of it gone, at the end."""
    data = Path(tempfile.mkdtemp(prefix=OURS, dir="/tmp"))
    data.chmod(0o711)
    if share:
        for name in SHARED:
            (CACHE / name).mkdir(parents=True, exist_ok=True)
            (data / name).symlink_to(CACHE / name)
    made = Engine(data, **config)
    made.prefix = list(prefix)
    try:
        if start:
            made.start()
        yield made
        made.stop()
    finally:
        made.kill()
        end_processes_below(data)
        remove_groups(made.vm_folders())
        shutil.rmtree(data, ignore_errors=True)


def build_template(name: str, source: str, **options: Any) -> None:
    """Bake a template into the shared cache; instant when it is there.

    Another test run that is baking the same one is waited for.
    """
    assert LANE.may_start, "a test that bakes a template is marked `vm`"
    request = msgspec.json.encode({"name": name, "source": source, **options}).decode()
    words = [
        sys.executable, "-m", "sandbox_engine.builder",
        "--data-dir", str(CACHE), "--request", request,
    ]  # fmt: skip

    def built() -> bool:
        done = subprocess.run(
            words, stdin=subprocess.PIPE, capture_output=True, text=True, check=False
        )
        if done.returncode and "TEMPLATE_BUSY" not in done.stdout:
            raise AssertionError(f"no template {name}:\n{done.stdout}{done.stderr}")
        return not done.returncode

    until(built, timeout_s=600)
