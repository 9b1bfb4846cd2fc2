"""Snapshot templates: their names, what to build one from, and the manifest that binds it.

Pure: no I/O, no clock.  A manifest names every file a clone starts from by SHA-256 and
size, with the versions it was baked by, so that a template cannot change silently and one
that this host cannot run is refused with words.

`manifest.bin` is `MAGIC`, the manifest as canonical JSON, and the SHA-256 of both.
"""

from __future__ import annotations

import enum
import hashlib
import re
from datetime import datetime
from typing import Self
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from sandbox_engine.errors import InvalidArgument

NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._:/-]{0,62}")
SUITE = re.compile(r"[a-z][a-z0-9-]{0,62}")
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]{1,127}")
"""Debian Policy 5.6.1; it also keeps a package from being read as an option."""

MEMORY_MIB = (64, 65536)
VCPUS = (1, 32)
DISK_MIB = (64, 1 << 20)
MAX_INCLUDE = 256
MAX_WARMUP_WORDS = 64
MAX_WARMUP_BYTES = 1 << 16
MAX_PATH_BYTES = 4095

FORMAT = 1
MAGIC = b"SBXTMPL\n"
_SUM_BYTES = hashlib.sha256().digest_size


def check_name(name: str, field: str = "template") -> str:
    """Return `name` if a template can be called so.  Raises `InvalidArgument`."""
    if NAME.fullmatch(name) is None:
        raise InvalidArgument(
            field, "a letter or digit, then at most 62 letters, digits or any of . _ : / -"
        )
    return name


def name_to_file(name: str) -> str:
    """One path component for `name`; starts with a letter or digit, so never `.` or `..`."""
    return quote(name, safe="")


def file_to_name(component: str) -> str:
    """The inverse of `name_to_file`."""
    return unquote(component)


class SourceKind(enum.Enum):
    """Where a root file system can come from."""

    DEBIAN = "debian"
    TAR = "tar"
    DIR = "dir"


class Source(Struct, frozen=True):
    """A root file system's origin: a Debian suite, or an absolute path on the engine's host."""

    kind: SourceKind
    value: str

    @classmethod
    def parse(cls, text: str, field: str = "source") -> Self:
        """Read `debian:SUITE`, `tar:FILE` or `dir:PATH`.  Raises `InvalidArgument`."""
        word, colon, value = text.partition(":")
        kinds = {kind.value: kind for kind in SourceKind}
        if not colon or word not in kinds:
            raise InvalidArgument(field, f"{text!r} is not debian:SUITE, tar:FILE or dir:PATH")
        if word == "debian":
            if SUITE.fullmatch(value) is None:
                raise InvalidArgument(field, f"{value!r} is not the name of a Debian suite")
        else:
            _check_path(field, value)
        return cls(kinds[word], value)

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.value}"


def _check_path(field: str, path: str) -> None:
    if not path.startswith("/"):
        raise InvalidArgument(field, f"{path!r} must be an absolute path")
    if "\0" in path or len(path.encode(errors="surrogateescape")) > MAX_PATH_BYTES:
        raise InvalidArgument(field, f"a path has no NUL and at most {MAX_PATH_BYTES} bytes")


class BuildRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A template to build.  One that exists is within every limit: construction checks.

    Construction raises `InvalidArgument` with the name of the field.
    """

    name: str
    source: str
    """As `Source.parse` reads it."""
    include: tuple[str, ...] = ()
    """Debian packages over the minimal set; order and repetition carry no meaning."""
    memory_mib: int = 512
    vcpus: int = 1
    disk_mib: int = 1024
    warmup: tuple[str, ...] = ()
    """Program and arguments run in the guest before the snapshot; empty runs nothing."""
    volumes: bool = False
    """Disks wait in its machines for catalog volumes."""
    force: bool = False
    """Build again, from fresh packages, where a template of the same inputs exists."""

    def __post_init__(self) -> None:
        check_name(self.name, "name")
        origin = Source.parse(self.source)
        _check_range("memory_mib", self.memory_mib, MEMORY_MIB)
        _check_range("vcpus", self.vcpus, VCPUS)
        _check_range("disk_mib", self.disk_mib, DISK_MIB)
        _check_include(self.include, origin)
        _check_warmup(self.warmup)

    @property
    def origin(self) -> Source:
        """`source`, read."""
        return Source.parse(self.source)


def _check_range(field: str, value: int, limits: tuple[int, int]) -> None:
    low, high = limits
    if not low <= value <= high:
        raise InvalidArgument(field, f"{value} is not between {low} and {high}")


def _check_include(include: tuple[str, ...], origin: Source) -> None:
    if include and origin.kind is not SourceKind.DEBIAN:
        raise InvalidArgument("include", f"packages can be added to debian:SUITE, not to {origin}")
    if len(include) > MAX_INCLUDE:
        raise InvalidArgument("include", f"{len(include)} packages; the limit is {MAX_INCLUDE}")
    for package in include:
        if PACKAGE.fullmatch(package) is None:
            raise InvalidArgument("include", f"{package!r} is not a Debian package name")


def _check_warmup(warmup: tuple[str, ...]) -> None:
    if len(warmup) > MAX_WARMUP_WORDS:
        raise InvalidArgument("warmup", f"{len(warmup)} words; the limit is {MAX_WARMUP_WORDS}")
    if warmup and not warmup[0]:
        raise InvalidArgument("warmup", "its first word, the program, is empty")
    if any("\0" in word for word in warmup):
        raise InvalidArgument("warmup", "a word holds a NUL")
    if sum(len(word.encode(errors="surrogateescape")) for word in warmup) > MAX_WARMUP_BYTES:
        raise InvalidArgument("warmup", f"more than {MAX_WARMUP_BYTES} bytes")


class Platform(Struct, frozen=True, kw_only=True):
    """What a snapshot is bound to: one made on another platform is refused.

    `accel` is not part of it on purpose where the CPU model is the same, but a `cpu`
    of `host` is; drivers decide and say so in `cpu`.
    """

    vmm: str  # "qemu 7.2.22"
    machine: str  # the driver's name for machine type and device layout, versioned
    cpu: str


class FileDigest(Struct, frozen=True, kw_only=True):
    """What one file must be; holes count as the zeros they read as."""

    sha256: str
    size: int


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a template is.  `encode_manifest` of it is `manifest.bin`."""

    format: int = FORMAT
    name: str
    # Its own files, by their names in its folder.
    memory: FileDigest
    vmstate: FileDigest
    rootfs: FileDigest
    overlay: FileDigest
    # What it shares with other templates.
    kernel: FileDigest
    initramfs: FileDigest
    agent_disk: FileDigest
    # The versions it was baked by.
    platform: Platform
    kernel_release: str
    kernel_package: str
    """Version of the package the kernel came from: a rebuild may keep the release."""
    agent_protocol: int
    agent_version: str
    # What it was asked to be.
    memory_mib: int
    vcpus: int
    disk_mib: int
    source: str
    include: tuple[str, ...]
    warmup: tuple[str, ...]
    volumes: bool = False
    """Whether disks wait in its machines for catalog volumes."""
    inputs: str
    """Digest of everything it was made from: equal inputs need no second build."""
    created_at: datetime


class ManifestInvalid(Exception):
    """These bytes are no manifest; the message says why."""


class ManifestUnknown(ManifestInvalid):
    """An intact manifest of a format that this engine does not read."""


class _Versioned(Struct):
    format: int


def encode_manifest(manifest: Manifest) -> bytes:
    """The content of `manifest.bin`."""
    body = MAGIC + msgspec.json.encode(manifest, order="deterministic")
    return body + hashlib.sha256(body).digest()


def decode_manifest(data: bytes) -> Manifest:
    """Read `manifest.bin`.  Raises `ManifestInvalid`, `ManifestUnknown`."""
    if not data.startswith(MAGIC):
        raise ManifestInvalid("it does not begin as a manifest does")
    body, checksum = data[:-_SUM_BYTES], data[-_SUM_BYTES:]
    if len(body) <= len(MAGIC):
        raise ManifestInvalid(f"{len(data)} bytes are too few")
    if hashlib.sha256(body).digest() != checksum:
        raise ManifestInvalid("its checksum does not match: it was cut short or changed")
    text = body[len(MAGIC) :]
    try:
        version = msgspec.json.decode(text, type=_Versioned).format
        if version != FORMAT:
            raise ManifestUnknown(f"its format is {version}, this engine reads {FORMAT}")
        return msgspec.json.decode(text, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ManifestInvalid(str(error)) from error


def manifest_digest(data: bytes) -> str:
    """What a template is called by where its name is not enough: `sha256:` and 64 hex digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def compatibility(manifest: Manifest, platform: Platform, agent_protocol: int) -> list[str]:
    """What keeps a template from running here, in words; empty if nothing does."""
    baked = manifest.platform
    pairs = [
        ("VMM", baked.vmm, platform.vmm),
        ("machine", baked.machine, platform.machine),
        ("CPU", baked.cpu, platform.cpu),
        ("agent protocol", str(manifest.agent_protocol), str(agent_protocol)),
    ]
    return [
        f"it was baked with {what} {before}, this host has {now}"
        for what, before, now in pairs
        if before != now
    ]
