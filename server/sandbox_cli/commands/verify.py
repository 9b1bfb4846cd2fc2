"""`verify`: is a template what its manifest says?"""

from __future__ import annotations

import click

from sandbox_cli import complete, options, show
from sandbox_cli.rpc import connected


@click.command(epilog=options.examples("sandbox-cli verify --template base && echo intact"))
@click.option(
    "--template",
    metavar="NAME",
    required=True,
    shell_complete=complete.templates,
    help="Template to verify.",
)
@options.over_grpc
def verify(template: str, grpc_socket: str, output: str) -> int:
    """Hash a template's files and compare them with its manifest.

    Exits with 0 if nothing differs, otherwise with 1, and prints what differs.
    """
    from sandbox.v1 import templates_pb2 as pb
    from sandbox.v1 import templates_pb2_grpc as pb_grpc

    with connected(grpc_socket) as channel:
        stub = pb_grpc.TemplateServiceStub(channel)
        found = stub.VerifyTemplate(pb.VerifyTemplateRequest(name=template))
    if output == "json":
        show.json_document(show.as_dict(found))
    elif found.ok:
        click.echo(f"{template}: every file is what its manifest says")
    else:
        for difference in found.differences:
            click.echo(f"{template}: {difference}")
    return 0 if found.ok else 1
