"""How answers are printed: tables and facts for people, protobuf's JSON for programs.

The JSON is protobuf's canonical mapping with the field names of the `.proto` files: 64-bit
numbers are strings, times are RFC 3339, unset fields show their defaults.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from google.protobuf.timestamp_pb2 import Timestamp

KIB = 1024


def as_dict(message: Message) -> dict[str, Any]:
    """`message` in protobuf's JSON mapping."""
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def json_document(value: object) -> None:
    """Print one indented JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def json_line(**fields: object) -> None:
    """Print one JSON object on one line, at once."""
    click.echo(json.dumps(fields, separators=(",", ":"), ensure_ascii=False))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Print a name and its value a line, values aligned; empty values are left out."""
    width = max((len(name) for name, value in pairs if value), default=0)
    for name, value in pairs:
        if value:
            click.echo(f"{name.ljust(width)}  {value}")


def word(enum: Any, value: int) -> str:
    """The name of an enum's `value` without its prefix, in lower case.

    `SANDBOX_STATE_RUNNING` of `SandboxState` is `running`; an unknown number stays a number.
    """
    if value not in enum.values():
        return str(value)
    prefix = "".join(f"_{c}" if c.isupper() else c for c in enum.DESCRIPTOR.name).strip("_")
    return str(enum.Name(value)).removeprefix(prefix.upper() + "_").lower()


def span(seconds: float) -> str:
    """A duration in its two largest units: `1h 5m`, `3.2s`."""
    if seconds < 60:
        return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "d"), (hours, "h"), (minutes, "m"), (rest, "s")]
    first = next(index for index, (count, _) in enumerate(units) if count)
    return " ".join(f"{count}{unit}" for count, unit in units[first : first + 2] if count)


def moment(timestamp: Timestamp) -> str:
    """A point in time, in UTC."""
    when = datetime.fromtimestamp(timestamp.seconds, UTC)
    return f"{when:%Y-%m-%d %H:%M:%S} UTC"


def age(timestamp: Timestamp) -> str:
    """How long ago it was."""
    return span(max(0.0, datetime.now(UTC).timestamp() - timestamp.ToNanoseconds() / 1e9))


def size(count: int) -> str:
    """A number of bytes in the largest unit that leaves a number above 1."""
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < KIB or unit == "TiB":
            break
        value /= KIB
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
