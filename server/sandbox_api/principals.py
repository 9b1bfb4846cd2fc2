"""Who calls: the tokens file for TCP, the peer's user id for the Unix socket.

The file holds digests only.  A token is compared with every entry in constant time, so that
neither the time of an answer nor its content tells which entries exist.
"""

from __future__ import annotations

import configparser
import hashlib
import hmac
import os
import re
import secrets
import stat
from pathlib import Path

from msgspec import Struct

from sandbox_api.errors import ApiError

DEFAULT_MAX_SESSIONS = 16
MODE_ALLOWED = 0o640
TOKEN_PREFIX = "sba_"  # noqa: S105 - how tokens begin, not one
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_FIELDS = {"token_sha256", "max_sessions", "templates"}


class TokensError(Exception):
    """The tokens file cannot be used."""


class Principal(Struct, frozen=True, kw_only=True):
    """Someone who may own sessions."""

    name: str
    """Of the tokens file, or `uid:N`, which no entry can be called."""
    max_sessions: int = DEFAULT_MAX_SESSIONS
    templates: frozenset[str] | None = None
    """Those it may use; None for all."""

    def check_template(self, template: str) -> None:
        """Raise 403 where the template is not on its list."""
        if self.templates is not None and template not in self.templates:
            message = f"template {template!r} is not allowed for this token"
            raise ApiError(403, "template_not_allowed", message)


class Tokens:
    """The entries of a tokens file."""

    def __init__(self, entries: dict[str, tuple[str, Principal]]) -> None:
        """By name: the digest in lower-case hex, and who it is."""
        self._entries = entries

    @property
    def names(self) -> list[str]:
        """Who is in it."""
        return sorted(self._entries)

    def find(self, token: str) -> Principal | None:
        """Whose token this is; every entry is compared, whatever the first ones gave."""
        given = hashlib.sha256(token.encode()).hexdigest()
        found: Principal | None = None
        for digest, principal in self._entries.values():
            if hmac.compare_digest(given, digest):
                found = principal
        return found


def load(path: Path, max_sessions: int = DEFAULT_MAX_SESSIONS) -> Tokens:
    """Read a tokens file; `max_sessions` is for entries without their own.

    Raises `TokensError` with the entry and the rule it breaks.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        with os.fdopen(fd) as file:
            _check_mode(path, os.fstat(fd))  # of the very file that is read
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise TokensError(f"{path}: {error}") from error
    parser = configparser.ConfigParser(interpolation=None, default_section="", strict=True)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise TokensError(f"{path}: {str(error).splitlines()[0]}") from error
    entries = {
        name: _entry(path, name, dict(parser[name]), max_sessions) for name in parser.sections()
    }
    digests = [digest for digest, _ in entries.values()]
    if len(set(digests)) != len(digests):
        raise TokensError(f"{path}: two entries have the same token_sha256")
    if not entries:
        raise TokensError(f"{path}: no entries")
    return Tokens(entries)


def _check_mode(path: Path, facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise TokensError(f"{path}: not a regular file")
    mode = stat.S_IMODE(facts.st_mode)
    if mode & ~MODE_ALLOWED:
        raise TokensError(f"{path}: mode {mode:04o} is wider than {MODE_ALLOWED:04o}")


def _entry(
    path: Path, name: str, fields: dict[str, str], max_sessions: int
) -> tuple[str, Principal]:
    def wrong(problem: str) -> TokensError:
        return TokensError(f"{path}: [{name}] {problem}")

    if not _NAME.fullmatch(name):
        raise wrong("the name must be 1-64 letters, digits, `.`, `_` or `-`")
    if unknown := set(fields) - _FIELDS:
        raise wrong(f"unknown field {min(unknown)}")
    digest = fields.get("token_sha256", "").strip().lower()
    if not _DIGEST.fullmatch(digest):
        raise wrong("token_sha256 must be 64 hex digits")
    limit = fields.get("max_sessions", str(max_sessions)).strip()
    if not (limit.isascii() and limit.isdigit() and 1 <= int(limit) <= 100_000):
        raise wrong("max_sessions must be 1 to 100000")
    templates: frozenset[str] | None = None
    if "templates" in fields:
        templates = frozenset(fields["templates"].replace(",", " ").split())
    principal = Principal(name=name, max_sessions=int(limit), templates=templates)
    return digest, principal


def of_uid(uid: int, max_sessions: int) -> Principal:
    """Who is at the other end of the Unix socket."""
    return Principal(name=f"uid:{uid}", max_sessions=max_sessions)


def bearer(tokens: Tokens | None, header: str | None) -> Principal:
    """The principal of an `Authorization` header.  Raises 401."""
    scheme, _, token = (header or "").partition(" ")
    found = tokens.find(token.strip()) if tokens is not None else None
    if scheme.lower() != "bearer" or found is None:
        message = "send `Authorization: Bearer TOKEN` with a token that is known"
        raise ApiError(401, "unauthenticated", message)
    return found


def new_token(name: str) -> tuple[str, str]:
    """A token, and the entry of the tokens file for it.  Raises `TokensError`."""
    if not _NAME.fullmatch(name):
        raise TokensError("the name must be 1-64 letters, digits, `.`, `_` or `-`")
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    digest = hashlib.sha256(token.encode()).hexdigest()
    return token, f"[{name}]\ntoken_sha256 = {digest}\n"
