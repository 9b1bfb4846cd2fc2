"""Whether one more sandbox may exist: node, session and uid caps, and draining."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from sandbox_engine.errors import Draining, LimitReached
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.claim import Claim


class Admission:
    """Counts what exists or is being created.

    A slot is taken before the first effect of a create and given back when the sandbox
    is gone or the create failed, so that two creates never share the last slot.
    """

    def __init__(self, *, node: int, per_session: int, per_uid: int, claims: int = 0) -> None:
        self.node_limit, self._per_session, self._per_uid = node, per_session, per_uid
        self.max_claims = claims
        """Claims of the node API that may live at once; 0 is no cap of their own."""
        self._total = self._claims = 0
        self._sessions: Counter[str] = Counter()
        self._uids: Counter[int] = Counter()
        self._tenants: Counter[str] = Counter()
        self.tenant_limit: Callable[[str], int] = lambda _: 0
        """How many claims a tenant may hold at once; 0 is no cap of its own."""
        self.draining = False

    def enter(self, caller: Caller, *, claim: Claim | None = None) -> None:
        """Take a slot.  Raises `Draining` or `LimitReached`, and then took none."""
        if self.draining:
            raise Draining("the node is draining and takes no new sandboxes")
        if self._total >= self.node_limit:
            raise LimitReached(f"the node holds {self._total} sandboxes, its limit")
        if claim is not None and self.max_claims and self._claims >= self.max_claims:
            raise LimitReached(f"the node holds {self._claims} claims, its limit")
        if claim is not None and claim.tenant is not None:
            self._check_tenant(claim.tenant)
        if caller.session is not None and self._sessions[caller.session] >= self._per_session:
            raise LimitReached(
                f"this connection owns {self._per_session} sandboxes, its limit; destroy one"
            )
        if caller.uid is not None and self._uids[caller.uid] >= self._per_uid:
            raise LimitReached(f"uid {caller.uid} owns {self._per_uid} sandboxes, its limit")
        self.adopt(caller.session, caller.uid, claim=claim)

    def _check_tenant(self, tenant: str) -> None:
        limit = self.tenant_limit(tenant)
        if limit and self._tenants[tenant] >= limit:
            raise LimitReached(f"tenant {tenant!r} holds {self._tenants[tenant]} claims, its limit")

    def adopt(self, session: str | None, uid: int | None, *, claim: Claim | None = None) -> None:
        """Count a sandbox that exists already."""
        self._total += 1
        if claim is not None:
            self._claims += 1
            if claim.tenant is not None:
                self._tenants[claim.tenant] += 1
        if session is not None:
            self._sessions[session] += 1
        if uid is not None:
            self._uids[uid] += 1

    def leave(self, session: str | None, uid: int | None, *, claim: Claim | None = None) -> None:
        """Give a slot back."""
        self._total -= 1
        if claim is not None:
            self._claims -= 1
            if claim.tenant is not None:
                self._tenants[claim.tenant] -= 1
                if not self._tenants[claim.tenant]:
                    del self._tenants[claim.tenant]
        if session is not None:
            self._sessions[session] -= 1
            if not self._sessions[session]:
                del self._sessions[session]
        if uid is not None:
            self._uids[uid] -= 1
            if not self._uids[uid]:
                del self._uids[uid]

    @property
    def total(self) -> int:
        """Sandboxes that exist or are being created."""
        return self._total
