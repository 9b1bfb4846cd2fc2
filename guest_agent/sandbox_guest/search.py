"""Find and replace text in files; runs in a worker."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from fnmatch import translate
from pathlib import Path

from sandbox_guest.framing import Control
from sandbox_guest.replace import Replacement
from sandbox_guest.worker import Say

MAX_FILE = 8 << 20
"""Larger files are not searched."""
_SNIFF = 8192
_LINE_MAX = 64 << 10
_REFERENCE = re.compile(r"\$(?:\$|(\d+|[A-Za-z_]\w*)|\{([^}]*)\})")


def find(path: str, pattern: re.Pattern[str], glob: str | None, say: Say) -> None:
    """Say a `match` for each line below `path` that `pattern` is found in.

    Binary files, larger ones and what cannot be read are skipped.  Links are not followed.
    """
    wanted = re.compile(_glob(glob)) if glob else None
    for file in _files(path):
        if wanted is None or wanted.match(file.rpartition("/")[2]):
            _find_in(file, pattern, say)


def _glob(glob: str) -> str:
    """Only `*` and `?` mean something."""
    return translate(glob.replace("[", "[[]"))


def _files(path: str) -> Iterator[str]:
    if stat.S_ISREG(Path(path).stat().st_mode):
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            yield f"{folder.rstrip('/')}/{name}"


def _find_in(file: str, pattern: re.Pattern[str], say: Say) -> None:
    text = _text_of(file)
    if text is None:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if pattern.search(line.removesuffix("\r")):
            content = line.removesuffix("\r")[:_LINE_MAX]
            say({"type": "match", "file": file, "line": number, "content": content})


def _text_of(file: str) -> str | None:
    """What a file says; None if it is not one to search."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as stream:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
            return None
        try:
            data = stream.read(MAX_FILE + 1)
        except OSError:
            return None
    if b"\0" in data[:_SNIFF] or len(data) > MAX_FILE:
        return None
    return data.decode(errors="replace")


def replace(files: Sequence[str], pattern: re.Pattern[str], replacement: str, say: Say) -> None:
    """Replace in each file, atomically, and say how often; stop at the first that fails."""
    expand = Expander(replacement)
    for file in files:
        try:
            text = Path(file).read_bytes().decode()
        except OSError as error:
            say(_error(file, error))
            return
        except UnicodeDecodeError:
            say({"type": "error", "kind": "bad_request", "message": f"{file}: is not UTF-8"})
            return
        changed, count = pattern.subn(expand, text)
        if count:
            try:
                _rewrite(file, changed.encode())
            except OSError as error:
                say(_error(file, error))
                return
        say({"type": "replaced", "file": file, "replacements": count})


class Expander:
    """A replacement with `$1`, `${1}`, `$name`, `${name}`; `$$` is a dollar, `$0` the match."""

    def __init__(self, replacement: str) -> None:
        self._replacement = replacement

    def __call__(self, match: re.Match[str]) -> str:
        """What `match` is replaced by."""

        def group(reference: re.Match[str]) -> str:
            name = reference[1] or reference[2]
            if name is None:
                return "$"
            try:
                return match[int(name) if name.isdecimal() else name] or ""
            except IndexError:
                return ""  # no such group, as an empty one

        return _REFERENCE.sub(group, self._replacement)


def _rewrite(file: str, data: bytes) -> None:
    folder, name = os.path.split(os.path.realpath(file))
    parent = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with Replacement(parent, name) as new:
            new.write(data)
            new.commit()
    finally:
        os.close(parent)


def _error(file: str, error: OSError) -> Control:
    kind = "not_found" if isinstance(error, FileNotFoundError) else "bad_request"
    return {"type": "error", "kind": kind, "message": f"{file}: {error.strerror}"}
