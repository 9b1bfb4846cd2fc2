"""Words for git and sense from its answers.  Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from sandbox_guest.framing import Control

BASE = {"GIT_TERMINAL_PROMPT": "0", "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C.UTF-8"}
_AUTHOR = re.compile(r"\s*([^<>\n]+?)\s*<([^<>\s]*)>\s*")
_ORIGIN = re.compile(r"https?://[^/]+/")
_HEADER = re.compile(r"[A-Za-z-]+: ")
_SCHEME = re.compile(r"(?:basic|bearer|token) ", re.IGNORECASE)


def configuration(settings: list[tuple[str, str]]) -> dict[str, str]:
    """Settings as variables: neither a file nor an argument ever holds them."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def authorization(url: str, auth: str) -> tuple[str, str] | None:
    """The setting that sends `auth` to the host of `url` and to no other.

    `auth` is a whole header, a scheme and its value, `user:password`, or a bare token.
    """
    origin = _ORIGIN.match(url)
    if origin is None:
        return None
    if _HEADER.match(auth):
        header = auth
    elif _SCHEME.match(auth):
        header = f"Authorization: {auth}"
    else:
        pair = auth if ":" in auth else f"x-access-token:{auth}"
        header = f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}"
    return f"http.{origin[0]}.extraHeader", header


def identity(author: str) -> dict[str, str] | None:
    """`Name <email>` as the variables of author and committer; None if it is not that."""
    match = _AUTHOR.fullmatch(author)
    if match is None:
        return None
    return {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", match[1]), ("EMAIL", match[2]))
    }


def parse_status(out: bytes, *, truncated: bool) -> Control:
    """The answer to `status --porcelain=v2 --branch -z`; a cut last record is left out."""
    records = out.split(b"\0")[:-1]
    status: Control = {"branch": "", "ahead": 0, "behind": 0}
    files: list[Control] = []
    remaining = iter(record.decode(errors="surrogateescape") for record in records)
    for record in remaining:
        if record.startswith("# "):
            _header(record, status)
        elif (file := _file(record, remaining)) is not None:
            files.append(file)
    status["files"] = files
    if truncated:
        status["truncated"] = True
    return status


def _header(record: str, status: Control) -> None:
    _, key, *values = record.split(" ")
    if key == "branch.head":
        status["branch"] = values[0]
    elif key == "branch.ab":
        status["ahead"], status["behind"] = int(values[0]), -int(values[1])


def _file(record: str, remaining: Iterator[str]) -> Control | None:
    match record[:1]:
        case "1":
            states, path = record[2:4], record.split(" ", 8)[8]
        case "2":
            states, path = record[2:4], record.split(" ", 9)[9]
            next(remaining, None)  # where it was renamed from
        case "u":
            states, path = record[2:4], record.split(" ", 10)[10]
        case "?":
            states, path = "??", record[2:]
        case _:
            return None
    return {"path": path, "staged": states[0], "unstaged": states[1]}
