"""Draw the sandbox lifecycle from its table into ARCHITECTURE.md.

`python -m tools.diagram` writes it, `--check` says whether what is written is current.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sandbox_engine.model.machine import TABLE, State

DOCUMENT = Path(__file__).parents[1] / "ARCHITECTURE.md"
BEGIN, END = "<!-- lifecycle:begin -->\n", "<!-- lifecycle:end -->\n"
FIRST, LAST = State.RUNNING, State.DESTROYED


def render() -> str:
    """The diagram as a mermaid block: an arrow a pair of states, labelled with its inputs."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for (state, given), after in TABLE.items():
        arrows.setdefault((state.value, after.value), []).append(given.value)
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {FIRST.value}: handed out"]
    lines += [
        f"    {before} --> {after}: {', '.join(inputs)}"
        for (before, after), inputs in arrows.items()
    ]
    return "\n".join([*lines, f"    {LAST.value} --> [*]", "```", ""])


def drawn(text: str) -> str:
    """What stands between the markers of the document `text`."""
    return text.partition(BEGIN)[2].partition(END)[0]


def main() -> int:
    """Write or check; 1 where the check finds another diagram."""
    text = DOCUMENT.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        print(f"{DOCUMENT.name} has no place for the diagram: {BEGIN}{END}", file=sys.stderr)
        return 1
    if drawn(text) == render():
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{DOCUMENT.name}: the diagram is old; run `make codegen`", file=sys.stderr)
        return 1
    DOCUMENT.write_text(before + begin + render() + end + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
