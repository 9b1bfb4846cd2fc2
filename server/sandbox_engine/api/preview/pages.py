"""What the preview listener says itself: a page that names the cause."""

from __future__ import annotations

from html import escape

from sandbox_engine.api.errors import TABLE, known
from sandbox_engine.errors import Code, EngineError, GuestUnavailable
from sandbox_engine.model.preview import Pass

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem}}
</style></head><body><h1>{title}</h1><p id="cause">{cause}</p></body></html>
"""


def failure(error: BaseException, what: Pass | None) -> tuple[int, bytes]:
    """Status and page for what kept a request from the guest."""
    found = known(error, "preview")
    status = TABLE[found.code].node
    if found.code is Code.SANDBOX_NOT_FOUND:
        return status, page("No preview here", "This address has ended, or never was one.")
    return status, page("The preview cannot be shown", _cause(found, what))


def _cause(error: EngineError, what: Pass | None) -> str:
    if what is not None and isinstance(error, GuestUnavailable):
        return (
            f"Port {what.port} of sandbox {what.sandbox} does not answer: {error}. "
            "Start the server in the sandbox, on its loopback address, and load this page again."
        )
    return str(error)


def page(title: str, cause: str) -> bytes:
    """One page."""
    return _PAGE.format(title=escape(title), cause=escape(cause)).encode(errors="replace")
