"""Sandbox state machine: which lifecycle step may follow which.

Pure.  `services/sandboxes.py` feeds it inputs and performs what the new state asks, so a
new rule is one row in `TABLE` and one row in `tests/engine/model/test_machine.py`.  The
diagram in ARCHITECTURE.md is generated from `TABLE`.

Invariants
    `DESTROYED` is terminal and absent from the table; every other state reaches it.
    A transitional state (-ING) has exactly one owner, the call that entered it, and
    leaves it by `DONE` or `FAILED`; any other call that arrives meanwhile is told so.
    An input with no row raises `StateConflict` and changes nothing.
"""

from __future__ import annotations

import enum

from sandbox_engine.errors import StateConflict


class State(enum.Enum):
    """Where a sandbox is in its life."""

    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    RESUMING = "resuming"
    SAVING = "saving"
    """It runs, but for the moment in which it is copied."""
    HIBERNATING = "hibernating"
    HIBERNATED = "hibernated"
    """Saved durably; it has no process and no memory."""
    WAKING = "waking"
    ARCHIVED = "archived"
    """Hibernated, and its lease is over: the store keeps it for its retention."""
    UNARCHIVING = "unarchiving"
    BOOTING = "booting"
    """It failed, and starts again from its own disk."""
    FAILED = "failed"
    """Its VM died; the record stays until its owner destroys it."""
    DESTROYING = "destroying"
    DESTROYED = "destroyed"


class Input(enum.Enum):
    """What can happen to a sandbox."""

    USE = "use"
    """A guest operation (exec, files); changes nothing, is allowed or not."""
    PAUSE = "pause"
    RESUME = "resume"
    SAVE = "save"
    """Copy its state: for a fork, a checkpoint, a template."""
    HIBERNATE = "hibernate"
    ARCHIVE = "archive"
    WAKE = "wake"
    DONE = "done"
    """The step under way succeeded."""
    STEP_FAILED = "step failed"
    """The step under way failed and the VM is as before it."""
    VM_DIED = "vm died"
    DESTROY = "destroy"


ENDED = (State.DESTROYING, State.DESTROYED)
"""Nobody can use it any more."""

S, On = State, Input

TABLE: dict[tuple[State, Input], State] = {
    (S.RUNNING, On.USE): S.RUNNING,
    (S.RUNNING, On.PAUSE): S.PAUSING,
    (S.RUNNING, On.RESUME): S.RUNNING,  # idempotent
    (S.RUNNING, On.VM_DIED): S.FAILED,
    (S.RUNNING, On.DESTROY): S.DESTROYING,
    (S.PAUSING, On.DONE): S.PAUSED,
    (S.PAUSING, On.STEP_FAILED): S.RUNNING,
    (S.PAUSING, On.VM_DIED): S.FAILED,
    (S.PAUSING, On.DESTROY): S.DESTROYING,
    (S.PAUSED, On.PAUSE): S.PAUSED,  # idempotent
    (S.PAUSED, On.RESUME): S.RESUMING,
    (S.PAUSED, On.VM_DIED): S.FAILED,
    (S.PAUSED, On.DESTROY): S.DESTROYING,
    (S.RESUMING, On.DONE): S.RUNNING,
    (S.RESUMING, On.STEP_FAILED): S.PAUSED,
    (S.RESUMING, On.VM_DIED): S.FAILED,
    (S.RESUMING, On.DESTROY): S.DESTROYING,
    (S.RUNNING, On.WAKE): S.RUNNING,  # idempotent
    (S.RUNNING, On.SAVE): S.SAVING,
    (S.RUNNING, On.HIBERNATE): S.HIBERNATING,
    (S.SAVING, On.USE): S.SAVING,  # it waits for the moment to pass
    (S.SAVING, On.RESUME): S.SAVING,
    (S.SAVING, On.WAKE): S.SAVING,
    (S.SAVING, On.DONE): S.RUNNING,
    (S.SAVING, On.STEP_FAILED): S.RUNNING,
    (S.SAVING, On.VM_DIED): S.FAILED,
    (S.SAVING, On.DESTROY): S.DESTROYING,
    (S.HIBERNATING, On.DONE): S.HIBERNATED,
    (S.HIBERNATING, On.STEP_FAILED): S.RUNNING,
    (S.HIBERNATING, On.VM_DIED): S.FAILED,
    (S.HIBERNATING, On.DESTROY): S.DESTROYING,
    (S.HIBERNATED, On.HIBERNATE): S.HIBERNATED,  # idempotent
    (S.HIBERNATED, On.SAVE): S.HIBERNATED,  # what was saved is copied
    (S.HIBERNATED, On.WAKE): S.WAKING,
    (S.HIBERNATED, On.DESTROY): S.DESTROYING,
    (S.WAKING, On.DONE): S.RUNNING,
    (S.WAKING, On.STEP_FAILED): S.HIBERNATED,
    (S.WAKING, On.DESTROY): S.DESTROYING,
    (S.HIBERNATED, On.ARCHIVE): S.ARCHIVED,
    (S.ARCHIVED, On.HIBERNATE): S.ARCHIVED,  # it sleeps already
    (S.ARCHIVED, On.WAKE): S.UNARCHIVING,
    (S.ARCHIVED, On.DESTROY): S.DESTROYING,
    (S.UNARCHIVING, On.DONE): S.RUNNING,
    (S.UNARCHIVING, On.STEP_FAILED): S.ARCHIVED,
    (S.UNARCHIVING, On.DESTROY): S.DESTROYING,
    (S.FAILED, On.WAKE): S.BOOTING,
    (S.BOOTING, On.DONE): S.RUNNING,
    (S.BOOTING, On.STEP_FAILED): S.FAILED,
    (S.BOOTING, On.DESTROY): S.DESTROYING,
    (S.FAILED, On.VM_DIED): S.FAILED,
    (S.FAILED, On.DESTROY): S.DESTROYING,
    (S.DESTROYING, On.DONE): S.DESTROYED,
    (S.DESTROYING, On.STEP_FAILED): S.DESTROYING,
    (S.DESTROYING, On.VM_DIED): S.DESTROYING,
    (S.DESTROYING, On.DESTROY): S.DESTROYING,  # a second destroy waits for the first
}


def step(state: State, given: Input) -> State:
    """The state after `given`.  Raises `StateConflict` where the table has no row."""
    after = TABLE.get((state, given))
    if after is None:
        raise StateConflict(have=state.value, given=given.value)
    return after
