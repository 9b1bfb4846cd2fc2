"""The OpenAPI document: made from `calls.ROUTES` and the types in `bodies`, never by hand."""

from __future__ import annotations

import http
from typing import Any

import msgspec

from sandbox_api import __version__, bodies
from sandbox_api.calls import IDEMPOTENCY_KEY, ROUTES, Parameter, Route

_REF = "#/components/schemas/{name}"
_ALWAYS = (401, 405, 408, 500, 501, 503)
"""Errors that any call may be answered by."""


def document() -> dict[str, Any]:
    """The whole of it."""
    types = {bodies.ErrorBody}
    for route in ROUTES:
        types |= {each for each in (route.body, *route.answers.values()) if _is_body(each)}
    ordered = sorted(types, key=lambda each: str(each.__name__))
    schemas, components = msgspec.json.schema_components(ordered, ref_template=_REF)
    named = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, named)
    return {
        "openapi": "3.1.0",
        "info": {"title": "sandbox-api", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def text() -> bytes:
    """The document as a file."""
    return msgspec.json.format(msgspec.json.encode(document()), indent=1) + b"\n"


def _is_body(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _operation(route: Route, named: dict[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.about,
        "parameters": _parameters(route),
        "responses": {
            str(status): _answer(route, status, kind, named)
            for status, kind in route.answers.items()
        },
    }
    errors = {*route.errors, *_ALWAYS} - ({401} if route.public else set())
    for status in sorted(errors):
        found["responses"][str(status)] = _response(status, _json(named[bodies.ErrorBody]))
    if route.body is not None:
        found["requestBody"] = {"required": True, "content": _json(named[route.body])}
    if route.raw_body:
        found["requestBody"] = {"content": {"application/octet-stream": {}}}
    if route.public:
        found["security"] = []
    return found


def _parameters(route: Route) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    schema: dict[str, Any]
    if "{id}" in route.path:
        schema = {"type": "string", "pattern": "^ses_[0-9a-f]{24}$"}
        found.append({"name": "id", "in": "path", "required": True, "schema": schema})
    found += [_query(each) for each in route.query]
    if route.name == "exec":
        schema = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"}
        about = "Replays the first answer for 10 minutes instead of running again."
        found.append(
            {"name": IDEMPOTENCY_KEY, "in": "header", "description": about, "schema": schema}
        )
    return found


def _query(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any]
    match parameter.kind:
        case "path":
            schema = {"type": "string", "pattern": "^/workspace(/|$)"}
        case "flag":
            schema = {"type": "string", "enum": ["0", "1", "false", "true"]}
        case _:
            schema = {"type": "string", "enum": ["keep", "delete"]}
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.kind == "path",
        "description": parameter.about,
        "schema": schema,
    }


def _answer(route: Route, status: int, kind: Any, named: dict[Any, Any]) -> dict[str, Any]:
    if kind is None:
        return _response(status, {})
    if kind is bytes:
        return _response(status, {"application/octet-stream": {}})
    content = _json(named.get(kind, {"type": "object"}))
    if route.name == "exec":
        content["text/event-stream"] = {"schema": {"type": "string"}}
    return _response(status, content)


def _response(status: int, content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"description": http.HTTPStatus(status).phrase}
    if content:
        found["content"] = content
    if status in (429, 503):
        found["headers"] = {"Retry-After": {"schema": {"type": "integer", "minimum": 1}}}
    return found


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
