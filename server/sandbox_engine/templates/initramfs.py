"""The guests' initramfs: busybox, the modules that reach the disks and the channel, `init.sh`.

The archive is written here (the `newc` form of cpio), sorted and with zero times: the same
kernel and busybox give the same bytes.
"""

from __future__ import annotations

import hashlib
import shutil
import stat
from pathlib import Path

from msgspec import Struct

from sandbox_engine.templates.apt import PackageMissing
from sandbox_engine.templates.kernel import Kernel
from sandbox_engine.templates.layout import Layout
from sandbox_engine.templates.work import publish, work_folder

BUSYBOX = Path("/bin/busybox")
INIT = Path(__file__).with_name("init.sh")
MODULES = (
    "virtio_mmio",
    "virtio_pci",
    "virtio_blk",
    "virtio_console",
    "virtio-rng",
    "virtio_net",
    "overlay",
)
"""What a guest may need; the kernel package has them as modules, ext4 is built in."""
FOLDERS = ("bin", "dev", "modules", "proc", "root", "sys")


class Entry(Struct, frozen=True):
    """One file of the archive."""

    mode: int
    content: bytes = b""


def obtain(layout: Layout, kernel: Kernel) -> tuple[Path, bool]:
    """The initramfs for `kernel`, and whether it was here already.

    Raises `PackageMissing` (no busybox on this host, a kernel without one of `MODULES`),
    `OSError`.
    """
    if not BUSYBOX.exists():
        raise PackageMissing(f"there is no {BUSYBOX} on this host: install busybox-static")
    data = archive(_entries(kernel.modules))
    target = layout.initramfs(hashlib.sha256(data).hexdigest())
    if target.exists() and target.read_bytes() == data:
        return target, True
    shutil.rmtree(target.parent, ignore_errors=True)  # missing, or damaged
    with work_folder(layout.work) as work:
        folder = work / "initramfs"
        folder.mkdir()
        folder.chmod(0o755)
        (folder / target.name).write_bytes(data)
        (folder / target.name).chmod(0o644)
        publish(folder, target.parent)
    return target, False


def _entries(modules: Path) -> dict[str, Entry]:
    order = load_order((modules / "modules.dep").read_text(), MODULES)
    names = [path.rpartition("/")[2] for path in order]
    entries = {folder: Entry(stat.S_IFDIR | 0o755) for folder in FOLDERS}
    entries["init"] = Entry(stat.S_IFREG | 0o755, INIT.read_bytes())
    entries["bin/busybox"] = Entry(stat.S_IFREG | 0o755, BUSYBOX.read_bytes())
    entries["modules/order"] = Entry(stat.S_IFREG | 0o644, "\n".join([*names, ""]).encode())
    for name, path in zip(names, order, strict=True):
        entries[f"modules/{name}"] = Entry(stat.S_IFREG | 0o644, (modules / path).read_bytes())
    return entries


def load_order(modules_dep: str, wanted: tuple[str, ...]) -> list[str]:
    """Paths of `wanted` modules and all they need, each after what it needs."""
    needs: dict[str, list[str]] = {}
    for line in modules_dep.splitlines():
        path, _, rest = line.partition(":")
        needs[path] = rest.split()
    paths = {path.rpartition("/")[2].removesuffix(".ko"): path for path in needs}
    order: list[str] = []

    def add(path: str) -> None:
        for need in needs[path]:
            add(need)
        if path not in order:
            order.append(path)

    for name in wanted:
        if name not in paths:
            raise PackageMissing(f"the kernel package has no module {name}")
        add(paths[name])
    return order


def archive(entries: dict[str, Entry]) -> bytes:
    """A `newc` cpio archive.  Parents must be among `entries`; they sort before children."""
    out = bytearray()
    for inode, name in enumerate(sorted(entries), 1):
        out += _record(name, entries[name], inode)
    out += _record("TRAILER!!!", Entry(0), 0)
    return bytes(out)


def _record(name: str, entry: Entry, inode: int) -> bytes:
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    path = name.encode() + b"\0"
    fields = (
        inode, entry.mode, 0, 0, links, 0, len(entry.content), 0, 0, 0, 0, len(path), 0,
    )  # fmt: skip
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + path) + _padded(entry.content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
