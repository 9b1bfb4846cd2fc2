"""A node in a network namespace, and all the world it can reach in another one."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.broker.upstream import Upstream
from tests.broker.world import NAMES, Broker, make_authority, make_ca
from tests.egress.nodes import Node
from tests.support.engine import engine
from tests.support.namespaces import ip, namespace, prefix, within

PORT = 8080
"""The broker's for guests with an interface."""
NODE, WORLD = "198.51.100.1", "198.51.100.2"
"""Both ends of the node's one cable."""
SECRET = "credential-of-api-77ac01"
CREDENTIALS = f"api.example = Bearer {SECRET}\n"
LISTEN = "127.0.0.1:7777"
"""Of the node API, in the node's namespace."""


@dataclass
class Locked:
    """Engine and broker in `ns`, the upstream in `world`."""

    ns: str
    world: str
    node: Node
    broker: Broker
    upstream: Upstream
    folder: Path

    def python(self, sandbox_id: str, program: str, *words: str, source: str = "") -> str:
        """What a program printed in a guest; `source` is put before it."""
        return self.node.sh(sandbox_id, "python3", "-c", source + program, *words).strip()

    def address(self, sandbox_id: str) -> str:
        return self.node.sh(sandbox_id, "printenv", "SANDBOX_NET_ADDR").strip()

    def taps(self) -> list[str]:
        lines = ip("-br", "link", ns=self.ns).splitlines()
        return [line.split()[0] for line in lines if line.startswith("sbx")]


@contextmanager
def locked(
    *, intercepting: bool = False, credentials: str = CREDENTIALS, **config: Any
) -> Iterator[Locked]:
    """All of it; nothing is left at the end."""
    nobody = pwd.getpwnam("nobody")
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="sbx-net-", dir="/tmp"))
        )
        folder.chmod(0o755)
        ns, world = _cable(stack)
        root, pem = make_ca(folder)
        held = folder / "credentials.conf"
        held.write_text(credentials)
        held.chmod(0o600)
        os.chown(held, nobody.pw_uid, nobody.pw_gid)
        upstream = within(world, lambda: Upstream(pem, WORLD, 443))
        stack.callback(upstream.close)
        settings: dict[str, Any] = {
            "broker_socket": str(folder / "engine.sock"),
            "broker_doors": str(folder / "doors.sock"),
            "broker_uid": nobody.pw_uid,
            "broker_port": PORT,
            "allowed_services": ["api.example", "index.example", "in.example"],
        }
        authority: dict[str, str] = {}
        if intercepting:
            authority = make_authority(folder)
            settings["egress_ca"] = str(folder / "ca" / "root.crt")
        made = stack.enter_context(engine(prefix=prefix(ns), **settings | config))
        broker = Broker(
            folder,
            root,
            prefix=prefix(ns),
            LISTEN=f"0.0.0.0:{PORT}",
            RESOLVE=",".join(f"{name}={WORLD}" for name in NAMES),
            INTERNAL_ALLOW="198.51.100.0/24",
            **authority,
        )
        stack.callback(broker.close)
        yield Locked(ns, world, Node(made, folder / "engine.sock"), broker, upstream, folder)


def _cable(stack: ExitStack) -> tuple[str, str]:
    """Two namespaces and what connects them; the node's would route whatever it is given."""
    ns, world = (stack.enter_context(namespace(name)) for name in ("node", "world"))
    # What a host says by itself on an interface that comes up is none of a guest's.
    quiet = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
    for each in (ns, world):
        within(each, partial(quiet.write_text, "1"))
    ip("link", "add", "up0", "type", "veth", "peer", "name", "down0", "netns", world, ns=ns)
    for each, name, address in ((ns, "up0", NODE), (world, "down0", WORLD)):
        ip("addr", "add", f"{address}/24", "dev", name, ns=each)
        ip("link", "set", name, "up", ns=each)
    ip("route", "add", "default", "via", WORLD, ns=ns)
    ip("route", "add", "default", "via", NODE, ns=world)
    within(ns, lambda: Path("/proc/sys/net/ipv4/ip_forward").write_text("1"))
    return ns, world
