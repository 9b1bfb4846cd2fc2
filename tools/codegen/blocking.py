"""Makes the Python SDK's blocking client of its asynchronous one.

The two differ in words alone: `async` and `await` go, and a few names have a counterpart.
What differs in more than words (`_wire_async` and `_wire_sync`) is written twice by hand,
and is small.  The result is formatted by ruff, so that a check compares what is committed.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

from tools.codegen.buf import ROOT

SOURCE = ROOT / "sdk/python/sandbox_sdk/_async"
OUTPUT = ROOT / "sdk/python/sandbox_sdk/_sync"
HEADER = "# Generated from `_async/{name}` by tools/codegen/blocking.py: change that one.\n"
NAMES = {
    "AsyncIterator": "Iterator",
    "StopAsyncIteration": "StopIteration",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "_async": "_sync",
    "_wire_async": "_wire_sync",
}
OWN = re.compile(r"Async(?=[A-Z]\w*$)")
DROPPED = {"async", "await"}
IN_TEXT = re.compile(r"\bAsync(?=[A-Z])")


def generate() -> dict[str, str]:
    """File name to text, formatted."""
    return {path.name: _formatted(path) for path in sorted(SOURCE.glob("*.py"))}


def blocking(text: str) -> str:
    """A module without waiting: the same tokens, some of them gone or renamed."""
    kept: list[str] = []
    line, column = 1, 0
    lines = text.splitlines(keepends=True)
    dropped = False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        gap = _between(lines, (line, column), token.start)
        kept.append("" if dropped else gap)
        dropped = token.type == tokenize.NAME and token.string in DROPPED
        kept.append("" if dropped else _renamed(token))
        line, column = token.end
    return _imports_once("".join(kept))


def _renamed(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME:
        return NAMES.get(token.string) or OWN.sub("", token.string)
    if token.type == tokenize.STRING:
        return IN_TEXT.sub("", token.string)
    return token.string


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]] if start[0] <= len(lines) else ""
    middle = lines[start[0] : end[0] - 1]
    last = lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else ""
    return lines[start[0] - 1][start[1] :] + "".join(middle) + last


def _imports_once(text: str) -> str:
    return text.replace("import Iterator, Iterator", "import Iterator")


def _formatted(path: Path) -> str:
    text = HEADER.format(name=path.name) + blocking(path.read_text())
    text = text.replace(
        "The client for `asyncio`: the source that `sandbox_sdk._sync` is generated from.",
        "The blocking client, generated from `sandbox_sdk._async`.",
    )
    ours = "lint.isort.known-first-party=['sandbox_sdk']"  # not told of text on standard input
    check = ["check", "--select", "I,F401", "--fix-only", "-q", "--config", ours]
    for command in (check, ["format", "-q"]):
        ruff = [sys.executable, "-m", "ruff", *command]
        name = OUTPUT / path.name
        done = subprocess.run(
            [*ruff, "--stdin-filename", str(name), "-"],
            input=text, capture_output=True, text=True, check=True, cwd=ROOT,
        )  # fmt: skip
        text = done.stdout
    return text
