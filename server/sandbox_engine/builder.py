"""The template builder: `python -m sandbox_engine.builder --data-dir D --request JSON`.

A process of its own, composed here.  It prints a JSON object a line: any number of
`{"step", "state", "detail", "fraction"}`, and last `{"result": {...}}` or `{"error":
{"code", "message", "field", "step"}}`.  It ends with 0 or 1.  SIGTERM and SIGINT stop a
build, and so does a reader that is gone; either way nothing half-published is left.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec

from sandbox_engine.errors import EngineError, InvalidArgument, TemplateBuildFailed
from sandbox_engine.guest.channel import Connector
from sandbox_engine.model.template import BuildRequest
from sandbox_engine.observe.log import configure
from sandbox_engine.observe.tasks import settle
from sandbox_engine.ports.vmm import MachineDriver
from sandbox_engine.templates.build import Builder, Machines
from sandbox_engine.templates.layout import TemplateFiles
from sandbox_engine.vmm.accel import decide
from sandbox_engine.vmm.process import Launcher
from sandbox_engine.vmm.qemu.driver import QemuDriver

UID_BASE, UID_COUNT = 690_000, 10_000
"""Below the daemon's own VMMs; a builder's VMM has one of these by the builder's pid."""


def main() -> None:
    """Parse arguments, build, tell the outcome."""
    parser = argparse.ArgumentParser(prog="sandbox_engine.builder", description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--request", required=True, help="a BuildRequest as JSON")
    arguments = parser.parse_args()
    configure("warning")
    try:
        _run(arguments.data_dir.absolute(), arguments.request)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush
        sys.exit(1)


def _run(data: Path, request_json: str) -> None:
    try:
        files = asyncio.run(_build(data, request_json))
    except EngineError as error:
        _print({"error": _failure(error)})
        sys.exit(1)
    except asyncio.CancelledError:
        _print({"error": {"code": "INTERNAL", "message": "the build was stopped"}})
        sys.exit(1)
    manifest = files.manifest
    _print({"result": {"name": manifest.name, "digest": files.digest, "inputs": manifest.inputs}})


async def _build(data: Path, request_json: str) -> TemplateFiles:
    request = _parse(request_json)
    if os.geteuid() != 0:
        raise InvalidArgument("user", "building takes root: the VMM gets a user of its own")
    launcher = Launcher.start()
    try:
        uid = UID_BASE + os.getpid() % UID_COUNT

        def driver_for(kernel: Path, initramfs: Path) -> MachineDriver:
            return QemuDriver(launcher, decide(data, kernel, initramfs).accel)

        machines = Machines(driver_for=driver_for, connector=Connector(), uid=uid, gid=uid)
        this = asyncio.current_task()
        assert this is not None
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, this.cancel)
        return await Builder(data, machines, _print).build(request)
    finally:
        await settle()
        launcher.close()


def _parse(text: str) -> BuildRequest:
    try:
        return msgspec.json.decode(text, type=BuildRequest)
    except msgspec.MsgspecError as error:
        raise InvalidArgument("request", str(error)) from error


def _print(message: object) -> None:
    """One line, in one write.  Raises `BrokenPipeError` once nobody reads, which ends a build."""
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()


def _failure(error: EngineError) -> dict[str, str]:
    """Code, words and facts; the reader puts field or step before the words again."""
    failure = {"code": error.code.value, "message": str(error)}
    if isinstance(error, InvalidArgument):
        failure |= {"field": error.field, "message": error.problem}
    elif isinstance(error, TemplateBuildFailed):
        failure |= {"step": error.step, "message": error.problem}
    return failure


if __name__ == "__main__":
    main()
