"""The QEMU command line: pure, from a `MachineSpec` to words.

`LAYOUT` names the machine type and the devices in their order.  A snapshot restores
only onto the same layout, so any change here that a guest could notice raises it, and
templates baked before are refused with "rebuild the template".
"""

from __future__ import annotations

from sandbox_engine.ports.vmm import MachineSpec

BINARY = "qemu-system-x86_64"
LAYOUT = "microvm/1"
CPU = {"tcg": "Nehalem", "kvm": "host"}
"""Under emulation the oldest model with x86-64-v2: newer ones cost emulated vector code."""

SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
COMMAND_LINE = (
    "console=ttyS0 quiet reboot=t panic=-1 tsc=reliable no_timer_check "
    "rcupdate.rcu_expedited=1 cgroup_no_v1=all"
)
CONSOLE_BYTES = 1 << 16
"""The console is a ring in the VMM: a guest that floods it costs this much and no disk."""


def build(spec: MachineSpec, accel: str, *, monitor: str, channel: str, memory: str) -> list[str]:
    """Words to start QEMU with.

    `monitor` and `channel` are descriptors of listening sockets, `memory` the path of the
    RAM file or "" for anonymous RAM.
    """
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
        "-object", _memory(spec, memory),
        "-kernel", str(spec.kernel),
        "-initrd", str(spec.initramfs),
        "-append", COMMAND_LINE,
        "-blockdev", _root(spec),
        "-device", "virtio-blk-device,drive=root,serial=sandbox-root",
        "-blockdev", _agent(spec),
        "-device", "virtio-blk-device,drive=agent,serial=sandbox-agent",
        "-device", "virtio-rng-device",
        "-device", "virtio-serial-device",
        "-chardev", f"socket,id=channel,fd={channel},server=on,wait=off",
        "-device", "virtserialport,chardev=channel,name=agent",
        "-chardev", f"ringbuf,id=console,size={CONSOLE_BYTES}",
        "-serial", "chardev:console",
        "-chardev", f"socket,id=monitor,fd={monitor},server=on,wait=off",
        "-mon", "chardev=monitor,mode=control",
    ]  # fmt: skip
    return [*words, "-incoming", "defer"] if spec.snapshot else [*words, "-S"]


def _memory(spec: MachineSpec, path: str) -> str:
    if not path:
        return f"memory-backend-ram,id=ram,size={spec.memory_mib}M"
    share = "on" if spec.memory_file else "off"
    return f"memory-backend-file,id=ram,size={spec.memory_mib}M,mem-path={path},share={share}"


def _root(spec: MachineSpec) -> str:
    # Flushes are not passed to the host's disk: after a host crash the sandbox is gone
    # anyway, and what must be durable (a template, a hibernated disk) is synced by us.
    return (
        f"driver={spec.disk_format},node-name=root,cache.no-flush=on,discard=unmap,"
        f"file.driver=file,file.cache.no-flush=on,file.filename={_quote(spec.disk)}"
    )


def _agent(spec: MachineSpec) -> str:
    return (
        "driver=raw,node-name=agent,read-only=on,file.driver=file,file.read-only=on,"
        f"file.filename={_quote(spec.agent_disk)}"
    )


def _quote(path: object) -> str:
    """A comma in an option value is written twice."""
    return str(path).replace(",", ",,")
