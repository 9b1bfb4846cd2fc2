"""The agent's disk: what is kept of Debian's packages, and that equal trees give equal images."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest
from sandbox_engine.templates.agentdisk import (
    AGENT,
    PACKAGES,
    add_agent,
    agent_sources,
    image_of,
    inputs_digest,
    kept_as,
)

LIBRARIES = "usr/lib/x86_64-linux-gnu"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("lib/x86_64-linux-gnu/libc.so.6", f"{LIBRARIES}/libc.so.6"),
        ("lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", f"{LIBRARIES}/ld-linux-x86-64.so.2"),
        (f"{LIBRARIES}/libcrypto.so.3", f"{LIBRARIES}/libcrypto.so.3"),
        ("usr/bin/python3.11", "usr/bin/python3.11"),
        ("usr/lib/python3.11/asyncio/events.py", "usr/lib/python3.11/asyncio/events.py"),
        ("usr/lib/python3.11/re", "usr/lib/python3.11/re"),
        ("lib", "usr/lib"),
        ("lib64/ld-linux-x86-64.so.2", None),
        ("usr/share/doc/libc6/copyright", None),
        (f"{LIBRARIES}/gconv/UTF-16.so", None),
        (f"{LIBRARIES}/libmemusage.so", None),
        ("usr/lib/python3.11/test/support/__init__.py", None),
        ("usr/lib/python3.11/lib2to3", None),
        ("usr/lib/python3.11/lib-dynload/_sqlite3.cpython-311-x86_64-linux-gnu.so", None),
        ("usr/lib/python3.11/lib-dynload/_testcapi.cpython-311-x86_64-linux-gnu.so", None),
        ("etc/python3.11/sitecustomize.py", None),
    ],
)
def test_what_is_kept_and_where(name: str, kept: str | None) -> None:
    assert kept_as(name) == kept


@pytest.mark.parametrize(
    "module", ["_asyncio", "_bz2", "_ctypes", "_hashlib", "_json", "_lzma", "_ssl", "resource"]
)
def test_extensions_an_agent_needs_are_kept(module: str) -> None:
    name = f"usr/lib/python3.11/lib-dynload/{module}.cpython-311-x86_64-linux-gnu.so"
    assert kept_as(name) == name


def test_inputs_are_told_apart_by_version_and_agent() -> None:
    versions = dict.fromkeys(PACKAGES, "1")
    assert inputs_digest(versions) == inputs_digest(dict(reversed(versions.items())))
    assert inputs_digest(versions) != inputs_digest(versions | {"libc6": "2"})
    names = {path.relative_to(AGENT).as_posix() for path in agent_sources()}
    assert {"main.py", "native/spawn.c", "native/build.py", "sandbox_guest/mux.py"} <= names


async def test_the_agent_is_put_where_its_init_looks(tmp_path: Path) -> None:
    await add_agent(tmp_path)
    assert (tmp_path / "agent/main.py").exists()
    assert (tmp_path / "agent/sandbox_guest/mux.py").exists()
    assert (tmp_path / "agent/libspawn.so").stat().st_size > 0
    assert not list(tmp_path.rglob("__pycache__"))


async def test_equal_trees_give_equal_images_whenever_they_were_made(tmp_path: Path) -> None:
    first = tmp_path / "first"
    await add_agent(first)
    shutil.copytree(first, tmp_path / "second")
    for path in (tmp_path / "second").rglob("*"):
        os.utime(path, (1_000_000, 2_000_000))
    digests = set()
    for name in ("first", "second"):
        image = tmp_path / f"{name}.ext4"
        await image_of(tmp_path / name, image)
        digests.add(hashlib.sha256(image.read_bytes()).hexdigest())
    assert len(digests) == 1
