"""`node`: the node itself, for its operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sandbox_cli import options, show
from sandbox_cli.rpc import connected

if TYPE_CHECKING:
    from sandbox.v1 import node_pb2 as pb


@click.group()
def node() -> None:
    """Look at the node."""


@node.command(epilog=options.examples("sandbox-cli node info", "sandbox-cli node info -o json"))
@options.over_grpc
def info(grpc_socket: str, output: str) -> None:
    """Show the node's version, accelerator, sandboxes and warm pools."""
    from sandbox.v1 import node_pb2 as pb
    from sandbox.v1 import node_pb2_grpc as pb_grpc

    with connected(grpc_socket) as channel:
        found = pb_grpc.NodeServiceStub(channel).GetNodeInfo(pb.GetNodeInfoRequest())
    if output == "json":
        show.json_document(show.as_dict(found.node))
    else:
        _show(found.node)


def _show(found: pb.NodeInfo) -> None:
    most = str(found.max_sandboxes) if found.max_sandboxes else "no limit"
    show.facts(
        [
            ("version", found.version),
            ("up", show.age(found.start_time) if found.HasField("start_time") else ""),
            ("accelerator", found.accel),
            ("vmm", found.vmm),
            ("machine", found.machine),
            ("cpu", found.cpu),
            ("sandboxes", f"{found.sandboxes} (at most: {most})"),
            ("hibernated", str(found.hibernated or "")),
            ("archived", str(found.archived or "")),
            ("failed", str(found.failed or "")),
            ("draining", "yes, no new sandboxes are taken" if found.draining else ""),
            ("at capacity", found.at_capacity_reason if found.at_capacity else ""),
            ("address", found.advertise_address),
            ("peers", ", ".join(found.peers)),
        ]
    )
    if found.pools:
        click.echo()
        show.table(
            ("POOL", "READY", "STARTING", "TARGET", "HITS", "MISSES", "PROBLEM"),
            [
                (
                    pool.config.template,
                    str(pool.ready),
                    str(pool.starting),
                    str(pool.target),
                    str(pool.hits),
                    str(pool.misses),
                    pool.problem,
                )
                for pool in found.pools
            ],
        )
