"""The floor: what QEMU alone takes to restore the same snapshot, by a minimal script.

Blocking sockets, no jail, no journal, no pool: start QEMU on the template's own files,
load the device state, run, and read the agent's first answer.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from sandbox_engine.ports.templates import ReadyTemplate
from sandbox_engine.ports.vmm import WAITING_DISKS
from sandbox_engine.vmm.qemu import argv
from sandbox_guest import events
from sandbox_guest import mux as wire


class Qmp:
    """Just enough of the monitor."""

    def __init__(self, path: Path) -> None:
        link = socket.socket(socket.AF_UNIX)
        dial(link, path)
        self._stream = link.makefile("rwb", buffering=0)
        self._stream.readline()
        self("qmp_capabilities")

    def __call__(self, command: str, **arguments: Any) -> Any:
        request = {"execute": command, "arguments": arguments}
        self._stream.write(json.dumps(request).encode() + b"\n")
        while "event" in (answer := json.loads(self._stream.readline())):
            pass
        return answer["return"]


def dial(link: socket.socket, path: Path) -> None:
    """Connect as soon as somebody listens."""
    while True:
        try:
            link.connect(str(path))
            return
        except OSError:
            time.sleep(0.001)


def restore(template: ReadyTemplate, memory: Path, state: Path) -> float:
    """Seconds from starting QEMU to the agent's first answer."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="sbx-bare-") as name:
        folder = Path(name)
        started = time.perf_counter()
        process = _start(template, memory, folder)
        try:
            qmp = Qmp(folder / "qmp.sock")
            qmp("migrate-incoming", uri=f"exec:cat {state}")
            while qmp("query-status")["status"] == "inmigrate":
                time.sleep(0.0005)
            qmp("cont")
            _first_answer(folder / "agent.sock")
            return time.perf_counter() - started
        finally:
            process.kill()
            process.wait()


def _start(template: ReadyTemplate, memory: Path, folder: Path) -> subprocess.Popen[bytes]:
    manifest = template.manifest
    return subprocess.Popen(
        [
            argv.BINARY, "-M", "microvm,rtc=on,memory-backend=ram", "-accel", "tcg",
            "-cpu", argv.CPU["tcg"], "-m", f"{manifest.memory_mib}M",
            "-smp", str(manifest.vcpus),
            "-nodefaults", "-no-user-config", "-nographic",
            "-object", _memory(manifest.memory_mib, memory),
            "-kernel", str(template.kernel), "-initrd", str(template.initramfs),
            "-append", argv.COMMAND_LINE,
            "-drive", f"file={template.rootfs},format=raw,if=none,id=root,snapshot=on",
            "-device", "virtio-blk-device,drive=root,serial=sandbox-root",
            "-drive", f"file={template.agent_disk},format=raw,if=none,id=agent,readonly=on",
            "-device", "virtio-blk-device,drive=agent,serial=sandbox-agent",
            *(word for serial in WAITING_DISKS for word in argv.waiting_disk(serial)),
            *argv.waiting_interface(),
            "-device", "virtio-rng-device", "-device", "virtio-serial-device",
            "-chardev", f"socket,id=channel,path={folder}/agent.sock,server=on,wait=off",
            "-device", "virtserialport,chardev=channel,name=agent",
            "-serial", "null", "-qmp", f"unix:{folder}/qmp.sock,server=on,wait=off",
            "-incoming", "defer", "-global", "migration.send-configuration=off",
        ],
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def _memory(size_mib: int, path: Path) -> str:
    return f"memory-backend-file,id=ram,size={size_mib}M,mem-path={path},share=off"


def _first_answer(path: Path) -> None:
    mux = wire.Mux(wire.Role.HOST)
    body = {"protocol": 1, "epoch": 1, "identity": None, "clock_ns": time.time_ns()}
    mux.hello(os.urandom(wire.NONCE_SIZE), json.dumps(body).encode())
    with socket.socket(socket.AF_UNIX) as link:
        dial(link, path)
        link.sendall(b"".join(mux.take()))
        while not any(isinstance(event, events.Welcome) for event in mux.receive(link.recv(65536))):
            pass
