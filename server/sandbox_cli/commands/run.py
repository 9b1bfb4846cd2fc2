"""`run`: one sandbox for the life of this process, over the frame socket."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click

from sandbox_cli import complete, options, show
from sandbox_cli.failures import Failure, Interrupted, usage
from sandbox_cli.frames import FrameClient
from sandbox_cli.signals import interruptible

if TYPE_CHECKING:
    from sandbox.v1 import legacy_pb2 as pb

MAX_REPEATS: Final = 16
DEFAULT_WAIT_MS: Final = 10_000


@click.command(
    epilog=options.examples(
        "sandbox-cli run --template base                       # hold it until Ctrl-C",
        "sandbox-cli run --template base --exec 'echo hello; exit 3'",
        "sandbox-cli run --template base --no-egress --exec 'make test'",
    )
)
@click.option(
    "--template",
    metavar="NAME",
    required=True,
    shell_complete=complete.templates,
    help="Template to clone.",
)
@options.frame_socket
@click.option(
    "--memory",
    metavar="MiB",
    type=click.IntRange(min=0),
    default=0,
    help="Guest memory; only the template's own is accepted.  [default: the template's]",
)
@click.option(
    "--vcpus",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Virtual CPUs; only the template's own are accepted.  [default: the template's]",
)
@click.option(
    "--wait",
    metavar="MS",
    type=click.IntRange(0, 2**32 - 1),
    default=DEFAULT_WAIT_MS,
    show_default=True,
    help="Longest wait for a warm VM; 0 fails at once where none is ready.",
)
@click.option("--session-key", metavar="KEY", default="", help="Keep /workspace under this key.")
@click.option(
    "--env",
    "env",
    metavar="KEY=VALUE",
    multiple=True,
    help="Variable of every command; repeatable.",
)
@click.option(
    "--exec",
    "scripts",
    metavar="SCRIPT",
    multiple=True,
    help="Run SCRIPT by `sh -c` instead of holding the sandbox; up to 16 times.",
)
@click.option(
    "--egress",
    metavar="HOST[:PORT]",
    multiple=True,
    help="Let the sandbox reach only such hosts; up to 16 times.",
)
@click.option("--no-egress", is_flag=True, help="Let the sandbox reach nothing.")
@click.option(
    "--output", "-o", type=click.Choice(["json"]), default="json", help="Events are JSON lines."
)
def run(
    *,
    template: str,
    socket: str,
    memory: int,
    vcpus: int,
    wait: int,
    session_key: str,
    env: tuple[str, ...],
    scripts: tuple[str, ...],
    egress: tuple[str, ...],
    no_egress: bool,
    output: str,
) -> int:
    """Create a sandbox, then hold it, or run scripts in it.

    Prints {"event":"created","sandbox_id":N,...}.  Without --exec the sandbox lives until
    this process gets SIGINT or SIGTERM.  With --exec each script runs in turn, its output is
    passed on, one {"event":"exec",...,"exit_code":N} line follows it, and the exit code is
    the first one that is not 0.  In every case the sandbox is destroyed at the end.
    """
    del output  # one value: events are JSON lines whatever is asked for
    _check(scripts, egress, no_egress=no_egress)
    options.key_values(env, "--env")
    from sandbox.v1 import legacy_pb2 as pb

    request = pb.CreateRequest(
        memory_mib=memory,
        vcpu_count=vcpus,
        template_name=template,
        env_vars=env,
        pool_wait_ms=wait,
        session_key=session_key,
        egress_allow=egress,
        egress_deny_all=no_egress,
    )
    with interruptible(), FrameClient(socket) as client:
        if not scripts:
            return _hold(client, request)
        return _run_scripts(client, _create(client, request), scripts)


def _check(scripts: tuple[str, ...], egress: tuple[str, ...], *, no_egress: bool) -> None:
    if len(scripts) > MAX_REPEATS:
        raise usage(f"--exec is given {len(scripts)} times, more than {MAX_REPEATS}")
    if len(egress) > MAX_REPEATS:
        raise usage(f"--egress is given {len(egress)} times, more than {MAX_REPEATS}")
    if egress and no_egress:
        raise usage("--egress and --no-egress contradict each other")


def _create(client: FrameClient, request: pb.CreateRequest) -> int:
    start = time.monotonic()
    sandbox_id = client.create(request).sandbox_id
    _say_created(sandbox_id, request, start)
    return sandbox_id


def _say_created(sandbox_id: int, request: pb.CreateRequest, start: float) -> None:
    show.json_line(
        event="created",
        sandbox_id=sandbox_id,
        template=request.template_name,
        elapsed_ms=round(1000 * (time.monotonic() - start)),
    )


def _hold(client: FrameClient, request: pb.CreateRequest) -> int:
    """Create, and keep the connection until a signal; the daemon leaving first is a failure.

    A signal from the moment the line is printed is the ordinary end, not an interruption.
    """
    start, sandbox_id = time.monotonic(), 0
    try:
        sandbox_id = client.create(request).sandbox_id
        _say_created(sandbox_id, request, start)
        client.hold()
    except Interrupted:
        if not sandbox_id:
            raise
        client.destroy(sandbox_id)
        return 0
    raise Failure(
        "the daemon closed the connection; the sandbox is gone",
        hint="the daemon's log says why",
    )


def _run_scripts(client: FrameClient, sandbox_id: int, scripts: tuple[str, ...]) -> int:
    """The first status that is not 0; every script runs, whatever the ones before it did."""
    statuses = []
    try:
        for index, script in enumerate(scripts):
            result = client.exec(sandbox_id, script)
            statuses.append(_report(sandbox_id, index, result))
    except Failure:
        with suppress(Failure):  # the first failure is the one to report
            client.destroy(sandbox_id)
        raise
    client.destroy(sandbox_id)
    return next((status for status in statuses if status), 0)


def _report(sandbox_id: int, index: int, result: pb.GuestExecResponse) -> int:
    """Pass on a script's output, then tell how it ended."""
    sys.stdout.flush()
    sys.stderr.flush()
    sys.stderr.buffer.write(result.err)
    sys.stderr.buffer.flush()
    sys.stdout.buffer.write(result.out)
    if result.out and not result.out.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")  # the event is a line of its own
    sys.stdout.buffer.flush()
    status = 128 + result.term_signal if result.term_signal else result.exit_code
    show.json_line(
        event="exec",
        sandbox_id=sandbox_id,
        index=index,
        exit_code=status,
        signal=result.term_signal,
        timed_out=result.timed_out,
        truncated=result.output_truncated,
        duration_ms=result.duration_ms,
        out_total=result.out_total,
        err_total=result.err_total,
    )
    _warn_of_missing("stdout", len(result.out), result.out_total)
    _warn_of_missing("stderr", len(result.err), result.err_total)
    return status


def _warn_of_missing(stream: str, shown: int, total: int) -> None:
    if total > shown:
        click.echo(
            f"note: {shown} of {total} bytes of {stream} are shown: write long output to a file "
            "below /workspace, or use `sandbox-cli exec`, which streams",
            err=True,
        )
