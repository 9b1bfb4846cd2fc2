"""The QEMU command line: pure, from a `MachineSpec` to words.

`LAYOUT` names the machine type and the devices in their order.  A snapshot restores
only onto the same layout, so any change here that a guest could notice raises it, and
templates baked before are refused with "rebuild the template".
"""

from __future__ import annotations

from msgspec import Struct

from sandbox_engine.ports.vmm import VOLUME_SERIALS, WAITING_DISKS, MachineSpec

BINARY = "qemu-system-x86_64"
LAYOUT = "microvm/4"
CPU = {"tcg": "Nehalem", "kvm": "host"}
"""Under emulation the oldest model with x86-64-v2: newer ones cost emulated vector code."""

SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
COMMAND_LINE = (
    "console=ttyS0 quiet reboot=t panic=-1 tsc=reliable no_timer_check "
    "rcupdate.rcu_expedited=1 cgroup_no_v1=all"
)
ROOT_NODE, BASE_NODE = "root", "base"
"""The writable disk, which is `root-1` and so on once it was frozen; the image under all."""
WAITING_DISK_BYTES = 1 << 40
"""What a guest takes a waiting disk's size for, whatever comes: a filesystem knows its own."""
HUB = 0
NIC_MAC = "02:00:00:00:00:01"
"""Until the agent gives it another one; every template and clone has it."""
VOLUME_QUEUE = 64
"""Requests at once of a volume's disk.  A guest has memory for each of them ready, used or not."""
CONSOLE_BYTES = 1 << 16
"""The console is a ring in the VMM: a guest that floods it costs this much and no disk."""


class Descriptors(Struct, frozen=True, kw_only=True):
    """How QEMU reaches what it was given: descriptor numbers, never a path.

    The VMM's user then needs no right to any directory, and a compromised VMM has
    nothing but what its own machine is made of.  `disk` and below are opened again
    through `/proc/self/fd`, which checks the file's own mode.
    """

    monitor: str
    channel: str
    kernel: str
    initramfs: str
    agent_disk: str
    disk: str
    backing: str = ""
    layers: tuple[str, ...] = ()
    memory: str = ""


def build(spec: MachineSpec, accel: str, fds: Descriptors, tsc_khz: int = 0) -> list[str]:
    """Words to start QEMU with; `tsc_khz` is what the kernel is told of its counter's rate."""
    words = [
        BINARY,
        "-name", spec.name,
        "-M", "microvm,rtc=on,memory-backend=ram",
        "-accel", accel,
        "-cpu", CPU[accel],
        "-m", f"{spec.memory_mib}M",
        "-smp", str(spec.vcpus),
        "-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-no-shutdown",
        "-sandbox", SANDBOX,
        "-object", _memory(spec, fds.memory),
        "-kernel", _path(fds.kernel),
        "-initrd", _path(fds.initramfs),
        "-append", COMMAND_LINE + (f" tsc_early_khz={tsc_khz}" if tsc_khz else ""),
        "-global", "migration.send-configuration=off",  # device state is saved without it
        *_disks(spec, fds),
        "-device", "virtio-blk-device,drive=root,serial=sandbox-root",
        "-blockdev", f"driver=raw,node-name=agent,read-only=on,{_file(fds.agent_disk)}",
        "-device", "virtio-blk-device,drive=agent,serial=sandbox-agent",
        *(word for serial in WAITING_DISKS for word in waiting_disk(serial)),
        *(word for serial in _volumes(spec) for word in waiting_disk(serial, VOLUME_QUEUE)),
        *waiting_interface(),
        "-device", "virtio-rng-device",
        "-device", "virtio-serial-device",
        "-chardev", f"socket,id=channel,fd={fds.channel},server=on,wait=off",
        "-device", "virtserialport,chardev=channel,name=agent",
        "-chardev", f"ringbuf,id=console,size={CONSOLE_BYTES}",
        "-serial", "chardev:console",
        "-chardev", f"socket,id=monitor,fd={fds.monitor},server=on,wait=off",
        "-mon", "chardev=monitor,mode=control",
    ]  # fmt: skip
    return [*words, "-incoming", "defer"] if spec.snapshot else [*words, "-S"]


def _volumes(spec: MachineSpec) -> tuple[str, ...]:
    return VOLUME_SERIALS if spec.volume_disks else ()


def _memory(spec: MachineSpec, fd: str) -> str:
    if not fd:
        return f"memory-backend-ram,id=ram,size={spec.memory_mib}M"
    share = "on" if spec.memory_file else "off"
    size = f"{spec.memory_mib}M"
    return f"memory-backend-file,id=ram,size={size},mem-path={_path(fd)},share={share}"


def _disks(spec: MachineSpec, fds: Descriptors) -> list[str]:
    """The root disk's nodes, the lowest first."""
    below = f"driver=raw,node-name={BASE_NODE},read-only=on,{_file(fds.backing)}"
    nodes = [below] if fds.backing else []
    under = BASE_NODE if fds.backing else ""
    for number, layer in enumerate(fds.layers):
        name = f"layer-{number}"
        # Nobody writes it, so it needs no lock; the VMM that wrote it may hold one still.
        file = f"{_file(layer)},file.locking=off"
        nodes.append(f"driver=qcow2,node-name={name},read-only=on,backing={under},{file}")
        under = name
    nodes.append(_root(spec, fds, under))
    return [word for node in nodes for word in ("-blockdev", node)]


def waiting_disk(serial: str, queue: int = 0) -> list[str]:
    """A disk that waits for a file (`attach_disk`), with nothing behind it yet."""
    access = ",read-only=on" if is_read_only(serial) else ",discard=unmap"
    nothing = f"node-name={nothing_behind(serial)},read-zeroes=on,size={WAITING_DISK_BYTES}"
    node = f"node-name={serial},file={nothing_behind(serial)}{access}"
    # A host whose disk is full is an error in the guest, not a guest that stands still.
    disk = f"drive={serial},serial={serial},werror=report,rerror=report"
    return [
        "-blockdev", f"driver=null-co,{nothing}" + access.replace(",discard=unmap", ""),
        "-blockdev", f"driver=raw,{node}",
        "-device", f"virtio-blk-device,{disk}" + (f",queue-size={queue}" if queue else ""),
    ]  # fmt: skip


def waiting_interface() -> list[str]:
    """A network interface that waits for a tap (`attach_link`), on a hub with nobody else.

    The guest's agent hides it until then.  A hub passes frames as they are, so the device
    offers nothing that a tap would have to agree to, and it announces nothing by itself.
    """
    device = f"virtio-net-device,netdev=nic,mac={NIC_MAC},guest_announce=off"
    return ["-netdev", f"hubport,id=nic,hubid={HUB}", "-device", device]


def is_read_only(serial: str) -> bool:
    """Whether a waiting disk can only be read."""
    return serial.startswith("volume-ro-")


def nothing_behind(serial: str) -> str:
    """The node that stands in for the image of a waiting disk."""
    return f"{serial}-nothing"


def _root(spec: MachineSpec, fds: Descriptors, under: str) -> str:
    # Flushes are not passed to the host's disk: after a host crash the sandbox is gone
    # anyway, and what must be durable (a template, a hibernated disk) is synced by us.
    words = (
        f"driver={spec.disk_format},node-name={ROOT_NODE},cache.no-flush=on,discard=unmap,"
        f"file.driver=file,file.cache.no-flush=on,file.filename={_path(fds.disk)}"
    )
    return f"{words},backing={under}" if under else words


def _file(fd: str) -> str:
    """Words for a file that is only read."""
    return f"file.driver=file,file.read-only=on,file.filename={_path(fd)}"


def _path(fd: str) -> str:
    return f"/proc/self/fd/{fd}"
