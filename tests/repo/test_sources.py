"""Rules about source files: documented, short, finished."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_FILE = 500
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b|NotImplementedError")
SKIPPED = re.compile(r"pytest\.(?:mark\.)?(?:skip|xfail)|unittest\.mock")
SILENCED = re.compile(r"#\s*(?:noqa|type:\s*ignore)\S*(?:\s+[A-Z]+\d+,?)*(?P<reason>.*)")


@pytest.fixture
def judged(handwritten: list[Path]) -> list[Path]:
    """The source files without the rules themselves, which spell the words they forbid."""
    return [path for path in handwritten if path.parent != Path(__file__).parent]


def python(paths: list[Path]) -> list[Path]:
    return [path for path in paths if path.suffix == ".py"]


def lines_matching(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]


def test_every_module_says_what_it_is_for(handwritten: list[Path]) -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in python(handwritten)
        if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert not silent


def test_every_c_header_opens_with_a_comment(handwritten: list[Path]) -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in handwritten
        if path.suffix in {".h", ".hpp"} and not path.read_text().lstrip().startswith(("/*", "//"))
    ]
    assert not silent


def test_no_file_is_too_long_to_read(handwritten: list[Path]) -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in handwritten
        if (count := len(path.read_text().splitlines())) > LONGEST_FILE
    }
    assert not long


def test_nothing_is_marked_as_unfinished(judged: list[Path]) -> None:
    assert not lines_matching(UNFINISHED, judged)


def test_no_test_is_skipped_or_mocked(judged: list[Path]) -> None:
    assert not lines_matching(SKIPPED, python(judged))


def test_a_silenced_check_has_its_reason_beside_it(judged: list[Path]) -> None:
    bare = []
    for path in python(judged):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = SILENCED.search(line)
            if found and not re.match(r"\s+[-#]+ \w", found["reason"]):
                bare.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not bare


def test_only_one_module_of_the_server_creates_tasks(handwritten: list[Path]) -> None:
    creators = re.compile(r"create_task\(|ensure_future\(")
    server = [
        path
        for path in python(handwritten)
        if path.is_relative_to(ROOT / "server") and path.name != "tasks.py"
    ]
    assert not lines_matching(creators, server)


def test_the_agent_imports_only_the_standard_library(handwritten: list[Path]) -> None:
    foreign = []
    for path in python(handwritten):
        if not path.is_relative_to(ROOT / "guest_agent"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names.append(node.module)
            tops = {name.split(".")[0] for name in names}
            foreign += [
                f"{path.relative_to(ROOT)}: {top}"
                for top in tops - sys.stdlib_module_names - {"sandbox_guest"}
            ]
    assert not foreign
