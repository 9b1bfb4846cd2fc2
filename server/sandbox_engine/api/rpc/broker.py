"""`sandbox.v1.BrokerService`, on a socket of its own that only the broker's user may open."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import grpc
import grpc.aio
from sandbox.v1 import broker_pb2 as pb

from sandbox_engine.api import sockets
from sandbox_engine.api.rpc.callers import Callers
from sandbox_engine.api.rpc.dispatch import bind
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.egress_rules import Authorization, Named, Secret
from sandbox_engine.services.egress import Egress, EgressEvent

MAX_AGE_S = 5
"""How long an answer may be kept by a broker that misses a revocation."""
MAX_EVENTS = 1024
_SERVICE = pb.DESCRIPTOR.services_by_name["BrokerService"]
_GRACE_S = 1.0


class BrokerServicer:
    """Message in, one service call, message out."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress

    async def authorize(self, request: pb.AuthorizeRequest, _: Caller) -> pb.AuthorizeResponse:
        """Who presents this identity, and what it may reach."""
        if request.WhichOneof("identity") == "session_token":
            return _authorization(self._egress.by_token(request.session_token))
        return _authorization(self._egress.by_id(request.sandbox_id))

    async def watch_revocations(
        self, _request: pb.WatchRevocationsRequest, _: Caller
    ) -> AsyncIterator[pb.WatchRevocationsResponse]:
        """Which sandboxes' answers to drop; the first message is empty: the watch is armed."""
        async with aclosing(self._egress.revocations()) as revoked:
            async for ids in revoked:
                yield pb.WatchRevocationsResponse(sandbox_ids=ids)

    async def report_egress(
        self, request: pb.ReportEgressRequest, _: Caller
    ) -> pb.ReportEgressResponse:
        """What it decided and moved."""
        if len(request.events) > MAX_EVENTS:
            raise InvalidArgument(
                "events", f"{len(request.events)} events; the limit is {MAX_EVENTS}"
            )
        self._egress.report(_event(each) for each in request.events)
        return pb.ReportEgressResponse()


class BrokerServer:
    """The socket.  `start()` once; `stop()` is idempotent.

    Its file belongs to the broker's user and nobody else may open it: who connects is the
    broker, or root.
    """

    def __init__(self, egress: Egress, path: Path, uid: int) -> None:
        self._servicer, self._path, self._uid = BrokerServicer(egress), path, uid
        self._server: grpc.aio.Server | None = None

    async def start(self) -> None:
        """Listen.  Raises `InvalidArgument` where the address cannot be had."""
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((bind(_SERVICE, self._servicer, Callers({})),))
        sockets.claim(self._path, "broker_socket")
        before = os.umask(0o177)  # from its first moment on
        try:
            server.add_insecure_port(f"unix:{self._path}")
            await server.start()
        except RuntimeError as error:
            raise InvalidArgument("broker_socket", f"cannot listen: {error}") from error
        finally:
            os.umask(before)
        os.chown(self._path, self._uid, -1)
        self._server = server

    async def stop(self) -> None:
        """Take no more calls, end the rest."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(_GRACE_S)
            self._path.unlink(missing_ok=True)


def _authorization(found: Authorization) -> pb.AuthorizeResponse:
    answer = pb.AuthorizeResponse(
        sandbox_id=found.sandbox_id,
        sandbox_number=found.number,
        tenant=found.tenant,
        deny_all=not found.rules,
        rules=[_rule(each) for each in found.rules],
        secrets=[_secret(each) for each in found.secrets],
        address=found.address,
    )
    answer.max_age.FromSeconds(MAX_AGE_S)
    return answer


def _rule(given: Named) -> pb.EgressRule:
    rule = given.rule
    return pb.EgressRule(
        host=rule.host,
        ports=rule.ports,
        methods=rule.methods,
        credential=rule.credential,
        intercept=rule.intercept,
        named=given.named,
    )


def _secret(given: Secret) -> pb.EgressSecret:
    secret = pb.EgressSecret(name=given.name, value=given.entry.value)
    if (inject := given.entry.inject) is not None:
        secret.hosts.extend(inject.hosts)
        secret.header, secret.query, secret.body = inject.header, inject.query, inject.body
        secret.placeholder = inject.placeholder
    return secret


def _event(given: pb.EgressEvent) -> EgressEvent:
    return EgressEvent(
        sandbox_id=given.sandbox_id,
        host=given.host,
        port=given.port,
        decision=given.decision,
        secrets=tuple(given.secrets),
        upstream=given.upstream,
        sent_bytes=given.sent_bytes,
        received_bytes=given.received_bytes,
    )
