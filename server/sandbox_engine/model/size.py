"""Sizes: names for CPUs and memory, and the key that claims and pools go by.  Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from msgspec import Struct

from sandbox_engine.errors import InvalidArgument

DEFAULT_NET = "none"
EGRESS_NET = "egress"
NETS = (DEFAULT_NET, EGRESS_NET)
"""The network lanes: no interface, or one that reaches the broker only."""
DEFAULT_SIZE = "small"


class Size(Struct, frozen=True, kw_only=True):
    """What a machine is given."""

    cpus: int
    memory_mib: int


class Key(Struct, frozen=True):
    """What a claim asks for and a pool holds."""

    template: str
    net: str = DEFAULT_NET
    size: str = DEFAULT_SIZE

    def __str__(self) -> str:
        return f"{self.template} {self.net} {self.size}"

    def digest(self) -> str:
        """A stable hash, by which the usage journal names a key."""
        text = f"{self.template}\0{self.net}\0{self.size}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


STANDARD: dict[str, Size] = {
    "small": Size(cpus=1, memory_mib=512),
    "medium": Size(cpus=2, memory_mib=1024),
    "large": Size(cpus=4, memory_mib=4096),
    "xlarge": Size(cpus=4, memory_mib=8192),
    "2xlarge": Size(cpus=8, memory_mib=16384),
}


class Sizes:
    """The table: the standard sizes, and what the configuration adds or changes."""

    def __init__(self, configured: Mapping[str, Size] | None = None) -> None:
        self._table = STANDARD | dict(configured or {})

    def get(self, name: str) -> Size:
        """The size of this name.  Raises `InvalidArgument`."""
        size = self._table.get(name)
        if size is None:
            raise InvalidArgument("size", f"unknown size {name!r}: one of {', '.join(self._table)}")
        return size

    def name_of(self, size: Size) -> str:
        """A name of this size, or nothing."""
        return next((name for name, one in self._table.items() if one == size), "")
