"""What an allowed request looks like when it leaves: headers, target, secrets put in.  Pure."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote_plus

from sandbox_broker.credentials import Credentials
from sandbox_broker.http1 import Headers, end_to_end
from sandbox_broker.policy import Grant, Secret, Verdict, secrets_for
from sandbox_broker.scrub import Replacer, scrubber


@dataclass(slots=True)
class Plan:
    """The request to send, and what its answer must not show."""

    headers: Headers
    path: bytes
    names: tuple[str, ...]
    """Names of what was put in: all that is ever logged of it."""
    values: tuple[str, ...]
    body: Replacer

    def scrub(self) -> Replacer:
        """A fresh scrubber for one stream of the answer."""
        return scrubber(self.values)


def holds(grant: Grant, held: Credentials, name: str, host: str, port: int) -> bool:
    """Whether there is a credential: the sandbox's own host-only value, or the broker's."""
    own = name and any(secret.name == name for secret in grant.secrets)
    return bool(own) or held.find(name, host, port) is not None


def make(
    grant: Grant,
    verdict: Verdict,
    held: Credentials,
    *,
    host: str,
    port: int,
    path: bytes,
    headers: Headers,
) -> Plan:
    """The request's end-to-end headers and target with everything put in.

    `Host`, `Content-Length` and `Expect` are left to the caller.  A rule's credential is put
    in last, so it wins over a sandbox's own value for the same header.
    """
    kept = [
        (name, value) for name, value in end_to_end(headers) if name not in {b"host", b"expect"}
    ]
    names: list[str] = []
    values: list[str] = []
    pairs: list[tuple[bytes, bytes]] = []
    for secret in secrets_for(grant, host):
        names.append(secret.name)
        values.append(secret.value)
        if secret.header:
            kept = _set(kept, secret.header, secret.value)
        if secret.query:
            path = _set_query(path, secret.query, secret.value)
        if secret.body and secret.placeholder:
            pairs.append((secret.placeholder.encode(), secret.value.encode()))
    found = _credential(grant, verdict, held, host, port)
    if found is not None:
        name, header, value = found
        kept = _set(kept, header, value)
        names.append(name)
        values.append(value)
    if values:
        # An echo must be readable to be found.
        hidden = {b"accept-encoding", b"sec-websocket-extensions"}
        kept = [(name, value) for name, value in kept if name not in hidden]
        kept.append((b"accept-encoding", b"identity"))
    return Plan(kept, path, tuple(dict.fromkeys(names)), tuple(values), Replacer(pairs))


def _credential(
    grant: Grant, verdict: Verdict, held: Credentials, host: str, port: int
) -> tuple[str, str, str] | None:
    own: Secret | None = None
    if verdict.credential:
        own = next((s for s in grant.secrets if s.name == verdict.credential), None)
    if own is not None:
        return own.name, own.header or "Authorization", own.value
    credential = held.find(verdict.credential, host, port)
    if credential is None:
        return None
    return credential.name, credential.header, credential.value


def _set(headers: Headers, name: str, value: str) -> Headers:
    key = name.lower().encode()
    return [each for each in headers if each[0] != key] + [(key, value.encode())]


def _set_query(path: bytes, name: str, value: str) -> bytes:
    """The target with one parameter set; the guest's own of that name goes, however written."""
    bare, _, query = path.partition(b"?")
    kept = [
        part
        for part in query.split(b"&")
        if part and unquote_plus(part.partition(b"=")[0].decode("latin-1")) != name
    ]
    kept.append(f"{quote(name, safe='')}={quote(value, safe='')}".encode())
    return bare + b"?" + b"&".join(kept)
