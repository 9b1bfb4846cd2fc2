"""The initramfs: load order, archive form, determinism."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_engine.templates.apt import PackageMissing
from sandbox_engine.templates.initramfs import INIT, MODULES, Entry, archive, load_order, obtain
from sandbox_engine.templates.kernel import Kernel
from sandbox_engine.templates.layout import Layout

MODULES_DEP = """\
kernel/net/net_failover.ko: kernel/net/failover.ko
kernel/net/failover.ko:
kernel/net/virtio_net.ko: kernel/net/net_failover.ko kernel/net/failover.ko kernel/v/virtio.ko
kernel/v/virtio.ko: kernel/v/virtio_ring.ko
kernel/v/virtio_ring.ko:
"""


def test_a_module_is_loaded_after_all_it_needs() -> None:
    assert load_order(MODULES_DEP, ("virtio_net",)) == [
        "kernel/net/failover.ko",
        "kernel/net/net_failover.ko",
        "kernel/v/virtio_ring.ko",
        "kernel/v/virtio.ko",
        "kernel/net/virtio_net.ko",
    ]


def test_a_kernel_without_a_module_is_refused_by_name() -> None:
    with pytest.raises(PackageMissing, match="overlay"):
        load_order(MODULES_DEP, ("overlay",))


def read_back(data: bytes, folder: Path) -> None:
    subprocess.run(
        ["cpio", "--extract", "--make-directories", "--quiet", "--no-absolute-filenames"],
        input=data, cwd=folder, check=True,
    )  # fmt: skip


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.binary(max_size=40), max_size=5
    )
)
def test_an_archive_depends_on_its_entries_and_not_on_their_order(files: dict[str, bytes]) -> None:
    entries = {name: Entry(stat.S_IFREG | 0o644, content) for name, content in files.items()}
    backwards = dict(reversed(entries.items()))
    assert archive(entries) == archive(backwards)


def test_cpio_reads_what_was_written(tmp_path: Path) -> None:
    data = archive(
        {
            "bin": Entry(stat.S_IFDIR | 0o755),
            "bin/sh": Entry(stat.S_IFREG | 0o755, b"x" * 5),
            "empty": Entry(stat.S_IFREG | 0o600),
        }
    )
    read_back(data, tmp_path)
    assert (tmp_path / "bin/sh").read_bytes() == b"x" * 5
    assert stat.S_IMODE((tmp_path / "bin/sh").stat().st_mode) == 0o755
    assert (tmp_path / "empty").read_bytes() == b""


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    """A kernel with empty modules."""
    modules = tmp_path / "kernel" / "modules"
    modules.mkdir(parents=True)
    lines = [f"kernel/{name}.ko:" for name in MODULES]
    (modules / "kernel").mkdir()
    for name in MODULES:
        (modules / "kernel" / f"{name}.ko").write_bytes(name.encode())
    (modules / "modules.dep").write_text("\n".join(lines))
    return Kernel("6.1.0", "6.1.1-1", tmp_path / "kernel")


def test_the_same_kernel_gives_the_same_file_once(data: Path, kernel: Kernel) -> None:
    layout = Layout(data)
    first, cached = obtain(layout, kernel)
    assert not cached
    assert obtain(layout, kernel) == (first, True)
    assert stat.S_IMODE(first.stat().st_mode) == 0o644


def test_a_damaged_one_is_made_anew(data: Path, kernel: Kernel) -> None:
    path, _ = obtain(Layout(data), kernel)
    good = path.read_bytes()
    path.write_bytes(b"damaged")
    assert obtain(Layout(data), kernel) == (path, False)
    assert path.read_bytes() == good


def test_it_holds_init_busybox_and_every_module_in_order(
    data: Path, kernel: Kernel, tmp_path: Path
) -> None:
    path, _ = obtain(Layout(data), kernel)
    inside = tmp_path / "inside"
    inside.mkdir()
    read_back(path.read_bytes(), inside)
    order = (inside / "modules/order").read_text().split()
    assert order == [f"{name}.ko" for name in MODULES]
    assert sorted(os.listdir(inside / "modules")) == sorted([*order, "order"])
    assert (inside / "init").read_bytes() == INIT.read_bytes()
    assert os.access(inside / "bin/busybox", os.X_OK)


def test_init_is_a_script_that_a_shell_can_read() -> None:
    subprocess.run(["sh", "-n", str(INIT)], check=True)
