"""The node API's requests about saved states, and what they may say.  Pure."""

from __future__ import annotations

from msgspec import Struct

from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.claim_request import (
    check_metadata,
    check_on_expire,
    check_ref,
)
from sandbox_engine.model.environment import EnvEntry, check_environment


class ForkRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a fork; the token is the parent's own."""

    token: str = ""
    count: int = 1
    ttl_seconds: int = 0
    claim_ref_prefix: str = ""
    on_expire: str = ""

    def check(self) -> None:
        """Raise `InvalidArgument`, naming the field."""
        check_ref(self.claim_ref_prefix)
        check_on_expire(self.on_expire)
        if self.ttl_seconds < 0:
            raise InvalidArgument("ttl_seconds", "must not be negative")


class CheckpointRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a checkpoint."""

    token: str = ""
    name: str = ""


class BranchRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a claim of a checkpoint."""

    ttl_seconds: int = 0
    no_redirect: bool = False
    metadata: dict[str, str] = {}
    on_expire: str = ""
    claim_ref: str = ""
    env: dict[str, EnvEntry] = {}

    def check(self) -> None:
        """Raise `InvalidArgument`, naming the field."""
        check_ref(self.claim_ref)
        check_metadata(self.metadata)
        check_on_expire(self.on_expire)
        check_environment(self.env)
        if self.ttl_seconds < 0:
            raise InvalidArgument("ttl_seconds", "must not be negative")


class PromoteRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a promote."""

    token: str = ""
    template: str
