"""Rules about the documents: forms hold, links lead somewhere, the diagram is true."""

from __future__ import annotations

import re
from pathlib import Path

from tools import diagram

ROOT = Path(__file__).parents[2]
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")
FENCE = re.compile(r"^```(?P<info>.*)$", re.MULTILINE)
# `console` and `python run` are executed by tests; the others only show.
LANGUAGES = {
    "console", "console walk", "toml walk", "python run", "python", "sh", "toml", "json", "proto",
    "c", "cpp", "text", "mermaid",
    "go", "java", "rust", "typescript",
}  # fmt: skip


def documents(tracked: list[Path]) -> list[Path]:
    return [path for path in tracked if path.suffix == ".md"]


def test_changelog_keeps_its_form() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    assert lines[0] == "# Changelog"
    releases = [line for line in lines if line.startswith("## ")]
    assert releases[0] == "## [Unreleased]"
    release = re.compile(r"## \[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}")
    assert all(release.fullmatch(line) for line in releases[1:])
    kinds = [line.removeprefix("### ") for line in lines if line.startswith("### ")]
    assert kinds
    assert set(kinds) <= KINDS


def test_decisions_are_dated_and_give_a_reason() -> None:
    text = (ROOT / "DECISIONS.md").read_text()
    entries = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert entries
    for entry in entries:
        title, _, body = entry.partition("\n")
        assert re.match(r"\d{4}-\d{2}-\d{2} \S", title), title
        assert len(body.split()) >= 12, f"{title}: no reason given"


def test_relative_links_lead_to_files(tracked: list[Path]) -> None:
    broken = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in documents(tracked)
        for target in LINK.findall(path.read_text())
        if not (path.parent / target).exists()
    ]
    assert not broken


def test_every_code_block_says_what_it_is(tracked: list[Path]) -> None:
    unknown = [
        f"{path.relative_to(ROOT)}: ```{info}"
        for path in documents(tracked)
        for info in FENCE.findall(path.read_text())[::2]
        if info.strip() not in LANGUAGES
    ]
    assert not unknown


def test_readme_has_a_place_for_the_measures() -> None:
    text = (ROOT / "README.md").read_text()
    assert text.count("<!-- bench:begin -->") == text.count("<!-- bench:end -->") == 1


def test_the_lifecycle_is_drawn_from_its_table() -> None:
    assert diagram.drawn(diagram.DOCUMENT.read_text()) == diagram.render()


def test_every_page_of_docs_is_reached_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    pages = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    assert not {page for page in pages if page not in readme}
