"""How failures of a step are worded, by kind."""

from __future__ import annotations

import asyncio
import errno

import pytest
from sandbox_engine.errors import (
    EngineError,
    GuestUnavailable,
    InvalidArgument,
    NoSpace,
    TemplateBuildFailed,
    TemplateBusy,
    VmmError,
)
from sandbox_engine.ports.builder import BuildProgress
from sandbox_engine.templates.apt import PackageMissing
from sandbox_engine.templates.bake import BakeFailed
from sandbox_engine.templates.commands import CommandFailed
from sandbox_engine.templates.rootfs import BadSource
from sandbox_engine.templates.steps import step
from sandbox_engine.templates.unpack import BadTree

FULL = "write error: No space left on device"


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (BadSource("tree is gone"), InvalidArgument, "source: tree is gone"),
        (BadSource("64 MiB", "disk_mib"), InvalidArgument, "disk_mib: 64 MiB"),
        (OSError(errno.ENOSPC, "full"), NoSpace, "rootfs: the host's disk is full"),
        (OSError(errno.EDQUOT, "quota"), NoSpace, "rootfs: the host's disk is full"),
        (CommandFailed("cp", "ended with 1", FULL), NoSpace, "rootfs: cp found the disk full"),
        (NoSpace("while the guest ran"), NoSpace, "rootfs: while the guest ran"),
        (OSError(errno.EIO, "broken"), TemplateBuildFailed, "rootfs: .*broken"),
        (CommandFailed("cp", "ended with 1", "no"), TemplateBuildFailed, "cp ended with 1: no"),
        (PackageMissing("no kernel"), TemplateBuildFailed, "rootfs: no kernel"),
        (BadTree("bad"), TemplateBuildFailed, "rootfs: bad"),
        (BakeFailed("silent"), TemplateBuildFailed, "rootfs: silent"),
        (VmmError("died"), TemplateBuildFailed, "rootfs: died"),
        (GuestUnavailable("gone"), TemplateBuildFailed, "rootfs: gone"),
        (TemplateBusy("busy"), TemplateBusy, "busy"),
        (ZeroDivisionError("oops"), TemplateBuildFailed, "please report it: ZeroDivisionError"),
    ],
)
def test_each_failure_becomes_an_error_with_words(
    error: Exception, kind: type[EngineError], words: str
) -> None:
    told: list[BuildProgress] = []
    with pytest.raises(kind, match=words) as caught, step("rootfs", told.append):
        raise error
    assert type(caught.value) is kind
    assert [progress.state for progress in told] == ["started", "failed"]
    assert told[-1].detail == str(caught.value)


def test_a_step_tells_its_details_and_its_end() -> None:
    told: list[BuildProgress] = []
    with step("rootfs", told.append) as running:
        running.on_line("I: installing")
    with step("bake", told.append) as running:
        running.cached = True
    assert [(progress.step, progress.state, progress.detail) for progress in told] == [
        ("rootfs", "started", ""),
        ("rootfs", "running", "installing"),
        ("rootfs", "done", ""),
        ("bake", "started", ""),
        ("bake", "cached", ""),
    ]


def test_cancellation_is_told_and_never_wrapped() -> None:
    told: list[BuildProgress] = []
    with pytest.raises(asyncio.CancelledError), step("bake", told.append):
        raise asyncio.CancelledError
    assert (told[-1].state, told[-1].detail) == ("failed", "stopped")
