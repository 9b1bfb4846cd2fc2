"""`create`, `ls`, `inspect`, `pause`, `resume`, `destroy`: sandboxes that a lease holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sandbox_cli import complete, options, show
from sandbox_cli.rpc import connected, pages

if TYPE_CHECKING:
    import grpc
    from sandbox.v1 import sandboxes_pb2 as pb
    from sandbox.v1.sandboxes_pb2_grpc import SandboxServiceStub

one_sandbox = click.argument("sandbox", shell_complete=complete.sandboxes)


def _stub(channel: grpc.Channel) -> SandboxServiceStub:
    from sandbox.v1 import sandboxes_pb2_grpc as pb_grpc

    return pb_grpc.SandboxServiceStub(channel)


@click.command(
    epilog=options.examples(
        "id=$(sandbox-cli create --template base --ttl 600)",
        "sandbox-cli exec $id -- uname -a",
    )
)
@click.option(
    "--template",
    metavar="NAME",
    required=True,
    shell_complete=complete.templates,
    help="Template to clone.",
)
@click.option("--ttl", metavar="SECONDS", type=click.FloatRange(min=1), help="Length of its lease.")
@click.option(
    "--wait",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    help="Longest wait for a warm VM; 0 fails at once where none is ready.",
)
@click.option("--env", metavar="KEY=VALUE", multiple=True, help="Variable of every command.")
@click.option("--label", metavar="KEY=VALUE", multiple=True, help="Label to find it by.")
@options.over_grpc
def create(
    *,
    template: str,
    ttl: float | None,
    wait: float,
    env: tuple[str, ...],
    label: tuple[str, ...],
    grpc_socket: str,
    output: str,
) -> None:
    """Create a sandbox that lives until its lease ends, and print its id.

    Unlike `run`, this command ends and the sandbox stays: use it with `exec`, and end it
    with `destroy`.
    """
    variables = options.key_values(env, "--env")
    labels = options.key_values(label, "--label")
    from sandbox.v1 import sandboxes_pb2 as pb

    request = pb.CreateSandboxRequest(
        template=template,
        env={name: pb.EnvVar(value=value) for name, value in variables.items()},
        metadata=labels,
    )
    request.pool_wait.FromNanoseconds(round(wait * 1e9))
    if ttl is not None:
        request.ttl.FromNanoseconds(round(ttl * 1e9))
    with connected(grpc_socket) as channel:
        created = _stub(channel).CreateSandbox(request)
    if output == "json":
        show.json_document(show.as_dict(created))
    else:
        click.echo(created.sandbox.id)


@click.command(
    epilog=options.examples(
        "sandbox-cli ls",
        "sandbox-cli ls --label job=42 -o json",
    )
)
@click.option("--label", metavar="KEY=VALUE", multiple=True, help="Only sandboxes with this label.")
@options.over_grpc
def ls(label: tuple[str, ...], grpc_socket: str, output: str) -> None:
    """List the sandboxes you may see, oldest first."""
    labels = options.key_values(label, "--label")
    from sandbox.v1 import sandboxes_pb2 as pb

    with connected(grpc_socket) as channel:
        stub = _stub(channel)
        request = pb.ListSandboxesRequest(page_size=1000, metadata=labels)
        found = [each for page in pages(stub.ListSandboxes, request) for each in page.sandboxes]
    if output == "json":
        show.json_document({"sandboxes": [show.as_dict(each) for each in found]})
    else:
        show.table(
            ("ID", "NUMBER", "STATE", "TEMPLATE", "MEMORY", "VCPUS", "AGE"),
            [_row(each) for each in found],
        )


def _row(sandbox: pb.Sandbox) -> tuple[str, ...]:
    return (
        sandbox.id,
        str(sandbox.number),
        _state(sandbox),
        sandbox.template,
        f"{sandbox.memory_mib} MiB",
        str(sandbox.vcpu_count),
        show.age(sandbox.create_time),
    )


def _state(sandbox: pb.Sandbox) -> str:
    from sandbox.v1 import sandboxes_pb2 as pb

    return show.word(pb.SandboxState, sandbox.state)


@click.command(epilog=options.examples("sandbox-cli inspect sb_4f7k2m"))
@one_sandbox
@options.over_grpc
def inspect(sandbox: str, grpc_socket: str, output: str) -> None:
    """Show what SANDBOX is and what the kernel counts of it."""
    from sandbox.v1 import sandboxes_pb2 as pb

    with connected(grpc_socket) as channel:
        found = _stub(channel).InspectSandbox(pb.InspectSandboxRequest(sandbox_id=sandbox))
    if output == "json":
        show.json_document(show.as_dict(found))
    else:
        _show(found)


def _show(found: pb.InspectSandboxResponse) -> None:
    it = found.sandbox
    leased = it.HasField("expire_time")
    show.facts(
        [
            ("id", it.id),
            ("number", str(it.number)),
            ("state", _state(it)),
            ("failure", it.failure),
            ("template", it.template),
            ("digest", it.template_digest),
            ("memory", f"{it.memory_mib} MiB"),
            ("vcpus", str(it.vcpu_count)),
            ("created", show.moment(it.create_time)),
            ("expires", show.moment(it.expire_time) if leased else "with its session"),
            ("uptime", show.span(found.uptime.ToNanoseconds() / 1e9)),
            ("resident", show.size(found.memory_rss_bytes)),
            ("page faults", str(found.page_faults)),
            ("session key", it.session_key),
            ("labels", ", ".join(f"{key}={value}" for key, value in it.metadata.items())),
        ]
    )


@click.command(epilog=options.examples("sandbox-cli pause sb_4f7k2m"))
@one_sandbox
@options.over_grpc
def pause(sandbox: str, grpc_socket: str, output: str) -> None:
    """Stop the virtual CPUs of SANDBOX; its memory stays."""
    from sandbox.v1 import sandboxes_pb2 as pb

    with connected(grpc_socket) as channel:
        paused = _stub(channel).PauseSandbox(pb.PauseSandboxRequest(sandbox_id=sandbox))
    _changed(paused.sandbox, output)


@click.command(epilog=options.examples("sandbox-cli resume sb_4f7k2m"))
@one_sandbox
@options.over_grpc
def resume(sandbox: str, grpc_socket: str, output: str) -> None:
    """Continue a paused SANDBOX."""
    from sandbox.v1 import sandboxes_pb2 as pb

    with connected(grpc_socket) as channel:
        resumed = _stub(channel).ResumeSandbox(pb.ResumeSandboxRequest(sandbox_id=sandbox))
    _changed(resumed.sandbox, output)


def _changed(sandbox: pb.Sandbox, output: str) -> None:
    if output == "json":
        show.json_document(show.as_dict(sandbox))
    else:
        click.echo(f"{sandbox.id}: {_state(sandbox)}")


@click.command(epilog=options.examples("sandbox-cli destroy sb_4f7k2m"))
@one_sandbox
@options.over_grpc
def destroy(sandbox: str, grpc_socket: str, output: str) -> None:
    """End SANDBOX and everything it held, except its workspace."""
    from sandbox.v1 import sandboxes_pb2 as pb

    with connected(grpc_socket) as channel:
        gone = _stub(channel).DestroySandbox(pb.DestroySandboxRequest(sandbox_id=sandbox))
    if output == "json":
        show.json_document(show.as_dict(gone))
    else:
        click.echo(f"{sandbox}: destroyed")
