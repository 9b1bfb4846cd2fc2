"""Which accelerator works here: decided by a bounded probe, never assumed.

`/dev/kvm` can exist, open, and still never boot a stock kernel, and QEMU's own
fallback does not notice.  So the engine's kernel is booted once under KVM with an
initramfs that prints a marker and powers off; the verdict is cached beside the versions
it was made with.  `SANDBOX_ACCEL=kvm|tcg|auto` overrides.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import msgspec
import structlog
from msgspec import Struct

from sandbox_engine.errors import InvalidArgument
from sandbox_engine.vmm.qemu import argv
from sandbox_engine.vmm.qemu.driver import version

PROBE_MARKER = b"sandbox-probe-ok"
PROBE_PARAMETER = "sandbox.probe"
"""A kernel parameter on which the engine's initramfs prints the marker and powers off."""
PROBE_TIMEOUT_S = 5.0
CACHE = Path("store") / "accel.json"
"""Below the data folder, beside the kernels it was found out with."""
_log = structlog.get_logger(__name__)


class Verdict(Struct, frozen=True, kw_only=True):
    """What was decided, by what, and why."""

    accel: str
    reason: str
    qemu: str
    kernel: str = ""
    """The release probed with; empty where no probe was needed."""


def decide(data_dir: Path, kernel: Path | None, initramfs: Path | None) -> Verdict:
    """Decide for this host.  Blocks for up to `PROBE_TIMEOUT_S` the first time.

    `kernel` and `initramfs` are the engine's own, None before the first template build:
    then emulation is the only answer known to work.
    """
    wanted = os.environ.get("SANDBOX_ACCEL", "auto")
    if wanted not in ("kvm", "tcg", "auto"):
        raise InvalidArgument("SANDBOX_ACCEL", f"{wanted!r} is not kvm, tcg or auto")
    qemu = version()
    if wanted != "auto":
        return Verdict(accel=wanted, reason="set by SANDBOX_ACCEL", qemu=qemu)
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return Verdict(accel="tcg", reason="/dev/kvm is missing or cannot be opened", qemu=qemu)
    if kernel is None or initramfs is None:
        return Verdict(accel="tcg", reason="no kernel to probe with yet", qemu=qemu)
    cached = _cached(data_dir / CACHE)
    if cached is not None and (cached.qemu, cached.kernel) == (qemu, str(kernel.resolve())):
        return cached
    verdict = _probed(qemu, kernel, initramfs)
    _store(data_dir / CACHE, verdict)
    _log.info("accelerator probed", accel=verdict.accel, reason=verdict.reason)
    return verdict


def _probed(qemu: str, kernel: Path, initramfs: Path) -> Verdict:
    booted = _boots_under_kvm(kernel, initramfs)
    return Verdict(
        accel="kvm" if booted else "tcg",
        reason=(
            "a kernel booted under KVM"
            if booted
            else f"/dev/kvm opens, but no kernel booted under it within {PROBE_TIMEOUT_S:g} s"
        ),
        qemu=qemu,
        kernel=str(kernel.resolve()),
    )


def _boots_under_kvm(kernel: Path, initramfs: Path) -> bool:
    words = [
        argv.BINARY, "-M", "microvm", "-accel", "kvm", "-cpu", "host", "-m", "128M",
        "-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-serial", "stdio",
        "-kernel", str(kernel), "-initrd", str(initramfs),
        "-append", f"console=ttyS0 quiet reboot=t panic=-1 {PROBE_PARAMETER}",
    ]  # fmt: skip
    with tempfile.TemporaryFile() as out:
        try:
            subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                timeout=PROBE_TIMEOUT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            pass  # killed by `run`; it may still have printed the marker
        except OSError as error:
            _log.warning("the KVM probe did not start", error=str(error))
        out.seek(0)
        return PROBE_MARKER in out.read()


def _cached(path: Path) -> Verdict | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Verdict)
    except (OSError, msgspec.DecodeError):
        return None


def _store(path: Path, verdict: Verdict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(msgspec.json.encode(verdict))
    partial.replace(path)
