"""The agent's read-only disk: Debian's Python, pruned, with the guest agent beside it.

A guest needs nothing of its root file system to be driven, not even a libc.  Everything is
byte-compiled ahead (unchecked, since nobody can write here) by the very interpreter that
will run it.  The same packages and agent give the same image, which is named by its
SHA-256; templates stay bound to the one they were baked with.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import sandbox_guest

from sandbox_engine.templates import ext4, unpack
from sandbox_engine.templates.apt import Apt, version_of
from sandbox_engine.templates.commands import run
from sandbox_engine.templates.digests import digest_file
from sandbox_engine.templates.layout import Layout
from sandbox_engine.templates.work import publish, work_folder

PACKAGES = (
    "libbz2-1.0", "libc6", "libexpat1", "libffi8", "liblzma5", "libpython3.11-minimal",
    "libpython3.11-stdlib", "libssl3", "python3.11-minimal", "zlib1g",
)  # fmt: skip
"""What asyncio, ssl, ctypes, json and tarfile need, and nothing else."""
AGENT = Path(sandbox_guest.__file__).parents[1]
"""The agent's source folder: `main.py`, `sandbox_guest/`, `native/`."""
MOUNT = "/run/agent"
_STDLIB = "usr/lib/python3.11"
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_LIMITS = unpack.Limits(max_bytes=512 << 20, max_entries=100_000)

# What no agent imports: other people's user interfaces, tests, installers, and the
# extensions whose libraries are not here.
_PRUNED_MODULES = (
    "__phello__|__pycache__|curses|dbm|distutils|doctest.py|ensurepip|idlelib|lib2to3|msilib|"
    "pdb.py|pydoc.py|pydoc_data|sqlite3|test|tkinter|turtle.py|turtledemo|unittest|venv|"
    "wsgiref|xmlrpc|zoneinfo"
)
_PRUNED_EXTENSIONS = (
    "_codecs_.*|_crypt|_ctypes_test|_curses|_curses_panel|_dbm|_sqlite3|_test.*|_uuid|_xx.*|"
    "_zoneinfo|audioop|nis|ossaudiodev|readline|xx.*"
)
_PRUNED = re.compile(
    rf"{_STDLIB}/(?:{_PRUNED_MODULES}|config-[^/]*)(?:/.*)?"
    rf"|{_STDLIB}/lib-dynload/(?:{_PRUNED_EXTENSIONS})\.cpython-.*"
    r"|.*/lib(?:BrokenLocale|anl|c_malloc_debug|memusage|mvec|nsl|pcprofile|thread_db)\.so.*"
)
_KEPT = re.compile(
    rf"{_STDLIB}/.+|{_LIBRARIES}/[^/]+\.so[^/]*|usr/bin/python3\.11|"
    rf"usr|usr/bin|usr/lib|{_STDLIB}|{_LIBRARIES}"
)


def kept_as(name: str) -> str | None:
    """Where a file of a package goes on the disk; None for what is left out.

    Debian 12 packages still name `/lib`; on the disk, as on a merged system, it is `/usr/lib`.
    """
    if name == "lib" or name.startswith("lib/"):
        name = f"usr/{name}"
    return name if _KEPT.fullmatch(name) and not _PRUNED.fullmatch(name) else None


async def obtain(
    layout: Layout, apt: Apt, on_line: Callable[[str], None] | None = None
) -> tuple[str, bool]:
    """The SHA-256 of today's agent disk, which is in the store, and whether it was before.

    Raises `PackageMissing`, `CommandFailed`, `BadTree`, `OSError`.
    """
    offered = await apt.offered(PACKAGES)
    known = _known(layout, {name: package.version for name, package in offered.items()})
    if known.exists():
        digest = known.read_text()
        if await asyncio.to_thread(_is_intact, layout.agent_disk(digest), digest):
            return digest, True
        shutil.rmtree(layout.agent_disk(digest).parent, ignore_errors=True)
    return await _make(layout, apt, on_line), False


def _is_intact(image: Path, digest: str) -> bool:
    """A damaged one is made anew, or no rebuild could ever mend a template."""
    try:
        return digest_file(image).sha256 == digest
    except OSError:
        return False


async def _make(layout: Layout, apt: Apt, on_line: Callable[[str], None] | None) -> str:
    with work_folder(layout.work) as work:
        downloads, tree, finished = work / "debs", work / "tree", work / "agent"
        for folder in (downloads, tree, finished):
            folder.mkdir()
        debs = await apt.fetch(PACKAGES, downloads, on_line)
        versions = {name: await version_of(deb) for name, deb in debs.items()}
        for deb in debs.values():
            await _unpack_package(deb, tree, work / "package.tar")
        await add_agent(tree)
        await _compile(tree)
        image = finished / "agent.ext4"
        await image_of(tree, image)
        digest = (await asyncio.to_thread(digest_file, image)).sha256
        finished.chmod(0o755)
        publish(finished, layout.agent_disk(digest).parent)
        note = work / "note"
        note.write_text(digest)
        publish(note, _known(layout, versions))
    return digest


def _known(layout: Layout, versions: dict[str, str]) -> Path:
    """Where the cache keeps the digest of the disk that these inputs give."""
    return layout.cache / "agent-disks" / inputs_digest(versions)


def inputs_digest(versions: dict[str, str]) -> str:
    """What tells one agent disk from another before it is made: packages, agent, recipe."""
    recipe = (Path(__file__), Path(ext4.__file__), Path(unpack.__file__))
    digest = hashlib.sha256(repr(sorted(versions.items())).encode())
    for path in (*recipe, *agent_sources()):
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def agent_sources() -> Iterable[Path]:
    """Every source file that the disk is made of."""
    yield from sorted((AGENT / "sandbox_guest").rglob("*.py"))
    yield from sorted((AGENT / "native").glob("*.[ch]"))
    yield AGENT / "native" / "build.py"
    yield AGENT / "main.py"


async def _unpack_package(deb: Path, tree: Path, archive: Path) -> None:
    await run(["sh", "-c", 'dpkg-deb --fsys-tarfile "$1" >"$2"', "sh", deb, archive])
    with archive.open("rb") as stream:
        await asyncio.to_thread(unpack.unpack, stream, tree, _LIMITS, kept_as)


async def add_agent(tree: Path) -> None:
    """Put the agent's files below `tree`/agent."""
    folder = tree / "agent"
    shutil.copytree(
        AGENT / "sandbox_guest",
        folder / "sandbox_guest",
        ignore=lambda _, names: [name for name in names if name == "__pycache__"],
    )
    shutil.copyfile(AGENT / "main.py", folder / "main.py")
    await run([sys.executable, AGENT / "native" / "build.py", folder / "libspawn.so"])


async def _compile(tree: Path) -> None:
    libraries = tree / _LIBRARIES
    interpreter: list[str | Path] = [
        libraries / "ld-linux-x86-64.so.2", "--library-path", libraries,
        tree / "usr/bin/python3.11", "-s", "-S", "-B",
    ]  # fmt: skip
    options: list[str | Path] = [
        "-q",
        "-f",
        "--invalidation-mode",
        "unchecked-hash",
        "-s",
        tree,
        "-p",
        MOUNT,
    ]
    await run(
        [*interpreter, "-m", "compileall", *options, tree / _STDLIB, tree / "agent"],
        # One hash seed, or the order of frozen sets would differ from build to build.
        env={"PYTHONHASHSEED": "0", "PYTHONHOME": str(tree / "usr"), "PYTHONPATH": ""},
    )


async def image_of(tree: Path, image: Path) -> None:
    """Make the image of a finished tree: root's, read-only modes, and no times."""
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    size_mib, entries = ext4.size_of(tree)
    await ext4.make_image(tree, image, size_mib, "sandbox-agent")
    await ext4.erase_times(image, entries + 32)
