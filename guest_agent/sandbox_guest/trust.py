"""The root that signs for what the egress broker looks into, among those the guest trusts.

It stands at the end of the system's bundle, between two comments by which it is found again,
and in a file of its own for programs that take more roots than their own.
"""

from __future__ import annotations

from pathlib import Path

from sandbox_guest.places import Places

BEGIN = "# The roots of this sandbox's egress, put here by its agent.\n"
END = "# The end of the roots of this sandbox's egress.\n"


def set_trust(places: Places, pem: str) -> None:
    """Trust exactly these certificates besides the system's; none where empty.

    Raises `OSError`.
    """
    bundle = Path(places.etc) / "ssl/certs/ca-certificates.crt"
    own = Path(places.state) / "egress-ca.crt"
    before = bundle.read_text() if bundle.exists() else ""
    after = _without(before)
    if pem:
        pem = pem.rstrip("\n") + "\n"
        after += BEGIN + pem + END
        bundle.parent.mkdir(parents=True, exist_ok=True)
        own.parent.mkdir(parents=True, exist_ok=True)
        _replace(own, pem)
    else:
        own.unlink(missing_ok=True)
    if after != before:
        _replace(bundle, after)


def _without(bundle: str) -> str:
    head, found, rest = bundle.partition(BEGIN)
    return head + rest.partition(END)[2] if found else bundle


def _replace(path: Path, text: str) -> None:
    """In one step, readable by everybody."""
    partial = path.with_name(f".{path.name}.new")
    partial.write_text(text)
    partial.chmod(0o644)
    partial.replace(path)
