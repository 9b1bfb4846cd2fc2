"""Errors, retries and decoding, against a server that fails as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from sandbox.v1 import errors_pb2
from sandbox_sdk import AsyncClient, Client, RetryPolicy, SandboxState, Stdout, errors
from sandbox_sdk.retry import Attempts

from tests.sdk_python.engine import Scripted, failure, scripted

BUSY = (grpc.StatusCode.RESOURCE_EXHAUSTED, "POOL_EXHAUSTED")
QUICK = RetryPolicy(first_delay_s=0.001, longest_delay_s=0.05)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Scripted, Path]]:
    with scripted(tmp_path) as both:
        yield both


@pytest.fixture
def server(served: tuple[Scripted, Path]) -> Scripted:
    return served[0]


@pytest.fixture
def client(served: tuple[Scripted, Path]) -> Iterator[Client]:
    with Client(served[1], retry=QUICK) as made:
        yield made


def test_a_create_is_asked_for_again_under_one_request_id(server: Scripted, client: Client) -> None:
    server.failures = [failure(*BUSY, retry_s=0.001) for _ in range(2)]
    assert client.create("base").id == "sb_1"
    assert len(server.request_ids) == 3
    assert len(set(server.request_ids)) == 1
    client.create("base")
    assert len(set(server.request_ids)) == 2


def test_no_more_attempts_than_the_policy_says(server: Scripted, client: Client) -> None:
    server.failures = [failure(*BUSY, retry_s=0.001) for _ in range(QUICK.attempts)]
    with pytest.raises(errors.PoolExhausted):
        client.create("base")
    assert len(server.calls) == QUICK.attempts


def test_a_longer_wait_than_the_policy_s_is_not_waited(server: Scripted, client: Client) -> None:
    server.failures = [failure(*BUSY, retry_s=0.051)]
    with pytest.raises(errors.PoolExhausted) as caught:
        client.create("base")
    assert caught.value.retry_after_s == pytest.approx(0.051)
    assert server.calls == ["create"]


def test_without_a_word_on_retries_an_error_is_final(server: Scripted, client: Client) -> None:
    server.failures = [failure(*BUSY)]
    with pytest.raises(errors.PoolExhausted):
        client.create("base")
    assert server.calls == ["create"]


def test_what_is_not_safe_to_repeat_is_not_repeated(server: Scripted, client: Client) -> None:
    sandbox = client.create("base")
    server.failures = [failure(*BUSY, retry_s=0.001)]
    with pytest.raises(errors.PoolExhausted):
        sandbox.fork()
    assert server.calls == ["create", "fork"]


def test_a_lost_connection_is_tried_again_and_then_told(tmp_path: Path) -> None:
    with Client(tmp_path / "nothing", retry=QUICK) as client, pytest.raises(errors.ConnectionLost):
        client.create("base")


def test_an_error_has_its_facts_and_nothing_of_the_transport(
    server: Scripted, client: Client
) -> None:
    code = grpc.StatusCode.NOT_FOUND
    server.failures = [failure(code, "TEMPLATE_NOT_FOUND", name="x")]
    with pytest.raises(errors.TemplateNotFound) as caught:
        client.create("x")
    assert caught.value.metadata == {"name": "x"}
    assert caught.value.message == "because of TEMPLATE_NOT_FOUND"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_reason_and_a_state_of_a_newer_engine_are_not_fatal(
    server: Scripted, client: Client
) -> None:
    assert client.create("base").info.state is SandboxState.UNSPECIFIED
    server.failures = [failure(grpc.StatusCode.ABORTED, "OF_NEXT_YEAR")]
    with pytest.raises(errors.SandboxError) as caught:
        client.create("base")
    assert type(caught.value) is errors.SandboxError
    assert caught.value.reason == "OF_NEXT_YEAR"


def test_every_reason_of_the_registry_has_its_class() -> None:
    names = {
        name.removeprefix("ERROR_REASON_")
        for name in errors_pb2.ErrorReason.keys()  # noqa: SIM118 - an enumeration is no mapping
    }
    assert names - {"UNSPECIFIED"} == set(errors.BY_REASON)


def test_characters_cut_in_two_arrive_whole(client: Client) -> None:
    with client.create("base").exec("x") as command:
        texts = [event.text for event in command if isinstance(event, Stdout)]
    assert "".join(texts) == "grün €\N{REPLACEMENT CHARACTER}"
    assert all(len(text) <= 1 for text in texts)


def test_input_that_was_not_asked_for_is_refused_here(client: Client) -> None:
    with client.create("base").exec("x") as command, pytest.raises(errors.InputClosed):
        command.write(b"x")


def test_a_command_that_failed_can_be_an_error(client: Client) -> None:
    result = client.create("base").run("x")
    with pytest.raises(errors.CommandFailed, match="exit code 3") as caught:
        result.check()
    assert caught.value.result is result


async def test_the_asynchronous_client_does_the_same(served: tuple[Scripted, Path]) -> None:
    server, path = served
    async with AsyncClient(path, retry=QUICK) as client:
        server.failures = [failure(*BUSY, retry_s=0.001)]
        sandbox = await client.create("base")
        assert len(set(server.request_ids)) == 1
        assert (await sandbox.run("x")).stdout_text.startswith("grün €")
        server.failures = [failure(grpc.StatusCode.NOT_FOUND, "PATH_NOT_FOUND")]
        with pytest.raises(errors.PathNotFound) as caught:
            await sandbox.run("x")
        assert caught.value.__cause__ is None


async def test_a_cancelled_task_is_cancelled_and_gets_no_error_of_ours(
    served: tuple[Scripted, Path],
) -> None:
    async with AsyncClient(served[1]) as client:
        sandbox = await client.create("base")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await sandbox.run("x")


def test_the_call_s_time_holds_for_all_attempts_together() -> None:
    now = [0.0]
    lost = errors.ConnectionLost("gone")
    attempts = Attempts(RetryPolicy(), 1.0, clock=lambda: now[0], draw=lambda: 0.0)
    assert attempts.remaining() == 1.0
    assert attempts.delay_after(lost) == pytest.approx(0.1)
    now[0] = 0.9
    assert attempts.remaining() == pytest.approx(0.1)
    assert attempts.delay_after(lost) is None
    now[0] = 1.0
    with pytest.raises(errors.Timeout):
        attempts.remaining()


def test_an_address_and_a_socket_are_not_both_meant() -> None:
    with pytest.raises(ValueError, match="not both"):
        Client("/x", address="127.0.0.1:1")
    with pytest.raises(ValueError, match="address too"):
        Client(token="x")
