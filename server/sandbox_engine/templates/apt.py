"""Debian packages, fetched and never installed.

The host's own package lists are used where they know a package.  Where they do not (a
container image without lists, lists that have gone stale) private ones are fetched
beside the cache, from the host's own sources and with its keys; the host is not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from sandbox_engine.templates.commands import CommandFailed, run
from sandbox_engine.templates.work import make_folders


class Package(Struct, frozen=True):
    """A package as the lists offer it."""

    name: str
    version: str
    depends: str


class PackageMissing(Exception):
    """Something that templates are made of is not to be had; the message says what."""


class Apt:
    """The package lists of one host.  `folder` keeps private ones where they are needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._private = (
            "-o", f"Dir::State::Lists={folder}/lists",
            "-o", f"Dir::Cache={folder}/cache",
        )  # fmt: skip
        self._options: tuple[str, ...] = ()
        self._known: dict[str, Package] = {}
        self._complaint = ""

    async def offered(self, names: Sequence[str]) -> dict[str, Package]:
        """What the lists offer, by name.  Raises `PackageMissing`, `CommandFailed`."""
        if not await self._learn(names) and not self._options:
            self._options = self._private
            await self._learn(names)
        if not await self._learn(names):
            await self._refresh()
            await self._learn(names)
        missing = sorted(set(names) - self._known.keys())
        if missing:
            raise PackageMissing(
                f"the apt sources of this host do not offer {', '.join(missing)}: "
                f"templates are made from Debian 12 packages for amd64{self._complaint}"
            )
        return {name: self._known[name] for name in names}

    async def fetch(
        self, names: Sequence[str], folder: Path, on_line: Callable[[str], None] | None = None
    ) -> dict[str, Path]:
        """Download packages into `folder`; return their files by name.

        Their versions are those of the files, newer than `offered()` said where the
        lists had gone stale.  Raises `PackageMissing`, `CommandFailed`.
        """
        try:
            await self._download(names, folder, on_line)
        except CommandFailed as error:
            if error.no_space:
                raise
            await self._refresh()
            await self.offered(names)
            await self._download(names, folder, on_line)
        files = {path.name.split("_", 1)[0]: path for path in folder.glob("*.deb")}
        return {name: files[name] for name in names}

    async def _download(
        self, names: Sequence[str], folder: Path, on_line: Callable[[str], None] | None
    ) -> None:
        command = ["apt-get", *self._options, "-o", "APT::Sandbox::User=root", "-q"]
        await run([*command, "download", *names], cwd=folder, on_line=on_line)

    async def _refresh(self) -> None:
        self._options = self._private
        self._known.clear()
        for folder in ("lists/partial", "cache/archives/partial"):
            make_folders(self._folder / folder)
        try:
            await run(["apt-get", *self._private, "-o", "APT::Sandbox::User=root", "-q", "update"])
        except CommandFailed as error:
            if error.no_space or error.did_not_start:
                raise
            # One unreachable source fails the whole; the others' lists are there.
            self._complaint = f" (apt-get update said: {error.output})"

    async def _learn(self, names: Sequence[str]) -> bool:
        """Ask for what is not known yet; whether all of `names` then is."""
        unknown = [name for name in names if name not in self._known]
        if unknown:
            show = ["apt-cache", *self._options, "show", "--no-all-versions", *unknown]
            try:
                out = await run(show)
            except CommandFailed as error:
                if error.did_not_start:
                    raise
                return False  # it fails as soon as one name is unknown
            for package in map(_parse, out.split("\n\n")):
                if package is not None:
                    self._known[package.name] = package
        return all(name in self._known for name in names)


def _parse(stanza: str) -> Package | None:
    fields = dict(re.findall(r"^([A-Za-z-]+): *(.*)$", stanza, re.MULTILINE))
    if "Package" not in fields or "Version" not in fields:
        return None
    return Package(fields["Package"], fields["Version"], fields.get("Depends", ""))


async def version_of(deb: Path) -> str:
    """The version a downloaded package says it has."""
    return (await run(["dpkg-deb", "--field", deb, "Version"])).strip()
