"""What the documents hold: code blocks, each with its language and place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCED = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block of a document."""

    document: Path
    line: int
    info: str
    body: str

    @property
    def place(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


def documents() -> list[Path]:
    """The documents whose blocks are tested: the README and the pages of `docs/`."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(document: Path, info: str) -> list[Block]:
    """The blocks of `document` that are marked `info`."""
    text = document.read_text()
    return [
        Block(document, text.count("\n", 0, found.start()) + 1, info, found["body"])
        for found in FENCED.finditer(text)
        if found["info"].strip() == info
    ]
