"""Runs in a guest of `test_fork_correctness`: what must be unharmed by a fork and a sleep.

Everything it sees is in /run/state.json, which is replaced ten times a second.
"""

import ctypes
import hashlib
import json
import os
import random
import socket
import sys
import threading
import time
from functools import partial
from typing import Any

sys.path.append("/run/agent/agent")
from sandbox_guest import reseed

TICK_S = 0.1
PORT = 7001
seen: dict[str, Any] = {"ended": [], "echoed": 0, "files": 0, "drawn": ""}
libc = ctypes.CDLL(None, use_errno=True)


class Spec(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "first_s", "first_ns")]


def ticks(name: str, clock: int, *, absolute: bool) -> None:
    """Counts what a timer says: how often it fired, and how many ticks that were."""
    fd = libc.timerfd_create(clock, 0)
    first = time.time() if absolute else TICK_S
    spec = Spec(0, int(TICK_S * 1e9), int(first), int(first % 1 * 1e9))
    assert libc.timerfd_settime(fd, int(absolute), ctypes.byref(spec), None) == 0
    told = seen[name] = {"fired": 0, "ticks": 0}
    while True:
        told["ticks"] += int.from_bytes(os.read(fd, 8), "little")
        told["fired"] += 1


def serve(server: socket.socket) -> None:
    """Echoes, and remembers how its connections ended."""
    while True:
        link, _ = server.accept()
        threading.Thread(target=echo, args=(link,), daemon=True).start()


def echo(link: socket.socket) -> None:
    name = link.recv(100).decode()
    link.sendall(name.encode())
    try:
        while data := link.recv(100):
            link.sendall(data)
        end = "closed"
    except ConnectionError:
        end = "reset"
    seen["ended"].append([name, end])


def inner() -> None:
    """A connection from this guest to itself: none of the host's business."""
    link = socket.create_connection(("127.0.0.1", PORT))
    while True:
        link.sendall(b"x")
        assert link.recv(1) == b"x"
        seen["echoed"] += 1
        time.sleep(TICK_S)


def write_files() -> None:
    """A file after another, each put in place by a rename, each with its own digest."""
    os.makedirs("/root/files", exist_ok=True)
    while True:
        body = random.SystemRandom().randbytes(20_000)
        name = f"/root/files/{seen['files']}"
        with open(f"{name}.new", "wb") as file:
            file.write(hashlib.sha256(body).digest() + body)
        os.rename(f"{name}.new", name)
        seen["files"] += 1
        time.sleep(TICK_S)


def main() -> None:
    random.seed(1)
    reseed.register()
    server = socket.create_server(("127.0.0.1", PORT))
    for work in (
        partial(ticks, "monotonic", time.CLOCK_MONOTONIC, absolute=False),
        partial(ticks, "wall", time.CLOCK_REALTIME, absolute=True),
        partial(serve, server),
        inner,
        write_files,
    ):
        threading.Thread(target=work, daemon=True).start()
    while True:
        if os.path.exists("/run/go") and not seen["drawn"]:
            seen["drawn"] = f"{random.getrandbits(64):x}"
        clocks = {"time": time.time(), "monotonic_s": time.monotonic()}
        with open("/run/state.new", "w") as file:
            json.dump(seen | clocks, file)
        os.rename("/run/state.new", "/run/state.json")
        time.sleep(TICK_S)


main()
