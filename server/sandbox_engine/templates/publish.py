"""From a finished bake to a template that others can see: overlay, manifest, one rename."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from sandbox_engine.errors import TemplateCorrupt, TemplateIncompatible, TemplateNotFound
from sandbox_engine.model.template import Manifest, encode_manifest, name_to_file
from sandbox_engine.templates.commands import run
from sandbox_engine.templates.digests import Identity, identity_of
from sandbox_engine.templates.layout import (
    CURRENT,
    MANIFEST,
    OVERLAY,
    ROOTFS,
    Layout,
    TemplateFiles,
)
from sandbox_engine.templates.store import TemplateStore
from sandbox_engine.templates.verify import verify_files
from sandbox_engine.templates.work import link, make_folders, publish

FACTS = "facts"
"""What a bake found out, beside its files until they are published."""


async def make_overlay(folder: Path, final: Path, disk_mib: int) -> Path:
    """Make the empty overlay of a template in `folder` that will be published at `final`.

    It names its backing file by its final path, where nothing is yet.
    """
    overlay = folder / OVERLAY
    overlay.unlink(missing_ok=True)
    await run(
        [
            "qemu-img", "create", "-q", "-u", "-f", "qcow2", "-F", "raw",
            "-b", final / ROOTFS, overlay, f"{disk_mib}M",
        ]
    )  # fmt: skip
    return overlay


def place(layout: Layout, baked: Path, final: Path, manifest: Manifest) -> None:
    """Publish `baked` at `final`, and turn the template's name to it.  Blocks."""
    (baked / MANIFEST).write_bytes(encode_manifest(manifest))
    for path in baked.iterdir():
        path.chmod(0o644)
    baked.chmod(0o755)
    make_folders(final.parent)
    publish(baked, final)
    link(final, final.parent / CURRENT, layout.work)
    (final / FACTS).unlink(missing_ok=True)  # not before: a retry needs it


def new_generation(layout: Layout, name: str, inputs: str) -> Path:
    """Where the next build of `name` goes."""
    return layout.template(name) / f"{inputs[:16]}-{time.time_ns():x}"


async def already_published(
    layout: Layout, store: TemplateStore, name: str, inputs: str
) -> TemplateFiles | None:
    """The template, if it was made of these inputs and every byte of it is as published.

    Files whose identity is the one noted when they were last known to be good are not
    read again: that is what makes a second build instant.
    """
    try:
        files = store.find(name)
    except (TemplateNotFound, TemplateCorrupt, TemplateIncompatible):
        return None
    if files.manifest.inputs != inputs:
        return None
    if _identities(files) != _noted(layout, name):
        before = _identities(files)
        if await asyncio.to_thread(verify_files, files):
            return None
        _note(layout, name, before)
    return files


class _Note(Struct, frozen=True):
    identities: list[Identity]


def note_untouched(layout: Layout, files: TemplateFiles) -> None:
    """Remember that `files` are good as they are now."""
    _note(layout, files.manifest.name, _identities(files))


def _identities(files: TemplateFiles) -> list[Identity]:
    try:
        return [identity_of(path.stat()) for _, path, _ in files.expected()]
    except OSError:
        return []


def _note(layout: Layout, name: str, identities: list[Identity]) -> None:
    path = _note_path(layout, name)
    make_folders(path.parent)
    path.write_bytes(msgspec.json.encode(_Note(identities)))


def _noted(layout: Layout, name: str) -> list[Identity] | None:
    try:
        return msgspec.json.decode(_note_path(layout, name).read_bytes(), type=_Note).identities
    except (OSError, msgspec.DecodeError):
        return None


def _note_path(layout: Layout, name: str) -> Path:
    return layout.cache / "untouched" / name_to_file(name)
