"""`python -m tools.codegen [--check | --accept-breaking]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tools.codegen import blocking, c_messages, c_reference, languages
from tools.codegen.buf import ROOT, buf
from tools.codegen.outputs import differences, publish, stale

IMAGE = Path("proto/image.binpb")
"""The API as it was last accepted; `buf breaking` compares with it."""


def rules(*, accept_breaking: bool) -> bool:
    """Lint, formatting, and compatibility with the accepted API."""
    held = buf("lint") and buf("format", "--diff", "--exit-code")
    if not held or accept_breaking or not (ROOT / IMAGE).exists():
        return held
    if buf("breaking", "--against", IMAGE):
        return True
    print("the API would break its clients; if that is meant: --accept-breaking", file=sys.stderr)
    return False


def generate(into: Path) -> bool:
    """Write every language's code and the API's image below `into`."""
    left_out = [plugins.template for plugins in languages.install()]
    for template in sorted(set(ROOT.glob("buf.gen*.yaml")) - set(left_out)):
        if not buf("generate", "--template", template, "--output", into):
            return False
    source = into / c_messages.OUTPUT.relative_to(ROOT)
    source.mkdir(parents=True)
    for name, text in c_messages.generate(c_messages.load()).items():
        (source / name).write_text(text)
    client = into / blocking.OUTPUT.relative_to(ROOT)
    client.mkdir(parents=True, exist_ok=True)
    for name, text in blocking.generate().items():
        (client / name).write_text(text)
    page = into / c_reference.PAGE.relative_to(ROOT)
    page.parent.mkdir()
    page.write_text(c_reference.render(c_reference.HEADER.read_text()))
    (into / IMAGE).parent.mkdir(parents=True, exist_ok=True)
    return buf("build", "--exclude-source-info", "--output", into / IMAGE)


def check(fresh: Path) -> bool:
    """Name every committed file that is not what it was made from."""
    drift = differences(fresh, ROOT)
    for name in drift:
        print(f"not current: {name} (run `python -m tools.codegen`)", file=sys.stderr)
    return not drift


def main() -> int:
    """Exit status 0: done, or nothing differs."""
    parser = argparse.ArgumentParser(prog="python -m tools.codegen", description=__doc__)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="change nothing, report drift")
    mode.add_argument("--accept-breaking", action="store_true", help="accept a breaking API")
    chosen = parser.parse_args()
    if not rules(accept_breaking=chosen.accept_breaking):
        return 1
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        if not generate(fresh):
            return 1
        if chosen.check:
            return 0 if check(fresh) else 1
        for path in stale(fresh, ROOT):
            path.unlink()
        publish(fresh, ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
