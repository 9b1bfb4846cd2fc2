"""`usage`: what the usage journal amounts to."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path

import click

from sandbox_cli import options
from sandbox_cli.failures import Failure
from sandbox_cli.fold import BadLine, Bill, by_tenant, fold

JOURNAL = "/var/lib/sandbox-engine/usage.jsonl"


@click.group()
def usage() -> None:
    """Read the usage journal."""


@usage.command(
    "fold",
    epilog=options.examples(
        "sandbox-cli usage fold",
        "sandbox-cli usage fold usage.jsonl.1 usage.jsonl --by tenant -o json",
    ),
)
@click.argument("journals", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--by",
    type=click.Choice(["sandbox", "tenant"]),
    default="sandbox",
    show_default=True,
    help="A row for each of these.",
)
@click.option(
    "--until",
    metavar="TIME",
    help="RFC 3339; where spans that have not ended are cut off.  Now, if left out.",
)
@options.output
def fold_command(journals: tuple[Path, ...], by: str, until: str | None, output: str) -> None:
    """Fold usage journals, the oldest first, to seconds of compute and of storage.

    Without FILE it is the daemon's journal, with the part before it where there is one.
    """
    files = journals or _own()
    lines: list[str] = []
    for file in files:
        try:
            lines += file.read_text().splitlines()
        except OSError as error:
            raise Failure(f"cannot read {file}: {error.strerror}") from error
    try:
        bills = fold(lines, _moment(until))
    except BadLine as error:
        raise Failure(str(error)) from error
    bills = by_tenant(bills) if by == "tenant" else bills
    if output == "json":
        click.echo(json.dumps([bill.shown() for bill in bills]))
        return
    for bill in bills:
        click.echo(_row(bill))


def _own() -> tuple[Path, ...]:
    before = Path(JOURNAL + ".1")
    return (*((before,) if before.exists() else ()), Path(JOURNAL))


def _moment(until: str | None) -> float:
    if until is None:
        return time.time()
    try:
        return datetime.fromisoformat(until).timestamp()
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--until") from error


def _row(bill: Bill) -> str:
    seconds = "  ".join(f"{name} {value:.3f} s" for name, value in bill.seconds.items())
    names = " ".join(word for word in (bill.id, bill.tenant or "-") if word)
    return f"{names}  {seconds}" + ("  (not ended)" if bill.open else "")
