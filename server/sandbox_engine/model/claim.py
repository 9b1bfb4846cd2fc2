"""What stays on record of a claim.  A claim is a sandbox with a lease; this is what the
node API adds to it.
"""

from __future__ import annotations

from msgspec import Struct

from sandbox_engine.model.environment import EnvEntry
from sandbox_engine.model.size import Key
from sandbox_engine.model.volume import Grant, together


class Claim(Struct, frozen=True, kw_only=True):
    """What the node API knows of a sandbox beyond the sandbox."""

    net: str
    size: str
    tenant: str | None = None
    host_env: dict[str, EnvEntry] = {}
    """Variables that never enter the guest: the egress proxy's alone."""
    volumes: tuple[Grant, ...] = ()
    """What is attached, and mounted where it is to be."""
    volumes_want: tuple[Grant, ...] | None = None
    """What is to be, while that is something else: a change that is under way."""
    egress: bool = True
    """False closes the doors, whatever its pool and tenant may reach."""
    pooled: bool = True
    """Whether its key was a pool's when it was made: that decides which layers of egress policy
    it has."""
    egress_class: str = ""
    """The class its tenant had when it was made; it keeps that one."""
    promoted: str = ""
    """The promoted template it was claimed as; its spec names the one under that."""
    template_digest: str = ""
    """The content digest of the very export it was cloned from."""

    @property
    def wanted_volumes(self) -> tuple[Grant, ...]:
        """What it is to have in the end."""
        return self.volumes if self.volumes_want is None else self.volumes_want

    @property
    def held_volumes(self) -> tuple[Grant, ...]:
        """What others must reckon with: all that it has or is about to have."""
        return together(self.volumes, self.wanted_volumes)

    def key(self, template: str) -> Key:
        """What it was claimed as; `template` is its spec's, under a promoted one."""
        return Key(self.promoted or template, self.net, self.size)
