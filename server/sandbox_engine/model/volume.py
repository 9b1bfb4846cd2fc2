"""Catalog volumes: what a node offers, and who may have what at once.  Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from sandbox_engine.errors import InvalidArgument

MAX_VOLUMES = 8
_VOLUME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}\Z")
_SYSTEM = {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin"}
_SYSTEM |= {"sys", "usr"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
RO, RW = "ro", "rw"


class VolumeWish(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `volumes`."""

    name: str
    mount: str = ""
    mode: str = ""


class Entry(Struct, frozen=True, kw_only=True):
    """One volume of the catalog."""

    name: str
    path: str
    """Its image, a raw filesystem; never told to anybody."""
    writable: bool = False
    tenants: tuple[str, ...] | None = None
    """Who may use it beside the operator; None is everybody."""

    @property
    def default_mount(self) -> str:
        """Where it is mounted unless a claim says otherwise."""
        return f"/volumes/{self.name}"

    def permits(self, tenant: str | None) -> bool:
        """Whether a tenant (None: the operator) may use it."""
        return tenant is None or self.tenants is None or tenant in self.tenants


class Grant(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One volume of a claim, as it is on record."""

    name: str
    mount: str = ""
    """Empty where it is attached only."""
    mode: str = RO

    @property
    def writable(self) -> bool:
        """Whether the guest may write it."""
        return self.mode == RW


def grants(
    catalog: Mapping[str, Entry], wishes: list[VolumeWish], *, tenant: str | None, mounted: bool
) -> tuple[Grant, ...]:
    """What a claim gets.

    Raises `InvalidArgument`: one that is unknown and one that is another's cannot be told
    apart.
    """
    found = []
    for wish in wishes:
        entry = catalog.get(wish.name)
        if entry is None or not entry.permits(tenant):
            raise InvalidArgument("volumes", f"unknown volume {wish.name!r}")
        if wish.mode == RW and not entry.writable:
            raise InvalidArgument("volumes", f"{wish.name}: is not writable")
        mount = (wish.mount or entry.default_mount) if mounted else ""
        found.append(Grant(name=wish.name, mount=mount, mode=wish.mode or RO))
    return tuple(found)


def check_volumes(volumes: list[VolumeWish], *, attach_only: bool) -> None:
    """Names, modes and mounts that could be served by some catalog."""
    if attach_only and not volumes:
        raise InvalidArgument("volumes_attach_only", "needs volumes")
    if len(volumes) > MAX_VOLUMES:
        raise InvalidArgument("volumes", f"{len(volumes)} entries; the limit is {MAX_VOLUMES}")
    names: set[str] = set()
    mounts: list[str] = []
    for wish in volumes:
        if not _VOLUME.match(wish.name) or wish.name in names:
            raise InvalidArgument("volumes", f"{wish.name!r} is no volume's name, or named twice")
        names.add(wish.name)
        if wish.mode not in ("", "ro", "rw"):
            raise InvalidArgument("volumes", f"{wish.name}: mode must be ro or rw")
        if attach_only and wish.mount:
            raise InvalidArgument("volumes", f"{wish.name}: volumes_attach_only excludes a mount")
        mounts.append(check_mount(wish.mount or f"/volumes/{wish.name}"))
    _check_apart(mounts)


def check_mount(mount: str) -> str:
    """Absolute, clean and outside the guest's system; `mount` itself.  Raises."""
    parts = mount.split("/")
    if parts[0] or len(parts) < 2 or any(part in ("", ".", "..") for part in parts[1:]):
        raise InvalidArgument("volumes", f"mount {mount!r} is not an absolute, clean path")
    if parts[1] in _SYSTEM or _CONTROL.search(mount):
        raise InvalidArgument("volumes", f"mount {mount!r} lies in the guest's system")
    return mount


def _check_apart(mounts: list[str]) -> None:
    for mount in mounts:
        if sum(other == mount or other.startswith(mount + "/") for other in mounts) > 1:
            raise InvalidArgument("volumes", f"mount {mount!r} is used twice, or holds another")
