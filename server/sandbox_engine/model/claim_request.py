"""The node API's requests for a sandbox and its lease, and what they may say.  Pure.

The bounds are the seed's ("POST /v1/claim", "renew", "exec"); what parts not built yet
would serve is checked, then refused with the status the seed has for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec
from msgspec import Struct, field

from sandbox_engine.errors import InvalidArgument, NotOffered
from sandbox_engine.model.environment import EnvEntry, check_environment
from sandbox_engine.model.exec import MAX_ARGV_BYTES
from sandbox_engine.model.size import DEFAULT_NET, DEFAULT_SIZE, EGRESS_NET, NETS, Key
from sandbox_engine.model.template import check_name
from sandbox_engine.model.volume import VolumeWish, check_volumes

MAX_METADATA = 16
MAX_METADATA_BYTES = 4096
MAX_METADATA_KEY = 128
MAX_REF = 512
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class ClaimRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a claim."""

    template: str
    net: str = ""
    size: str = ""
    ttl_seconds: int = 0
    volumes: list[VolumeWish] = []
    volumes_attach_only: bool = False
    claim_ref: str = ""
    metadata: dict[str, str] = {}
    on_expire: str = ""
    no_redirect: bool = False
    require_promoted: bool = False
    egress: bool | None = None
    env: dict[str, EnvEntry] = {}

    @property
    def key(self) -> Key:
        """What it asks for, defaults filled in."""
        return Key(self.template, self.net or DEFAULT_NET, self.size or DEFAULT_SIZE)

    def check(
        self,
        intercepted: Collection[str] = (),
        *,
        egress_offered: bool = False,
        links_offered: bool = False,
    ) -> None:
        """Raise `InvalidArgument`, naming the field, or `NotOffered` for a node without egress.

        `intercepted` are the hosts into whose requests the claim's proxy can put values.
        """
        check_name(self.template)
        check_net(self.net or DEFAULT_NET)
        check_ref(self.claim_ref)
        check_metadata(self.metadata)
        check_on_expire(self.on_expire)
        check_volumes(self.volumes, attach_only=self.volumes_attach_only)
        check_environment(self.env, intercepted)
        if self.net == EGRESS_NET and self.on_expire == "archive":
            raise InvalidArgument("on_expire", "a claim of the egress lane cannot be archived")
        if self.ttl_seconds < 0:
            raise InvalidArgument("ttl_seconds", "must not be negative")
        unserved_lane = self.net == EGRESS_NET and not links_offered
        if (self.egress and not egress_offered) or unserved_lane:
            raise NotOffered("egress requested on a node without an egress attachment")


class RenewRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a renew; an absent one is all defaults."""

    ttl_seconds: int = 0
    on_expire: str = ""


class ExecRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a buffered exec."""

    argv: list[str] = field(default_factory=list)
    cwd: str = ""
    env: dict[str, str] = {}
    timeout_seconds: float = 0

    def check(self) -> None:
        """Raise `InvalidArgument`, naming the field."""
        if not self.argv or not self.argv[0]:
            raise InvalidArgument("argv", "must not be empty")
        if sum(len(word.encode(errors="surrogatepass")) for word in self.argv) > MAX_ARGV_BYTES:
            raise InvalidArgument("argv", f"more than {MAX_ARGV_BYTES} bytes")
        if self.timeout_seconds < 0:
            raise InvalidArgument("timeout_seconds", "must not be negative")


def metadata_filter(pairs: list[str]) -> dict[str, str]:
    """The filter `?metadata=key=value`, repeated.  Raises `InvalidArgument`."""
    wanted: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key or key in wanted:
            raise InvalidArgument("metadata", f"{pair!r} is not key=value, or repeats a key")
        wanted[key] = value
    return wanted


def check_net(net: str) -> None:
    """Only the lanes there are."""
    if net not in NETS:
        raise InvalidArgument("net", f"unknown net {net!r}: one of {', '.join(NETS)}")


def check_ref(ref: str) -> None:
    """Opaque, but it is a word in a query and in logs."""
    if len(ref.encode(errors="surrogatepass")) > MAX_REF or _CONTROL.search(ref):
        raise InvalidArgument(
            "claim_ref", f"must be at most {MAX_REF} bytes without control characters"
        )


def check_on_expire(action: str) -> None:
    """What happens at the deadline; empty is `destroy`."""
    if action not in ("", "destroy", "archive"):
        raise InvalidArgument("on_expire", f"unknown action {action!r}: destroy or archive")


def check_metadata(metadata: dict[str, str]) -> None:
    """At most 16 pairs and 4 KiB; a key can be written in front of `=` in a query."""
    if len(metadata) > MAX_METADATA:
        raise InvalidArgument("metadata", f"{len(metadata)} pairs; the limit is {MAX_METADATA}")
    for key, value in metadata.items():
        if not key or len(key) > MAX_METADATA_KEY or "=" in key:
            raise InvalidArgument(
                "metadata", f"key {key!r} must be 1 to {MAX_METADATA_KEY} characters without `=`"
            )
        if _CONTROL.search(key) or _CONTROL.search(value):
            raise InvalidArgument("metadata", f"{key!r} holds a control character")
    size = len(msgspec.json.encode(metadata))
    if size > MAX_METADATA_BYTES:
        raise InvalidArgument(
            "metadata", f"{size} bytes as JSON; the limit is {MAX_METADATA_BYTES}"
        )
