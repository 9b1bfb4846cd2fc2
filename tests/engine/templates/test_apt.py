"""Debian packages: asked for by name, fetched, never installed (needs the host's apt sources)."""

from __future__ import annotations

from pathlib import Path

import pytest
from sandbox_engine.templates.apt import Apt, PackageMissing, version_of
from sandbox_engine.templates.kernel import META_PACKAGE


async def test_offers_name_versions_and_dependencies(tmp_path: Path) -> None:
    offered = await Apt(tmp_path / "apt").offered([META_PACKAGE, "zlib1g"])
    assert set(offered) == {META_PACKAGE, "zlib1g"}
    assert offered["zlib1g"].version
    assert "linux-image-" in offered[META_PACKAGE].depends


async def test_a_package_nobody_offers_is_named(tmp_path: Path) -> None:
    with pytest.raises(PackageMissing, match="no-such-package-anywhere"):
        await Apt(tmp_path / "apt").offered(["zlib1g", "no-such-package-anywhere"])
    assert (tmp_path / "apt" / "lists").exists()  # private lists were fetched before giving up


async def test_a_host_without_package_lists_gets_private_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "apt.conf"
    bare.write_text(f'Dir::State::Lists "{tmp_path}/empty";\n')
    monkeypatch.setenv("APT_CONFIG", str(bare))
    apt = Apt(tmp_path / "apt")
    assert (await apt.offered(["zlib1g"]))["zlib1g"].version
    assert (await apt.fetch(["zlib1g"], tmp_path))["zlib1g"].exists()


async def test_a_fetched_package_is_a_file_of_the_offered_version(tmp_path: Path) -> None:
    apt = Apt(tmp_path / "apt")
    debs = tmp_path / "debs"
    debs.mkdir()
    files = await apt.fetch(["zlib1g", "libbz2-1.0"], debs)
    assert set(files) == {"zlib1g", "libbz2-1.0"}
    offered = await apt.offered(["zlib1g"])
    assert await version_of(files["zlib1g"]) == offered["zlib1g"].version
