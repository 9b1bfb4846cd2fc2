"""What the engine needs of a host, looked at without the daemon.

Each check looks at one thing and returns a `Finding`; none changes anything, and none
needs root, though some see more with it.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from sandbox_cli import show

Level = Literal["ok", "warning", "failed"]

MIN_FREE_BYTES: Final = 2 * 1024**3
"""Room for one template's build: the packages, the disk image and the memory file."""
COMMAND_TIMEOUT_S: Final = 10
BUILD_TOOLS: Final = {
    "mmdebstrap": "mmdebstrap",
    "mkfs.ext4": "e2fsprogs",
    "depmod": "kmod",
    "cpio": "cpio",
    "busybox": "busybox-static",
    "dpkg-deb": "dpkg",
    "gcc": "gcc",
}
"""Programs that a template's build runs, and the Debian packages that hold them."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One fact about the host and how it bears on the engine."""

    name: str
    level: Level
    found: str
    advice: str = ""


def examine(data_dir: Path) -> list[Finding]:
    """Every check, in the order in which a newcomer would mend them."""
    checks: list[Callable[[], Finding]] = [
        platform_,
        privileges,
        vmm,
        accelerator,
        build_tools,
        cgroups,
        nftables,
        tap_devices,
        memory,
        lambda: disk_space(data_dir),
    ]
    return [check() for check in checks]


def platform_() -> Finding:
    """Linux on x86-64 is what the engine knows."""
    found = f"{platform.system()} {platform.release()} on {platform.machine()}"
    if (platform.system(), platform.machine()) == ("Linux", "x86_64"):
        return Finding(name="platform", level="ok", found=found)
    return Finding(
        name="platform", level="failed", found=found, advice="run the daemon on Linux on x86-64"
    )


def privileges() -> Finding:
    """The daemon needs root to give each VMM its own user, network and limits."""
    if os.geteuid() == 0:
        return Finding(name="privileges", level="ok", found="root")
    return Finding(
        name="privileges",
        level="warning",
        found=f"uid {os.geteuid()}",
        advice="the daemon must run as root; a client needs only access to its sockets",
    )


def vmm() -> Finding:
    """The virtual machine monitor."""
    binary = shutil.which("qemu-system-x86_64")
    if binary is None:
        return Finding(
            name="vmm",
            level="failed",
            found="qemu-system-x86_64 is not on PATH",
            advice="apt-get install --no-install-recommends qemu-system-x86",
        )
    answer = _output(binary, "--version")
    return Finding(name="vmm", level="ok", found=answer.splitlines()[0] if answer else binary)


def accelerator() -> Finding:
    """Whether `/dev/kvm` can be opened; whether it works only the daemon's probe tells."""
    forced = os.environ.get("SANDBOX_ACCEL", "auto")
    if forced != "auto":
        return Finding(name="accelerator", level="ok", found=f"{forced}, set by SANDBOX_ACCEL")
    if not Path("/dev/kvm").exists():
        return Finding(
            name="accelerator",
            level="warning",
            found="no /dev/kvm: software emulation (tcg), which is slow",
            advice="enable virtualisation in the firmware, or nesting where this is a VM",
        )
    try:
        os.close(os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return Finding(
            name="accelerator",
            level="warning",
            found=f"/dev/kvm cannot be opened ({error.strerror}): software emulation (tcg)",
            advice="run the daemon as root",
        )
    return Finding(
        name="accelerator",
        level="ok",
        found="/dev/kvm opens; the daemon proves it by booting a kernel (`node info`)",
    )


def build_tools() -> Finding:
    """The programs that build templates."""
    missing = {name: package for name, package in BUILD_TOOLS.items() if not _find(name)}
    if not missing:
        return Finding(name="build-tools", level="ok", found=", ".join(BUILD_TOOLS))
    return Finding(
        name="build-tools",
        level="failed",
        found=f"missing: {', '.join(missing)}",
        advice=f"apt-get install --no-install-recommends {' '.join(sorted(missing.values()))}",
    )


def cgroups(root: Path = Path("/sys/fs/cgroup")) -> Finding:
    """Limits on what a VMM may use."""
    wanted = ("cpu", "memory", "pids")
    try:
        controllers = (root / "cgroup.controllers").read_text().split()
    except OSError:
        controllers = []
    if set(wanted) <= set(controllers):
        return Finding(name="cgroups", level="ok", found="v2 with " + ", ".join(wanted))
    v1 = [name for name in wanted if (root / name).is_dir()]
    found = f"v1 with {', '.join(v1)}" if v1 else "no usable controllers"
    return Finding(
        name="cgroups",
        level="warning",
        found=found,
        advice="boot with systemd.unified_cgroup_hierarchy=1 to limit each VM's memory and CPU",
    )


def nftables() -> Finding:
    """The packet filter that confines guests with a network interface."""
    nft = _find("nft")
    if nft is None:
        return Finding(
            name="nftables",
            level="warning",
            found="nft is not on PATH: sandboxes with a network interface cannot be confined",
            advice="apt-get install --no-install-recommends nftables",
        )
    if os.geteuid() != 0:
        return Finding(name="nftables", level="ok", found=f"{nft} (only root can try it)")
    try:
        done = subprocess.run(
            [nft, "list", "tables"],
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name="nftables", level="warning", found=str(error))
    if done.returncode == 0:
        return Finding(name="nftables", level="ok", found="the kernel answers nft")
    return Finding(
        name="nftables",
        level="warning",
        found=done.stderr.strip().splitlines()[0] if done.stderr else "nft failed",
        advice="load the kernel module nf_tables",
    )


def tap_devices() -> Finding:
    """The device that tap interfaces are made with."""
    if Path("/dev/net/tun").exists():
        return Finding(name="tap-devices", level="ok", found="/dev/net/tun")
    return Finding(
        name="tap-devices",
        level="warning",
        found="no /dev/net/tun: no sandbox can have a network interface",
        advice="load the kernel module tun",
    )


def memory() -> Finding:
    """How much memory new VMs can count on."""
    fields = dict(
        line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines() if ":" in line
    )
    available = int(fields["MemAvailable"].split()[0]) * 1024
    found = f"{show.size(available)} available"
    if available >= 1024**3:
        return Finding(name="memory", level="ok", found=found)
    return Finding(
        name="memory", level="warning", found=found, advice="a template of 512 MiB needs 1 GiB free"
    )


def disk_space(data_dir: Path) -> Finding:
    """Room where the daemon keeps templates."""
    existing = next(path for path in (data_dir, *data_dir.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    found = f"{show.size(free)} free in {existing}"
    if free >= MIN_FREE_BYTES:
        return Finding(name="disk-space", level="ok", found=found)
    return Finding(
        name="disk-space",
        level="warning",
        found=found,
        advice=f"a template's build needs {show.size(MIN_FREE_BYTES)}",
    )


def _find(name: str) -> str | None:
    """Programs of the administrator are not on everyone's PATH; look there too."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def _output(*argv: str) -> str:
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
