"""The machine between epochs: greeted, quiesced, resumed (what the channel asks for)."""

from __future__ import annotations

import json
import os
import time

import sandbox_guest
from sandbox_guest.agent import Agent
from sandbox_guest.fields import checked_variables
from sandbox_guest.framing import Control
from sandbox_guest.identity import set_clock
from sandbox_guest.tasks import log

PROTOCOL = 1


class Guest:
    """One guest over its epochs."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def greet(self, body: Control) -> bytes:
        """Become who the greeting says, then let the workload run.  Never raises.

        A workload that was frozen stays so when its identity could not be applied: it
        must not run as somebody else.
        """
        confirmed, problem = False, None
        try:
            confirmed = self._become(body)
        except Exception as error:  # noqa: BLE001 - the host must hear of it, whatever it is
            log("identity was not applied", error)
            problem = f"{type(error).__name__}: {error}"
        if problem is None:
            self._agent.cgroups.thaw()
        return self._welcome(confirmed, problem)

    def quiesce(self) -> None:
        """Stop the workload, then write out what it wrote."""
        if not self._agent.cgroups.freeze():
            log("a process would not freeze in time; it is saved as it is")
        os.sync()

    def resume(self) -> None:
        """Let the workload run on."""
        self._agent.cgroups.thaw()

    def _become(self, body: Control) -> bool:
        """Clock first: the workload must not see the old time.  True if there was an identity."""
        if (clock_ns := body.get("clock_ns")) is not None:
            set_clock(clock_ns)
        identity = body.get("identity")
        if identity is None:
            return False
        self._agent.interface.hide()  # its address was another one's, or is no more
        self._agent.identity.apply(identity)
        if identity.get("machine_id") is not None:
            self._agent.metadata.forget_tokens()
        self._agent.variables.set_own(checked_variables(identity.get("env") or {}, "env"))
        return True

    def _welcome(self, confirmed: bool, problem: str | None) -> bytes:
        message: Control = {
            "protocol": PROTOCOL,
            "agent_version": sandbox_guest.__version__,
            "kernel": os.uname().release,
            "boot_id": self._agent.identity.boot_id,
            "clock_ns": time.time_ns(),
            "identity_confirmed": confirmed,
        }
        if problem is not None:
            message["error"] = problem
        return json.dumps(message).encode()
