"""The shelf of published templates."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sandbox_engine.errors import (
    TemplateBusy,
    TemplateCorrupt,
    TemplateIncompatible,
    TemplateNotFound,
)
from sandbox_engine.model.template import FORMAT, encode_manifest
from sandbox_engine.templates.layout import Layout
from sandbox_engine.templates.store import TemplateStore
from sandbox_engine.templates.work import exclusive

from tests.engine.templates.making import published


@pytest.fixture
def store(data: Path) -> TemplateStore:
    """The shelf of an empty data folder."""
    return TemplateStore(data)


def test_an_empty_shelf(store: TemplateStore) -> None:
    assert store.names() == []
    assert store.newest_kernel() is None
    assert store.newest_initramfs() is None
    store.sweep()
    with pytest.raises(TemplateNotFound):
        store.find("base")
    with pytest.raises(TemplateNotFound):
        store.remove("base")


@pytest.mark.parametrize("name", ["base", "team/py:3.11", "A.b_c-d"])
def test_what_is_published_is_found_by_its_name(
    data: Path, store: TemplateStore, name: str
) -> None:
    files = published(data, name)
    assert store.names() == [name]
    assert store.find(name) == files
    assert files.manifest.name == name
    for _, path, digest in files.expected():
        assert path.stat().st_size == digest.size


def test_published_files_are_root_s_and_nobody_s_to_write(data: Path) -> None:
    files = published(data)
    for path in files.directory.iterdir():
        assert path.stat().st_mode & 0o7777 == 0o644
        assert (path.stat().st_uid, path.stat().st_gid) == (0, 0)
    assert os.readlink(files.directory.parent / "current") == files.directory.name


@pytest.mark.parametrize("name", ["", "..", "../etc", ".locks", "base/../base", "a" * 64, "a\0b"])
def test_what_can_be_no_name_is_not_found(data: Path, store: TemplateStore, name: str) -> None:
    published(data)
    with pytest.raises(TemplateNotFound):
        store.find(name)
    with pytest.raises(TemplateNotFound):
        store.remove(name)
    assert store.names() == ["base"]


def test_removed_is_gone_and_can_be_published_again(data: Path, store: TemplateStore) -> None:
    published(data)
    store.remove("base")
    assert store.names() == []
    with pytest.raises(TemplateNotFound):
        store.remove("base")
    published(data)
    assert store.names() == ["base"]


def test_what_is_being_built_is_not_removed(data: Path, store: TemplateStore) -> None:
    published(data)
    with exclusive(Layout(data).lock("base"), "it"), pytest.raises(TemplateBusy):
        store.remove("base")
    assert store.names() == ["base"]


def test_a_manifest_that_is_damaged_or_missing_is_corruption(
    data: Path, store: TemplateStore
) -> None:
    manifest = published(data).directory / "manifest.bin"
    manifest.write_bytes(manifest.read_bytes()[:-1])
    with pytest.raises(TemplateCorrupt, match=r"manifest\.bin.*checksum"):
        store.find("base")
    manifest.unlink()
    with pytest.raises(TemplateCorrupt, match=r"manifest\.bin.*No such file"):
        store.find("base")
    assert store.names() == ["base"]


def test_a_manifest_of_another_format_asks_for_a_rebuild(data: Path, store: TemplateStore) -> None:
    with pytest.raises(TemplateIncompatible, match="rebuild"):
        published(data, format=FORMAT + 1)  # it looks for what it published
    with pytest.raises(TemplateIncompatible, match=rf"manifest\.bin.*{FORMAT + 1}"):
        store.find("base")


def test_a_template_under_another_s_name_is_corruption(data: Path, store: TemplateStore) -> None:
    files = published(data, "one")
    (data / "templates" / "two").symlink_to("one")
    with pytest.raises(TemplateCorrupt, match="'one'"):
        store.find("two")
    assert store.find("one") == files


def test_a_rebuilt_template_is_the_new_one_and_the_old_is_swept(
    data: Path, store: TemplateStore
) -> None:
    old = published(data)
    new = published(data, memory_mib=128)
    assert store.find("base") == new
    assert old.memory.exists()  # clones may still be starting from it
    with exclusive(Layout(data).lock("base"), "it"):
        store.sweep()
        assert old.memory.exists()
    store.sweep()
    assert not old.directory.exists()
    assert store.find("base") == new


def test_a_manifest_is_what_its_digest_says(data: Path) -> None:
    files = published(data)
    assert (files.directory / "manifest.bin").read_bytes() == encode_manifest(files.manifest)
    assert files.digest.startswith("sha256:")
