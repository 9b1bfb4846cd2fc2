"""One table says what every error is on every door."""

from __future__ import annotations

import inspect
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from sandbox.v1.errors_pb2 import ErrorReason
from sandbox_engine import errors
from sandbox_engine.api.errors import TABLE, LegacyError, known, wire_text
from sandbox_engine.api.frames import convert
from sandbox_engine.api.rpc.status import status_of
from sandbox_engine.errors import Code, EngineError, InvalidArgument, PoolExhausted, StateConflict

SAID_BY_CLIENTS = {LegacyError.OK, LegacyError.DAEMON_UNREACHABLE}
"""No engine sends these: the library says them itself."""


def details(error: EngineError) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for detail in status_of(error).details:
        name = detail.TypeName().rpartition(".")[2]
        message: Message = getattr(error_details_pb2, name)()
        assert detail.Unpack(message)
        found[name] = message
    return found


def test_every_code_has_a_row() -> None:
    assert set(TABLE) == set(Code)


def test_every_legacy_error_is_reached() -> None:
    assert {row.legacy for row in TABLE.values()} == set(LegacyError) - SAID_BY_CLIENTS


def test_every_http_status_is_an_error() -> None:
    assert all(400 <= row.node < 600 and 400 <= row.control < 600 for row in TABLE.values())


def test_every_control_plane_code_is_one_word_in_lower_case() -> None:
    codes = [row.control_code for row in TABLE.values()]
    assert all(code == code.lower() and code.isidentifier() for code in codes)
    assert len(set(codes)) == len(codes)


def test_no_error_is_a_success_or_unknown_over_grpc() -> None:
    vague = {grpc.StatusCode.OK, grpc.StatusCode.UNKNOWN, grpc.StatusCode.CANCELLED}
    assert not {row.grpc for row in TABLE.values()} & vague


def test_the_registry_of_reasons_is_the_list_of_codes() -> None:
    registry = {name.removeprefix("ERROR_REASON_") for name in dict(ErrorReason.items())}
    assert registry == {code.value for code in Code} | {"UNSPECIFIED"}


def test_every_error_class_has_a_code_of_the_list() -> None:
    classes = [
        each
        for _, each in inspect.getmembers(errors, inspect.isclass)
        if issubclass(each, EngineError)
    ]
    assert {each.code for each in classes} == set(Code)


def test_an_error_tells_its_reason_and_its_facts() -> None:
    info = details(StateConflict(have="paused", given="pause"))["ErrorInfo"]
    assert (info.reason, info.domain) == ("STATE_CONFLICT", "sandbox-engine")
    assert dict(info.metadata) == {"have": "paused", "given": "pause"}


def test_a_retryable_error_says_when() -> None:
    error = PoolExhausted("none")
    error.retry_after_s = 1.5
    delay = details(error)["RetryInfo"].retry_delay
    assert (delay.seconds, delay.nanos) == (1, 500_000_000)
    assert "RetryInfo" not in details(StateConflict(have="a", given="b"))


def test_a_wrong_field_is_named_as_the_request_names_it() -> None:
    error = InvalidArgument("ttl_seconds", "must not be negative")
    (violation,) = details(error)["BadRequest"].field_violations
    assert (violation.field, violation.description) == ("ttl", "must not be negative")
    assert status_of(error).message == "ttl: must not be negative"


@pytest.mark.parametrize("code", Code)
def test_every_code_can_be_told_on_both_doors(code: Code) -> None:
    class Error(EngineError):
        pass

    Error.code = code
    error = Error("what happened")
    assert convert.failure(error).error.error_code == TABLE[code].legacy < 0
    assert status_of(error).code == TABLE[code].grpc.value[0]


def test_bytes_that_are_no_text_are_replaced_on_the_wire() -> None:
    assert wire_text("a\udcffb") == "a�b"
    error = InvalidArgument("path\udcff", "no \udcfe")
    assert "�" in status_of(error).message
    assert "�" in convert.failure(error).error.message


def test_a_long_message_is_cut_at_a_whole_character() -> None:
    message = convert.failure(EngineError("ü" * 5000)).error.message
    assert message == "ü" * 2048


def test_an_error_nobody_foresaw_says_nothing_of_the_inside() -> None:
    error = known(ValueError("secret"), "call")
    assert error.code is Code.INTERNAL
    assert "secret" not in str(error)
