"""What an operator may set, from the environment; every name begins with `SANDBOX_BROKER_`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any

from sandbox_broker.addresses import Network

PREFIX = "SANDBOX_BROKER_"
MAX_BODY = 256 << 20
_LISTEN = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[0-9A-Za-z.-]+):(?P<port>\d{1,5})\Z")


class BadSetting(Exception):
    """A variable has no use; the message names it."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The broker's settings; sizes in bytes."""

    listen: tuple[tuple[str, int], ...] = (("127.0.0.1", 8080),)
    doors: str = ""
    doors_uid: int | None = None
    authority: str = "unix:///run/sandbox-engine/broker.sock"
    credentials: str = "/etc/sandbox-engine/credentials.conf"
    metrics: tuple[str, int] | None = ("127.0.0.1", 9102)
    max_body: int = MAX_BODY
    max_conns: int = 1024
    workers: int = 1
    allow_private: bool = False
    internal_allow: tuple[Network, ...] = ()
    resolve: Mapping[str, str] = field(default_factory=dict)
    upstream_ca: str = ""
    upstream_proxy: str = ""
    ca_cert: str = ""
    ca_key: str = ""
    user: str = ""


def read(environment: Mapping[str, str]) -> Settings:
    """The settings; raises `BadSetting` for one that cannot be used, or that nobody knows."""
    given = {k.removeprefix(PREFIX): v for k, v in environment.items() if k.startswith(PREFIX)}
    known: dict[str, Callable[[str], Any]] = {
        "LISTEN": lambda v: tuple(_listen("LISTEN", each) for each in v.split(",") if each),
        "DOORS": str,
        "DOORS_UID": lambda v: _number("DOORS_UID", v, 0, 2**32 - 2),
        "AUTHORITY": str,
        "CREDENTIALS": str,
        "METRICS": lambda v: _listen("METRICS", v) if v else None,
        "MAX_BODY": lambda v: _number("MAX_BODY", v, 0, 1 << 50),
        "MAX_CONNS": lambda v: _number("MAX_CONNS", v, 1, 1 << 20),
        "WORKERS": lambda v: _number("WORKERS", v, 1, 256),
        "ALLOW_PRIVATE_UPSTREAM": lambda v: _flag("ALLOW_PRIVATE_UPSTREAM", v),
        "INTERNAL_ALLOW": _prefixes,
        "RESOLVE": _pins,
        "UPSTREAM_CA": str,
        "UPSTREAM_PROXY": _proxy,
        "CA_CERT": str,
        "CA_KEY": str,
        "USER": str,
    }
    fields: dict[str, Any] = {"workers": len(os.sched_getaffinity(0))}
    for name, value in given.items():
        if name not in known:
            raise BadSetting(f"{PREFIX}{name}: no such setting")
        field_name = {"ALLOW_PRIVATE_UPSTREAM": "allow_private"}.get(name, name.lower())
        fields[field_name] = known[name](value)
    if bool(fields.get("ca_cert")) != bool(fields.get("ca_key")):
        raise BadSetting(f"{PREFIX}CA_CERT and {PREFIX}CA_KEY come together")
    return Settings(**fields)


def _listen(name: str, text: str) -> tuple[str, int]:
    found = _LISTEN.match(text.strip())
    if not found or int(found["port"]) > 65535:
        raise BadSetting(f"{PREFIX}{name}: {text!r} is not HOST:PORT")
    return found["host"].strip("[]"), int(found["port"])


def _number(name: str, text: str, least: int, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise BadSetting(f"{PREFIX}{name}: {text!r} is not a number of {least} to {most}")
    return int(text)


def _flag(name: str, text: str) -> bool:
    if text not in {"", "0", "1"}:
        raise BadSetting(f"{PREFIX}{name}: {text!r} is not 0 or 1")
    return text == "1"


def _prefixes(text: str) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(each.strip()) for each in text.split(",") if each.strip())
    except ValueError as error:
        raise BadSetting(f"{PREFIX}INTERNAL_ALLOW: {error}") from None


def _pins(text: str) -> dict[str, str]:
    pins = {}
    for each in filter(None, text.split(",")):
        name, equals, address = each.strip().partition("=")
        if not equals:
            raise BadSetting(f"{PREFIX}RESOLVE: {each!r} is not NAME=ADDRESS")
        pins[name.lower()] = address
    return pins


def _proxy(text: str) -> str:
    if text and not re.match(r"http://(?:[^@/\s]+@)?[0-9A-Za-z.-]+:\d{1,5}/?\Z", text):
        raise BadSetting(f"{PREFIX}UPSTREAM_PROXY: not http://[USER:PASSWORD@]HOST:PORT")
    return text.rstrip("/")
