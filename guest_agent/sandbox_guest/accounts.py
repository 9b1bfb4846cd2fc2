"""Who a command may run as, read from the guest's own passwd and group files.

Not by the `pwd` module: the agent brings its own C library, whose name services know
nothing of the guest's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sandbox_guest.spawn import Account


class NoSuchUser(Exception):
    """The guest has no such user."""


def find(user: str, etc: str) -> Account:
    """The account called `user`, or with that number.  Raises `NoSuchUser`."""
    for name, _, uid, gid, _, home, *_ in _records(f"{etc}/passwd", 7):
        if user in (name, uid):
            groups = _groups(name, int(gid), etc)
            return Account(name, int(uid), int(gid), groups, home or "/")
    if user.isdecimal():  # a number without a name is still somebody
        return Account(user, int(user), int(user), (), "/")
    raise NoSuchUser(f"no user {user!r}")


def shell_of(user: str, etc: str) -> str:
    """The login shell of `user`, "" if none is named."""
    for name, _, uid, _, _, _, shell in _records(f"{etc}/passwd", 7):
        if user in (name, uid):
            return shell
    return ""


def _groups(name: str, primary: int, etc: str) -> tuple[int, ...]:
    groups = {primary}
    for _, _, gid, members in _records(f"{etc}/group", 4):
        if name in members.split(","):
            groups.add(int(gid))
    return tuple(sorted(groups))


def _records(path: str, fields: int) -> Iterator[list[str]]:
    try:
        text = Path(path).read_text(errors="surrogateescape")
    except FileNotFoundError:
        return
    for line in text.splitlines():
        record = line.split(":")
        if len(record) == fields and record[2].isdecimal():
            yield record
