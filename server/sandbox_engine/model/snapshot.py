"""What a saved sandbox is: its record beside its memory, its devices and its disk.  Pure.

The memory is what differs from the memory of one generation of a template, the disk is
a stack of frozen overlays over the image of that same generation: a record names both,
and neither is ever written again.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable

from msgspec import Struct

from sandbox_engine.model.size import Key
from sandbox_engine.model.template import Platform

FORMAT = 1
CHUNK_BYTES = 16 << 20
"""Of the content digest (seed "promote")."""
_DIGEST_VERSION = b"sandbox-export/1\n"


class Kind(enum.Enum):
    """What a record is kept for."""

    HIBERNATION = "hibernation"
    """The state of a sandbox that sleeps; its id is the sandbox's."""
    CHECKPOINT = "checkpoint"
    TEMPLATE = "template"
    """The state of a sandbox, published under a name and a key (seed "promote")."""


class Origin(Struct, frozen=True, kw_only=True):
    """What a sandbox's machine stands on."""

    template: str
    template_digest: str
    memory_mib: int
    vcpus: int
    booted: bool
    """Its memory began with zeros and not with the template's."""
    layers: tuple[str, ...]
    """Frozen overlays over the template's image, the lowest first."""


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One saved state."""

    format: int = FORMAT
    id: str
    kind: Kind
    sandbox_id: str
    origin: Origin
    platform: Platform
    """What its device state is bound to."""
    created_at: float
    memory_bytes: int
    """Size of the memory's file: what the record alone takes, but for the disk."""
    name: str = ""
    tenant: str | None = None
    net: str = "none"
    size: str = ""
    parent: str = ""
    """The checkpoint that the sandbox was branched from."""
    promoted: str = ""
    """The promoted template that the sandbox was claimed as."""
    content_digest: str = ""
    """Of what a template is made of."""
    labels: dict[str, str] = {}
    """Of a template."""

    @property
    def key(self) -> Key:
        """What a template is claimed as."""
        return Key(self.name, self.net, self.size)


def content_digest(files: Iterable[tuple[str, int, Iterable[bytes]]]) -> str:
    """`sha256:` over a canonical stream of an export (seed "promote").

    A file is its slash-relative path, its length and the SHA-256 of each 16 MiB chunk of
    its bytes; files come in the order of their paths.  Modes, times, folders and who made
    the export are no part of it.
    """
    whole = hashlib.sha256(_DIGEST_VERSION)
    for path, length, chunks in sorted(files, key=lambda file: file[0].encode()):
        name = path.encode()
        whole.update(len(name).to_bytes(8, "big") + name + length.to_bytes(8, "big"))
        for chunk in chunks:
            whole.update(chunk)
    return f"sha256:{whole.hexdigest()}"
