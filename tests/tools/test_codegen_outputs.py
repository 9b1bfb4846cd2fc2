"""Drift of generated code is found in every form it can have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.codegen.outputs import differences, publish, stale


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """A fresh tree and a committed one, equal."""
    fresh, committed = tmp_path / "fresh", tmp_path / "committed"
    for tree in (fresh, committed):
        for name in ("gen/a.py", "gen/b.py", "proto/image.binpb"):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(name)
    (committed / "gen/__init__.py").write_text("by hand")
    (committed / "proto/x.proto").write_text("a source beside a generated file")
    return fresh, committed


def test_equal_trees_do_not_differ(trees: tuple[Path, Path]) -> None:
    assert differences(*trees) == []


def test_what_changed_is_missing_or_is_generated_no_longer_differs(
    trees: tuple[Path, Path],
) -> None:
    fresh, committed = trees
    (committed / "gen/a.py").write_text("edited")
    (committed / "gen/b.py").unlink()
    (committed / "gen/gone.py").write_text("its proto is gone")
    assert differences(fresh, committed) == ["gen/a.py", "gen/b.py", "gen/gone.py"]
    assert stale(fresh, committed) == [committed / "gen/gone.py"]


def test_publishing_leaves_what_is_current_untouched(trees: tuple[Path, Path]) -> None:
    fresh, committed = trees
    (committed / "gen/b.py").write_text("edited")
    before = (committed / "gen/a.py").stat().st_mtime_ns
    publish(fresh, committed)
    assert differences(fresh, committed) == []
    assert (committed / "gen/a.py").stat().st_mtime_ns == before
