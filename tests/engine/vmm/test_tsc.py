"""The rate of the time-stamp counter, and how an emulated kernel is told it."""

from __future__ import annotations

from pathlib import Path

from sandbox_engine.ports.vmm import MachineSpec
from sandbox_engine.vmm import tsc
from sandbox_engine.vmm.qemu import argv

SPEC = MachineSpec(
    name="vm-test",
    directory=Path("/nowhere"),
    uid=1000,
    gid=1000,
    memory_mib=128,
    vcpus=1,
    kernel=Path("/nowhere/vmlinuz"),
    initramfs=Path("/nowhere/initramfs"),
    agent_disk=Path("/nowhere/agent"),
    disk=Path("/nowhere/disk"),
    disk_format="raw",
)
FDS = argv.Descriptors(
    monitor="3", channel="4", kernel="5", initramfs="6", agent_disk="7", disk="8"
)


def test_two_measurements_agree() -> None:
    first = tsc.khz()
    tsc.khz.cache_clear()
    again = tsc.khz()
    assert first > 100_000  # no such counter is slower than 100 MHz
    assert abs(first - again) < first * 0.01


def command_line(tsc_khz: int) -> list[str]:
    words = argv.build(SPEC, "tcg", FDS, tsc_khz)
    return words[words.index("-append") + 1].split()


def test_the_kernel_is_told_what_was_measured() -> None:
    assert "tsc_early_khz=2600000" in command_line(2_600_000)


def test_the_kernel_measures_where_nothing_was() -> None:
    assert not [word for word in command_line(0) if word.startswith("tsc_early")]
