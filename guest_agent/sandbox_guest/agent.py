"""The parts of the agent that operations use, put together once by `main`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sandbox_guest.cgroups import Cgroups
from sandbox_guest.doors import Doors
from sandbox_guest.identity import Identity
from sandbox_guest.interface import Interface
from sandbox_guest.metadata import Metadata
from sandbox_guest.places import Places
from sandbox_guest.process import Launcher
from sandbox_guest.shells import Shells
from sandbox_guest.table import Table
from sandbox_guest.variables import Variables
from sandbox_guest.worker import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """See each part."""

    places: Places
    cgroups: Cgroups
    variables: Variables
    launcher: Launcher
    identity: Identity
    metadata: Metadata
    table: Table
    shells: Shells
    workers: Workers
    doors: Doors = field(default_factory=Doors)
    interface: Interface = field(default_factory=Interface)
    servers: dict[str, Any] = field(default_factory=dict)
    """Language servers by id; `silkd.lsp` keeps them."""
