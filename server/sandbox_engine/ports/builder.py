"""What the engine needs of a template builder: progress, then a result or an error."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from msgspec import Struct

from sandbox_engine.model.template import BuildRequest


class BuildProgress(Struct, frozen=True, kw_only=True):
    """One event of a build."""

    step: str
    """`kernel`, `initramfs`, `agent`, `rootfs`, `bake`, `publish`."""
    state: str
    """`started`, `running`, `done`, `cached` or `failed`."""
    detail: str = ""
    fraction: float | None = None


class TemplateBuilder(Protocol):
    """Builds and publishes templates."""

    def build(self, request: BuildRequest) -> AsyncGenerator[BuildProgress, None]:
        """Build; the iterator ends once the template is published.

        Raises `TemplateBuildFailed`, `TemplateBusy`, `NoSpace`, `InvalidArgument`.
        Closing the iterator early stops the build and leaves nothing half-published.
        """
