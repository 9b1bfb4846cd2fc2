"""`template`: build, list, inspect and remove what sandboxes are cloned from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sandbox_cli import complete, options, show
from sandbox_cli.failures import Failure
from sandbox_cli.progress import progress_for
from sandbox_cli.rpc import connected, pages
from sandbox_cli.signals import interruptible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sandbox.v1 import templates_pb2 as pb

KINDS = "debian:SUITE|tar:FILE|dir:PATH"


@click.group()
def template() -> None:
    """Build and look after templates."""


@template.command(
    epilog=options.examples(
        "sandbox-cli template build base --from debian:bookworm",
        "sandbox-cli template build py --from debian:bookworm --include python3,git --memory 1024",
        "sandbox-cli template build tiny --from dir:./rootfs --memory 128 --disk 64",
        "sandbox-cli template build warm --from tar:root.tar.gz --warmup 'python3 -c pass'",
    )
)
@click.argument("name")
@click.option("--from", "source", metavar=KINDS, required=True, help="What the root disk holds.")
@click.option(
    "--include",
    metavar="PKG,...",
    multiple=True,
    help="Debian packages over the minimal set; repeatable.",
)
@click.option("--memory", metavar="MiB", type=click.IntRange(1), help="Guest memory.")
@click.option("--vcpus", metavar="N", type=click.IntRange(1), help="Virtual CPUs.")
@click.option("--disk", metavar="MiB", type=click.IntRange(1), help="Size of the root disk.")
@click.option("--warmup", metavar="ARGV", help="Command run in the guest before its snapshot.")
@click.option("--volumes", is_flag=True, help="Its machines take catalog volumes.")
@click.option("--force", is_flag=True, help="Build again where the same build exists.")
@options.over_grpc
def build(
    *,
    name: str,
    source: str,
    include: tuple[str, ...],
    memory: int | None,
    vcpus: int | None,
    disk: int | None,
    warmup: str | None,
    volumes: bool,
    force: bool,
    grpc_socket: str,
    output: str,
) -> None:
    """Build the template NAME and show how it goes.

    The steps a build finished are kept: after a failure or Ctrl-C the same command continues
    where that one stopped, and a template that exists already is done at once.
    """
    from sandbox.v1 import templates_pb2 as pb
    from sandbox.v1 import templates_pb2_grpc as pb_grpc

    request = pb.BuildTemplateRequest(
        name=name,
        source=_source(source, [each for group in include for each in group.split(",") if each]),
        memory_mib=memory or 0,
        vcpu_count=vcpus or 0,
        disk_mib=disk or 0,
        warmup=_words(warmup),
        volumes=volumes,
        force=force,
    )
    with interruptible(), connected(grpc_socket) as channel:
        answers = pb_grpc.TemplateServiceStub(channel).BuildTemplate(request)
        try:
            built = _follow(answers, output)
        finally:
            answers.cancel()
    if output == "text":
        click.echo(f"{built.name}: {_state(built)}, {built.digest}, {show.size(built.size_bytes)}")


def _source(text: str, include: list[str]) -> pb.TemplateSource:
    """`--from` as the API says it; files are named absolutely, since the daemon reads them."""
    from sandbox.v1 import templates_pb2 as pb

    kind, _, rest = text.partition(":")
    if kind not in {"debian", "tar", "dir"} or not rest:
        raise click.BadParameter(f"{text!r} is not {KINDS}", param_hint="--from")
    if include and kind != "debian":
        raise click.BadParameter(
            f"goes with debian:SUITE only, not {kind}:", param_hint="--include"
        )
    match kind:
        case "debian":
            return pb.TemplateSource(debian=pb.DebianSource(suite=rest, include=include))
        case "tar":
            return pb.TemplateSource(tar_file=str(Path(rest).resolve()))
        case _:
            return pb.TemplateSource(directory=str(Path(rest).resolve()))


def _words(warmup: str | None) -> list[str]:
    try:
        return shlex.split(warmup or "")
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--warmup") from error


def _follow(answers: Iterable[pb.BuildTemplateResponse], output: str) -> pb.Template:
    with progress_for(output) as progress:
        for answer in answers:
            if answer.WhichOneof("message") == "template":
                progress.finished(answer.template)
                return answer.template
            progress.step(answer.progress)
    raise Failure("the daemon ended the build without a template", hint="its log has more")


def _state(found: pb.Template) -> str:
    from sandbox.v1 import templates_pb2 as pb

    return show.word(pb.TemplateState, found.state)


@template.command("list", epilog=options.examples("sandbox-cli template list"))
@options.over_grpc
def list_(grpc_socket: str, output: str) -> None:
    """List the node's templates by name."""
    from sandbox.v1 import templates_pb2 as pb
    from sandbox.v1 import templates_pb2_grpc as pb_grpc

    with connected(grpc_socket) as channel:
        stub = pb_grpc.TemplateServiceStub(channel)
        request = pb.ListTemplatesRequest(page_size=1000)
        found = [each for page in pages(stub.ListTemplates, request) for each in page.templates]
    if output == "json":
        show.json_document({"templates": [show.as_dict(each) for each in found]})
    else:
        show.table(
            ("NAME", "STATE", "MEMORY", "VCPUS", "DISK", "SIZE", "AGE", "FROM"),
            [
                (
                    each.name,
                    _state(each),
                    f"{each.memory_mib} MiB",
                    str(each.vcpu_count),
                    f"{each.disk_mib} MiB",
                    show.size(each.size_bytes),
                    show.age(each.create_time),
                    each.source,
                )
                for each in found
            ],
        )


@template.command(epilog=options.examples("sandbox-cli template inspect base"))
@click.argument("name", shell_complete=complete.templates)
@options.over_grpc
def inspect(name: str, grpc_socket: str, output: str) -> None:
    """Show what the template NAME is and what it is bound to."""
    from sandbox.v1 import templates_pb2 as pb
    from sandbox.v1 import templates_pb2_grpc as pb_grpc

    with connected(grpc_socket) as channel:
        stub = pb_grpc.TemplateServiceStub(channel)
        found = stub.GetTemplate(pb.GetTemplateRequest(name=name)).template
    if output == "json":
        show.json_document(show.as_dict(found))
    else:
        _show(found)


def _show(found: pb.Template) -> None:
    bound = found.platform
    show.facts(
        [
            ("name", found.name),
            ("state", _state(found)),
            ("problems", "; ".join(found.problems)),
            ("from", found.source),
            ("digest", found.digest),
            ("created", show.moment(found.create_time)),
            ("memory", f"{found.memory_mib} MiB"),
            ("vcpus", str(found.vcpu_count)),
            ("disk", f"{found.disk_mib} MiB"),
            ("size", show.size(found.size_bytes)),
            ("format", str(bound.format)),
            ("vmm", bound.vmm),
            ("machine", bound.machine),
            ("cpu", bound.cpu),
            ("kernel", bound.kernel),
            ("agent protocol", str(bound.agent_protocol)),
            ("labels", ", ".join(f"{key}={value}" for key, value in found.labels.items())),
        ]
    )


@template.command(epilog=options.examples("sandbox-cli template remove old"))
@click.argument("name", shell_complete=complete.templates)
@options.over_grpc
def remove(name: str, grpc_socket: str, output: str) -> None:
    """Remove the template NAME; sandboxes cloned from it run on."""
    from sandbox.v1 import templates_pb2 as pb
    from sandbox.v1 import templates_pb2_grpc as pb_grpc

    with connected(grpc_socket) as channel:
        stub = pb_grpc.TemplateServiceStub(channel)
        gone = stub.RemoveTemplate(pb.RemoveTemplateRequest(name=name))
    if output == "json":
        show.json_document(show.as_dict(gone))
    else:
        click.echo(f"{name}: removed")
