"""Catalog volumes: what a node offers, what a claim gets, how that may change.  Pure.

In a machine that takes volumes disks wait for them, read-only ones and writable ones: whether
a disk can be written is the device's, from its birth.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sandbox_engine.errors import InvalidArgument, NotOffered

MAX_VOLUMES = 8
_VOLUME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}\Z")
_SYSTEM = {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin"}
_SYSTEM |= {"sys", "usr"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
RO, RW = "ro", "rw"


def volume_disk(number: int, mode: str) -> str:
    """Serial number of a disk that waits for a volume; `number` is below `MAX_VOLUMES`."""
    return f"volume-{mode}-{number}"


VOLUME_SERIALS = tuple(
    volume_disk(number, mode) for mode in (RO, RW) for number in range(MAX_VOLUMES)
)


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
    disk: str = ""
    """Serial number of the disk that it is behind."""

    @property
    def writable(self) -> bool:
        """Whether the guest may write it."""
        return self.mode == RW

    @property
    def changeable(self) -> bool:
        """Whether it can come and go while the claim lives: what is only read, by a mount of ours.

        A writer's end is the claim's, which the marker and the usage journal go by.
        """
        return bool(self.mount) and not self.writable


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
    return placed(found)


def placed(wanted: Iterable[Grant], taken: Collection[str] = ()) -> tuple[Grant, ...]:
    """Each on a disk of its own, while there are; `taken` ones are in use."""
    grants = tuple(wanted)
    used = {*taken, *(grant.disk for grant in grants)}
    found = []
    for grant in grants:
        names = (volume_disk(number, grant.mode) for number in range(MAX_VOLUMES))
        disk = grant.disk or next((name for name in names if name not in used), "")
        used.add(disk)
        found.append(replace(grant, disk=disk))
    return tuple(found)


def together(*sets: Iterable[Grant]) -> tuple[Grant, ...]:
    """Every volume of the sets, each name once."""
    return tuple({grant.name: grant for grants in sets for grant in grants}.values())


def exactly(held: Sequence[Grant], asked: Sequence[VolumeWish]) -> list[VolumeWish]:
    """What is new where a live claim that holds `held` is to have `asked`.

    Raises `InvalidArgument`, and `NotOffered` for what only a new claim can have.
    """
    check_volumes(asked, attach_only=False)
    return [wish for wish in asked if _is_new(held, wish)]


def kept(held: Sequence[Grant], asked: Collection[str]) -> tuple[Grant, ...]:
    """What stays where only `asked` is wanted: that, and what cannot go."""
    return tuple(one for one in held if one.name in asked or not one.changeable)


def without(held: Sequence[Grant], removed: Collection[str]) -> tuple[Grant, ...]:
    """What stays where `removed` is not wanted any more.  Raises `NotOffered`."""
    for grant in held:
        if grant.name in removed and not grant.changeable:
            how = "writable" if grant.writable else "attached only"
            raise NotOffered(f"volume {grant.name!r} is {how}: it goes with the claim")
    return tuple(one for one in held if one.name not in removed)


def _is_new(held: Sequence[Grant], wish: VolumeWish) -> bool:
    have = next((one for one in held if one.name == wish.name), None)
    if have is None:
        if wish.mode == RW:
            raise InvalidArgument("volumes", f"{wish.name}: rw is for a claim to ask for")
        return True
    if (wish.mode or RO) != have.mode:
        raise NotOffered(f"volume {wish.name!r} is held {have.mode}")
    if wish.mount and wish.mount != have.mount:
        where = f"mounted on {have.mount}" if have.mount else "attached only"
        raise NotOffered(f"volume {wish.name!r} is {where}")
    return False


def check_fits(volumes: Sequence[Grant]) -> None:
    """Whether one machine can have all of these.  Raises `InvalidArgument`."""
    if len(volumes) > MAX_VOLUMES:
        raise InvalidArgument("volumes", f"{len(volumes)} volumes; the limit is {MAX_VOLUMES}")
    _check_apart([grant.mount for grant in volumes if grant.mount])


def check_volumes(volumes: Sequence[VolumeWish], *, attach_only: bool) -> None:
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
