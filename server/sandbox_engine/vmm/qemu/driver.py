"""The QEMU driver: `ports.vmm.MachineDriver` on the `microvm` machine.

Both sockets of a machine (monitor, guest channel) are made and listened on here and
handed to QEMU as descriptors: they exist before the process does, so nobody polls for
them, and their paths stay for the next engine to adopt the machine by.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import subprocess
from pathlib import Path
from typing import Any

import structlog

from sandbox_engine.errors import VmmError
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.ports.vmm import MachineRef, MachineSpec, MachineStats, Platform
from sandbox_engine.vmm import pages, tsc
from sandbox_engine.vmm.cgroup import Cgroups
from sandbox_engine.vmm.process import Launched, Launcher, LaunchRequest, Process
from sandbox_engine.vmm.qemu import argv, disks
from sandbox_engine.vmm.qemu.disks import FDSET
from sandbox_engine.vmm.qemu.monitor import Monitor

MONITOR_SOCKET = "monitor.sock"
CHANNEL_SOCKET = "channel.sock"
LOG = "vmm.log"
STATE = "devices.state"
STARTUP_TIMEOUT_S = 20.0
"""From process start to its monitor's greeting; 50 ms is usual, a loaded host needs more."""
LOAD_TIMEOUT_S = 60.0
_log = structlog.get_logger(__name__)


class QemuMachine:
    """One QEMU process; see `ports.vmm.Machine`."""

    def __init__(self, ref: MachineRef, process: Process, cgroups: Cgroups) -> None:
        self.ref = ref
        self.exited = process.exited
        self.when_exited = process.when_exited
        self.channel_path = Path(ref.directory) / CHANNEL_SOCKET
        self._process, self._cgroups = process, cgroups
        self._state_fd: int | None = None
        self._monitor: Monitor | None = None
        self._migration: asyncio.Future[str] | None = None
        self._console = ""
        self._spent: list[int] = []
        """Sets of descriptors of disks that were frozen since the guest ran."""

    async def attach(self, state_fd: int | None = None) -> None:
        """Open the monitor session.

        `state_fd` is the descriptor, in QEMU, of the device state that `start()` will
        load; what can be prepared for that is done here, ahead of time.
        """
        path = Path(self.ref.directory) / MONITOR_SOCKET
        self._monitor = await Monitor.connect(path, self._event, STARTUP_TIMEOUT_S)
        self._state_fd = state_fd
        if state_fd is not None:
            await self._run(
                "migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}]
            )

    async def start(self) -> None:
        """See `ports.vmm.Machine`."""
        if self._state_fd is not None:
            done = self._expect_migration()
            await self._run("migrate-incoming", uri=f"fd:{self._state_fd}")
            await self._loaded(done)
        await self._run("cont")

    async def pause(self) -> None:
        """See `ports.vmm.Machine`."""
        await self._run("stop")

    async def resume(self) -> None:
        """See `ports.vmm.Machine`."""
        await self._run("cont")
        while self._spent:  # QEMU closes what is removed only while it runs
            await self._run("remove-fd", **_set(self._spent.pop()))

    async def save_state(self, fd: int) -> None:
        """See `ports.vmm.Machine`."""
        # Devices only, RAM left out: it is in the memory file, or is saved by its own means.
        # QEMU opens the file itself, in the one folder that is its own.
        path = Path(self.ref.directory) / STATE
        await self._run("xen-save-devices-state", filename=STATE, live=False)
        with contextlib.ExitStack() as stack:
            stack.callback(path.unlink, missing_ok=True)
            os.write(fd, path.read_bytes())

    async def save_memory(self, fd: int) -> int:
        """See `ports.vmm.Machine`."""
        where = await self._memory()
        return await asyncio.to_thread(pages.save, self.ref.pid, *where, fd)

    async def load_memory(self, fd: int) -> None:
        """See `ports.vmm.Machine`."""
        where = await self._memory()
        await asyncio.to_thread(pages.load, self.ref.pid, *where, fd)

    async def freeze_disk(self, disk: Path) -> None:
        """See `ports.vmm.Machine`."""
        under, file = await self._disk_node()
        over = f"{argv.ROOT_NODE}-{_freezes(under) + 1}"
        handed = await self._give(disk)
        try:
            await self._run("blockdev-add", **blockdev(over, handed))
            # Opens what is frozen anew, for reading only: that is how its lock is given up.
            await self._run("blockdev-snapshot", node=under, overlay=over)
        except VmmError:
            await self._run("remove-fd", **_set(handed))
            raise
        if file.startswith(FDSET):
            self._spent.append(int(file.removeprefix(FDSET)))

    async def attach_disk(self, serial: str, fd: int) -> None:
        """See `ports.vmm.Machine`."""
        await disks.attach(self._session, serial, fd)

    async def attached_disks(self) -> set[str]:
        """See `ports.vmm.Machine`."""
        return await disks.attached(self._session)

    async def detach_disk(self, serial: str) -> None:
        """See `ports.vmm.Machine`."""
        await disks.detach(self._session, serial)

    async def attach_link(self, fd: int) -> None:
        """See `ports.vmm.Machine`."""
        await self._run("getfd", handing=fd, fdname="tap")
        await self._run("netdev_add", type="tap", id="tap", fd="tap")
        await self._run("netdev_add", type="hubport", id="tap-port", hubid=argv.HUB, netdev="tap")

    async def _give(self, path: Path) -> int:
        """Hand a file over, to be written and later read; the number of its set in QEMU."""
        known: dict[str, Any] = {}
        for flags in (os.O_RDWR, os.O_RDONLY):
            try:
                fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW)
            except OSError as error:
                raise VmmError(f"cannot open {path}: {error.strerror}") from error
            try:
                known = _set((await self._run("add-fd", handing=fd, **known))["fdset-id"])
            finally:
                os.close(fd)
        return int(known["fdset-id"])

    async def _disk_node(self) -> tuple[str, str]:
        """The node that is written to now, and its file as QEMU calls it."""
        nodes = await self._run("query-named-block-nodes", flat=True)
        files: dict[str, str] = {node["node-name"]: node["file"] for node in nodes}
        name = max((name for name in files if _freezes(name) >= 0), key=_freezes)
        return name, files[name]

    async def _memory(self) -> tuple[int, int]:
        """Where in the process the guest's memory is, and its size."""
        question: dict[str, Any] = {"command-line": "gpa2hva 0"}
        said = await self._run("human-monitor-command", **question)
        found = re.search(r" is 0x([0-9a-f]+)", said)
        if found is None:
            raise VmmError(f"QEMU does not say where the guest's memory is: {said.strip()}")
        sizes = await self._run("query-memory-size-summary")
        return int(found.group(1), 16), sizes["base-memory"]

    async def kill(self) -> None:
        """See `ports.vmm.Machine`."""
        await self._process.kill()
        if self._monitor is not None:
            self._monitor.close()
        self._cgroups.remove(self.ref.name)

    def stats(self) -> MachineStats:
        """See `ports.vmm.Machine`."""
        rss, faults = self._process.memory_and_faults()
        return MachineStats(rss_bytes=rss, page_faults=faults)

    async def console_tail(self) -> str:
        """See `ports.vmm.Machine`."""
        with contextlib.suppress(VmmError, TimeoutError):
            async with asyncio.timeout(2):
                self._console = await self._run(
                    "ringbuf-read", device="console", size=argv.CONSOLE_BYTES
                )
        return self._console[-4096:].strip()

    async def is_running(self) -> bool:
        """False for a guest that shut down while nobody watched."""
        status = await self._run("query-status")
        return status["status"] in ("running", "paused")

    @property
    def _session(self) -> Monitor:
        if self._monitor is None:
            raise VmmError("the VMM is gone")
        return self._monitor

    async def _run(self, command: str, *, handing: int | None = None, **arguments: Any) -> Any:
        return await self._session.execute(command, handing=handing, **arguments)

    def _expect_migration(self) -> asyncio.Future[str]:
        self._migration = asyncio.get_running_loop().create_future()
        self._session.fail_when_lost(self._migration)
        return self._migration

    async def _loaded(self, done: asyncio.Future[str]) -> None:
        try:
            async with asyncio.timeout(LOAD_TIMEOUT_S):
                result = await done
        except TimeoutError as error:
            raise VmmError(f"cannot load the state: no end after {LOAD_TIMEOUT_S:g} s") from error
        except VmmError as error:
            raise VmmError(f"cannot load the state: {error}: {self.own_words()}") from error
        finally:
            self._migration = None
        if result != "completed":
            raise VmmError(f"cannot load the state: {result}: {self.own_words()}")

    def _event(self, name: str, data: dict[str, Any]) -> None:
        if name == "MIGRATION" and data["status"] in ("completed", "failed"):
            if self._migration is not None and not self._migration.done():
                self._migration.set_result(data["status"])
        elif name in ("SHUTDOWN", "GUEST_PANICKED"):
            # Kept paused so that its last words can be read; then it is as gone as a crash.
            _log.info("guest ended", machine=self.ref.name, reason=data.get("reason", name))
            spawn(self._end(), name=f"end {self.ref.name}")

    async def _end(self) -> None:
        await self.console_tail()
        await self._process.kill()

    def own_words(self) -> str:
        """The end of what QEMU itself printed, for error messages."""
        with contextlib.suppress(OSError):
            return (Path(self.ref.directory) / LOG).read_text(errors="replace")[-400:].strip()
        return ""


class QemuDriver:
    """See `ports.vmm.MachineDriver`."""

    def __init__(self, launcher: Launcher, accel: str, cgroups: Cgroups | None = None) -> None:
        self.accel = accel
        self.platform = Platform(
            vmm=f"qemu {version()}", machine=argv.LAYOUT, cpu=f"{accel}:{argv.CPU[accel]}"
        )
        self._launcher = launcher
        self._cgroups = cgroups or Cgroups()
        self._tsc_khz = tsc.khz() if accel == "tcg" else 0  # KVM tells its guests itself

    async def launch(self, spec: MachineSpec) -> QemuMachine:
        """See `ports.vmm.MachineDriver`."""
        with contextlib.ExitStack() as stack:
            fds = _Handed(stack)
            names = argv.Descriptors(
                monitor=fds.add(_listen(spec.directory / MONITOR_SOCKET)),
                channel=fds.add(_listen(spec.directory / CHANNEL_SOCKET)),
                kernel=fds.open(spec.kernel),
                initramfs=fds.open(spec.initramfs),
                agent_disk=fds.open(spec.agent_disk),
                disk=fds.open(spec.disk, os.O_RDWR),
                backing=fds.open(spec.disk_backing) if spec.disk_backing else "",
                layers=tuple(fds.open(layer) for layer in spec.disk_layers),
                memory=_memory(spec, fds),
            )
            state = -1
            if spec.snapshot is not None:
                # A new open file description for each VMM: they must not share an offset.
                state = len(fds.numbers)
                fds.open(Path(f"/proc/self/fd/{spec.snapshot.state_fd}"))
            request = LaunchRequest(
                argv=argv.build(spec, self.accel, names, self._tsc_khz),
                cwd=spec.directory,
                uid=spec.uid,
                gid=spec.gid,
                groups=_groups(self.accel),
                log=spec.directory / LOG,
                fds=fds.numbers,
                cgroups=self._cgroups.create(spec.name, spec.memory_mib),
            )
            launched = await self._launched(request, spec.name)
        state_in_child = None if spec.snapshot is None else launched.fds[state]
        return await self._attached(spec, launched.process, state_in_child)

    async def _launched(self, request: LaunchRequest, name: str) -> Launched:
        """The process; where that fails or is cancelled, its control group goes as well.

        Nothing leaves a group while a process is in it, so one that nobody wants is waited for.
        """

        async def tried() -> Launched | VmmError:
            try:
                return await self._launcher.launch(request)
            except VmmError as error:
                return error

        launch = spawn(tried(), name=f"launch {name}")
        try:
            result = await asyncio.shield(launch)
        except asyncio.CancelledError:
            result = await launch
            if isinstance(result, Launched):
                await result.process.kill()
            self._cgroups.remove(name)
            raise
        if isinstance(result, VmmError):
            self._cgroups.remove(name)
            raise result
        return result

    async def _attached(
        self, spec: MachineSpec, process: Process, state_fd: int | None
    ) -> QemuMachine:
        ref = MachineRef(
            pid=process.pid,
            start_ticks=process.start_ticks,
            name=spec.name,
            directory=str(spec.directory),
        )
        machine = QemuMachine(ref, process, self._cgroups)
        try:
            await machine.attach(state_fd)
        except BaseException as error:
            await machine.kill()
            if isinstance(error, VmmError):
                words = machine.own_words()
                raise VmmError(f"{error}: {words}" if words else str(error)) from error
            raise
        return machine

    async def adopt(self, ref: MachineRef) -> QemuMachine | None:
        """See `ports.vmm.MachineDriver`."""
        process = Process.find(ref.pid, ref.start_ticks)
        if process is None:
            return None
        machine = QemuMachine(ref, process, self._cgroups)
        try:
            await machine.attach()
            if await machine.is_running():
                return machine
        except VmmError as error:
            _log.warning("cannot adopt", machine=ref.name, error=str(error))
        await machine.kill()
        return None

    async def sweep(self, keep: set[str], root: Path) -> list[str]:
        """See `ports.vmm.MachineDriver`."""
        killed = []
        for pid, name in _machines_below(root):
            if name not in keep and (process := Process.find(pid)) is not None:
                await process.kill()
                self._cgroups.remove(name)
                killed.append(name)
        # A machine that ended while no engine watched left its folder, and its group.
        for directory in root.iterdir() if root.exists() else ():
            if directory.name not in keep:
                self._cgroups.remove(directory.name)
        return killed


class _Handed:
    """Descriptors to hand to one VMM, named as the launcher expects them."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.numbers: list[int] = []
        self._stack = stack

    def add(self, listener: socket.socket) -> str:
        """Hand over a socket; this side is closed with the stack."""
        self._stack.enter_context(listener)
        return self._name(listener.fileno())

    def open(self, path: Path, flags: int = os.O_RDONLY) -> str:
        """Open a file and hand it over."""
        try:
            fd = os.open(path, flags | os.O_CLOEXEC)
        except OSError as error:
            raise VmmError(f"cannot open {path}: {error.strerror}") from error
        self._stack.callback(os.close, fd)
        return self._name(fd)

    def _name(self, fd: int) -> str:
        self.numbers.append(fd)
        return f"@FD{len(self.numbers) - 1}@"


def _memory(spec: MachineSpec, fds: _Handed) -> str:
    if spec.memory_file is not None:
        return fds.open(spec.memory_file, os.O_RDWR)
    if spec.snapshot is not None and spec.snapshot.memory_fd is not None:
        return fds.open(Path(f"/proc/self/fd/{spec.snapshot.memory_fd}"), os.O_RDWR)
    return ""


def _set(number: int) -> dict[str, Any]:
    return {"fdset-id": number}


def blockdev(name: str, fdset: int) -> dict[str, Any]:
    """An overlay with nothing under it yet, in a file that was handed over."""
    options = {"no-flush": True}
    file = {"driver": "file", "filename": f"{FDSET}{fdset}", "cache": options}
    own = {"driver": "qcow2", "node-name": name, "cache": options, "discard": "unmap"}
    return {**own, "backing": None, "file": file}


def _freezes(node: str) -> int:
    """How often the disk was frozen when it became this node; -1 for another one's node."""
    found = re.fullmatch(rf"{argv.ROOT_NODE}(?:-(\d+))?", node)
    return -1 if found is None else int(found.group(1) or 0)


def version() -> str:
    """QEMU's version, as in `7.2.22`.  Raises `VmmError` when it is not installed."""
    try:
        out = subprocess.run(
            [argv.BINARY, "--version"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise VmmError(f"{argv.BINARY} does not run: {error}; install qemu-system-x86") from error
    match = re.search(r"version (\S+)", out)
    return match.group(1) if match else out.split("\n", 1)[0]


def _listen(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(path))
        listener.listen(1)
    except OSError as error:
        listener.close()
        raise VmmError(f"cannot listen on {path}: {error}") from error
    return listener


def _groups(accel: str) -> list[int]:
    """Supplementary groups: /dev/kvm's, where it is what lets the VMM's user open it."""
    return [Path("/dev/kvm").stat().st_gid] if accel == "kvm" else []


def _machines_below(root: Path) -> list[tuple[int, str]]:
    """`(pid, machine name)` of every QEMU whose working directory is below `root`."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            directory = (entry / "cwd").readlink()
        except OSError:
            continue  # gone meanwhile, or a kernel thread
        if words[0].decode(errors="replace") == argv.BINARY and directory.is_relative_to(root):
            found.append((int(entry.name), words[2].decode(errors="replace")))
    return found
