"""Write the reference page of libsandbox from the comments of its header.

    python -m tools.codegen.c_reference            write docs/libsandbox-reference.md
    python -m tools.codegen.c_reference --check    fail if it is not what would be written

The header is written for this: a `/** */` before each declaration, a `/**< */` after each
member, `@param` and `@return` where there is something to say.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "sdk/c/include/libsandbox.h"
PAGE = ROOT / "docs/libsandbox-reference.md"

TOP = """\
# libsandbox: reference

Written from the comments of [libsandbox.h](../sdk/c/include/libsandbox.h) by `make codegen`; the
tutorial is [libsandbox.md](libsandbox.md).
"""

ENTRY = re.compile(
    r"/\*\*(?P<doc>(?:[^*]|\*(?!/))*)\*/\n"
    r"(?P<code>#define [^\n]*\n|typedef (?:enum|struct) \{.*?\n\} \w+;\n|[^;{]*;\n)"
    r"|^/\*(?!\*)(?P<prose>(?:[^*]|\*(?!/))*)\*/\n"
    r"|^(?P<flag>#define SANDBOX_WRITE_\w+ \w+) +/\*\*<(?P<flag_doc>.*?)\*/\n",
    re.DOTALL | re.MULTILINE,
)
MEMBER = re.compile(r"^ {4}(?P<what>[^;,/]+?)[;,]? +/\*\*<(?P<doc>.*?)\*/$", re.MULTILINE)


def main() -> int:
    """Write the page, or with `--check` say whether it is stale."""
    text = render(HEADER.read_text())
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
        return 0
    if PAGE.exists() and PAGE.read_text() == text:
        return 0
    print(
        f"{PAGE.relative_to(ROOT)} is not what the header says: run `make codegen`", file=sys.stderr
    )
    return 1


def render(header: str) -> str:
    """The page of a header."""
    parts = [TOP]
    for match in ENTRY.finditer(header):
        if match["prose"] is not None:
            parts += prose(match["prose"])
        elif match["flag"] is not None:
            name = match["flag"].removeprefix("#define ")
            parts.append(f"- `{name}`: {cell(match['flag_doc'])}\n")
        else:
            parts += entry(words_by_line(match["doc"]), match["code"])
    return "\n".join(parts)


def prose(comment: str) -> Iterator[str]:
    """A comment that belongs to no declaration, laid out as it is in the header."""
    lines = words_by_line(comment)
    title = lines.strip().split(".")[0]
    heading = "Conventions" if title.startswith("libsandbox:") else title
    yield f"## {heading}\n\n```text\n{lines.strip(chr(10))}\n```\n"


def entry(doc: str, code: str) -> Iterator[str]:
    """A declaration with its comment."""
    pattern = r"\} (\w+);" if "{" in code else r"#define (\w+)|(\w+)\(|(\w+);"
    named = re.search(pattern, code)
    assert named is not None
    yield f"### {next(name for name in named.groups() if name)}\n"
    members = list(MEMBER.finditer(code))
    body, returns, parameters = sections(doc)
    if body:
        yield body + "\n"
    if members:
        rows = "".join(f"| `{m['what']}` | {cell(m['doc'])} |\n" for m in members)
        yield f"| | |\n|---|---|\n{rows}"
    else:
        yield f"```c\n{plain(code)}```\n"
    if parameters:
        yield "".join(f"- `{name}`: {text}\n" for name, text in parameters)
    if returns:
        yield "Returns\n\n" + "".join(f"- {one}\n" for one in returns)


def sections(doc: str) -> tuple[str, list[str], list[tuple[str, str]]]:
    """What a comment says, what may be returned, and of the parameters."""
    body, *tags = re.split(r"^\s*@", doc, flags=re.MULTILINE)
    returns: list[str] = []
    parameters = []
    for tag in tags:
        kind, _, text = tag.partition(" ")
        if kind == "return":
            returns = [code_words(one) for one in words(text).split("; ")]
        else:
            name, _, text = text.strip().partition(" ")
            parameters.append((name, code_words(words(text))))
    paragraphs = [code_words(words(one)) for one in re.split(r"\n\s*\n", body.strip())]
    return "\n\n".join(paragraphs), returns, parameters


def words(text: str) -> str:
    """Text with its line breaks and stars gone."""
    return re.sub(r"\s+", " ", text).strip()


def words_by_line(comment: str) -> str:
    """A comment without its stars."""
    return re.sub(r"^ \* ?", "", comment, flags=re.MULTILINE).rstrip()


def code_words(text: str) -> str:
    """Set names of the header as code."""
    return re.sub(r"(?<![`\w])(SANDBOX_\w+|sandbox_\w+(?:\(\))?)(?![`\w])", r"`\1`", text)


def cell(text: str) -> str:
    """Text for a table."""
    return code_words(words(text)).replace("|", "\\|")


def plain(code: str) -> str:
    """A declaration without the macro of its visibility."""
    lines = code.replace("SANDBOX_API ", "").splitlines(keepends=True)
    return "".join(
        [lines[0], *(line[min(12, len(line) - len(line.lstrip())) :] for line in lines[1:])]
    )


if __name__ == "__main__":
    raise SystemExit(main())
