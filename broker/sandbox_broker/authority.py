"""Asks the engine who a guest is; keeps answers for seconds, and drops them when told.

Only while the watch of revocations is armed is anything kept: an answer that could not be
taken back is asked for anew.  A question that gets no answer is a denial.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

import grpc
import grpc.aio
from sandbox.v1 import broker_pb2, broker_pb2_grpc

from sandbox_broker import record
from sandbox_broker.errors import Unidentified, UpstreamFailed
from sandbox_broker.policy import Grant, Rule, Secret

DEFAULT_AGE_S = 5.0
LONGEST_AGE_S = 30.0
ANSWER_TIMEOUT_S = 10.0
MAX_KEPT = 4096
BATCH = 256
RETRY_S = 0.5
REPORT_S = 1.0


class Authority(Protocol):
    """Who knows guests."""

    async def by_token(self, token: str) -> Grant:
        """The guest with this session token; raises `Unidentified`, `UpstreamFailed`."""
        ...

    async def by_sandbox(self, sandbox_id: str) -> Grant:
        """The guest whose channel a connection came by; raises the same."""
        ...


class EngineAuthority:
    """The engine's `BrokerService`."""

    def __init__(self, target: str, revoked: Callable[[str], None]) -> None:
        self._target = target
        self._revoked = revoked
        self._kept: dict[tuple[str, str], tuple[float, Grant]] = {}
        self._armed = False
        self._epoch = 0
        self._channel: grpc.aio.Channel | None = None

    def _stub(self) -> broker_pb2_grpc.BrokerServiceAsyncStub:
        if self._channel is None:
            options = [("grpc.initial_reconnect_backoff_ms", 200), ("grpc.enable_http_proxy", 0)]
            options += [("grpc.max_reconnect_backoff_ms", 2000)]
            self._channel = grpc.aio.insecure_channel(self._target, options=options)
        return broker_pb2_grpc.BrokerServiceStub(self._channel)

    async def by_token(self, token: str) -> Grant:
        """See `Authority`."""
        return await self._ask(("token", token), broker_pb2.AuthorizeRequest(session_token=token))

    async def by_sandbox(self, sandbox_id: str) -> Grant:
        """See `Authority`."""
        return await self._ask(
            ("sandbox", sandbox_id), broker_pb2.AuthorizeRequest(sandbox_id=sandbox_id)
        )

    async def _ask(self, key: tuple[str, str], request: broker_pb2.AuthorizeRequest) -> Grant:
        kept = self._kept.get(key)
        if kept is not None and kept[0] > time.monotonic():
            return kept[1]
        epoch = self._epoch
        answer = await self._authorize(request)
        if epoch != self._epoch:  # something was revoked meanwhile: perhaps this
            epoch = self._epoch
            answer = await self._authorize(request)
        grant = grant_of(answer)
        if self._armed and epoch == self._epoch:
            age = DEFAULT_AGE_S
            if answer.HasField("max_age"):
                age = min(answer.max_age.ToTimedelta().total_seconds(), LONGEST_AGE_S)
            if len(self._kept) >= MAX_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = (time.monotonic() + age, grant)
        return grant

    async def _authorize(
        self, request: broker_pb2.AuthorizeRequest
    ) -> broker_pb2.AuthorizeResponse:
        try:
            return await self._stub().Authorize(request, timeout=ANSWER_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            if error.code() == grpc.StatusCode.UNAUTHENTICATED:
                raise Unidentified("the engine knows no such guest") from None
            record.note("authority failed", code=error.code().name)
            raise UpstreamFailed("the engine does not answer; nothing is decided") from None

    async def watch(self) -> None:
        """Drop what is revoked, until cancelled; a lost watch drops everything."""
        while True:
            try:
                async for told in self._stub().WatchRevocations(
                    broker_pb2.WatchRevocationsRequest()
                ):
                    self._armed = True
                    for sandbox_id in told.sandbox_ids:
                        self._drop(sandbox_id)
            except grpc.aio.AioRpcError as error:
                if self._armed:
                    record.note("watch of revocations lost", code=error.code().name)
            self._armed = False
            self._epoch += 1
            self._kept.clear()
            await asyncio.sleep(RETRY_S)

    def _drop(self, sandbox_id: str) -> None:
        self._epoch += 1
        gone = [key for key, (_, grant) in self._kept.items() if grant.sandbox_id == sandbox_id]
        for key in gone:
            del self._kept[key]
        self._revoked(sandbox_id)

    async def report(self, recorder: record.Recorder) -> None:
        """Hand in finished entries until cancelled; what fails is kept for the next time."""
        while True:
            await asyncio.sleep(REPORT_S)
            while await self.report_once(recorder):
                pass

    async def report_once(self, recorder: record.Recorder) -> bool:
        """Hand in one batch; whether another full one may wait."""
        batch = [recorder.pending[i] for i in range(min(BATCH, len(recorder.pending)))]
        if not batch:
            return False
        request = broker_pb2.ReportEgressRequest(events=[event_of(entry) for entry in batch])
        try:
            await self._stub().ReportEgress(request, timeout=ANSWER_TIMEOUT_S)
        except grpc.aio.AioRpcError:
            return False
        for entry in batch:  # the oldest may have been dropped meanwhile
            if recorder.pending and recorder.pending[0] is entry:
                recorder.pending.popleft()
        return len(batch) == BATCH

    async def close(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            await self._channel.close()


def grant_of(answer: broker_pb2.AuthorizeResponse) -> Grant:
    """The engine's answer as the policy reads it."""
    return Grant(
        sandbox_id=answer.sandbox_id,
        tenant=answer.tenant,
        deny_all=answer.deny_all,
        address=answer.address,
        rules=tuple(
            Rule(
                host=rule.host,
                ports=frozenset(rule.ports),
                methods=frozenset(method.upper() for method in rule.methods),
                credential=rule.credential,
                intercept=rule.intercept,
                named=rule.named,
            )
            for rule in answer.rules
        ),
        secrets=tuple(
            Secret(s.name, s.value, tuple(s.hosts), s.header, s.query, s.body, s.placeholder)
            for s in answer.secrets
        ),
    )


def event_of(entry: record.Entry) -> broker_pb2.EgressEvent:
    """An entry as the engine takes it."""
    return broker_pb2.EgressEvent(
        sandbox_id=entry.sandbox_id,
        host=entry.host,
        port=entry.port,
        decision=entry.decision,
        secrets=entry.secrets,
        upstream=entry.upstream,
        sent_bytes=entry.sent,
        received_bytes=entry.received,
    )
