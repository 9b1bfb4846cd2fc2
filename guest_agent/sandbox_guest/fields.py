"""Read the fields of a request; a wrong one is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from sandbox_guest.framing import Control

T = TypeVar("T")


class BadField(Exception):
    """A field of a request cannot be what it is."""


def refuse(field: str, problem: str) -> BadField:
    """The error for a field that cannot be."""
    return BadField(f"{field}: {problem}")


def optional(request: Control, field: str, kind: type[T]) -> T | None:
    """The field, or None when absent or null."""
    value = request.get(field)
    if value is None:
        return None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise refuse(field, f"must be {kind.__name__}")
    return value


def text(request: Control, field: str) -> str | None:
    """An optional string that the kernel could take."""
    value = optional(request, field, str)
    if value is not None and "\0" in value:
        raise refuse(field, "holds a NUL")
    return value


def required_text(request: Control, field: str) -> str:
    """A string that must be there and not be empty."""
    value = text(request, field)
    if not value:
        raise refuse(field, "is missing")
    return value


def number(request: Control, field: str, default: int, *, least: int = 0) -> int:
    """An integer of at least `least`."""
    value = optional(request, field, int)
    if value is None:
        return default
    if value < least:
        raise refuse(field, f"must be at least {least}")
    return value


def flag(request: Control, field: str) -> bool:
    """A boolean, false when absent."""
    return optional(request, field, bool) or False


def words(request: Control, field: str) -> list[str]:
    """A list of strings that is not empty."""
    value = optional(request, field, list)
    if not value:
        raise refuse(field, "is empty")
    for word in value:
        if not isinstance(word, str) or "\0" in word:
            raise refuse(field, "must hold strings without NUL")
    return value


def variables(request: Control, field: str) -> dict[str, str] | None:
    """An environment."""
    value = optional(request, field, dict)
    return None if value is None else checked_variables(value, field)


def checked_variables(value: Mapping[object, object], field: str) -> dict[str, str]:
    """`value` if it can be an environment."""
    checked: dict[str, str] = {}
    for name, content in value.items():
        if not isinstance(name, str) or not isinstance(content, str):
            raise refuse(field, "must map strings to strings")
        if not name or "=" in name or "\0" in name + content:
            raise refuse(field, f"{name!r} cannot be a variable")
        checked[name] = content
    return checked


def size(request: Control, field: str) -> tuple[int, int] | None:
    """A terminal's `{cols, rows}`."""
    value = optional(request, field, dict)
    if value is None:
        return None
    return columns_rows(value)


def columns_rows(value: Control) -> tuple[int, int]:
    """Columns and rows of a terminal, each in 1 to 65535."""
    columns, rows = number(value, "cols", 80, least=1), number(value, "rows", 24, least=1)
    if max(columns, rows) > 0xFFFF:
        raise refuse("tty", "is larger than a terminal can be")
    return columns, rows
