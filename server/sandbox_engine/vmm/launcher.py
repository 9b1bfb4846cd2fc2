"""The helper process that starts VMMs.

It exists because the daemon must not: forking a process full of gRPC threads in the
middle of a call is unsafe, and uvloop's spawn stalls the loop for milliseconds.  The
helper is started before anything else, holds no state, imports only what it needs, and
runs as a plain script.  VMMs are its children only until it exits with the daemon;
they go on, and the next daemon adopts them.

Protocol: a SEQPACKET socket, its descriptor number in argv.  A request is one JSON object
`{id, argv, cwd, uid, gid, groups, log, cgroups}` with descriptors attached; `@FD0@` and so
on in `argv` become their numbers in the child.  The reply is `{id, pid, fds}` or `{id, error}`.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

MAX_MESSAGE = 1 << 16
MAX_DESCRIPTORS = 64
PLACEMENTS: queue.SimpleQueue[tuple[int, list[str]]] = queue.SimpleQueue()


def serve(link: socket.socket) -> None:
    """Answer requests until the daemon closes its end."""
    while True:
        data, fds, _, _ = socket.recv_fds(link, MAX_MESSAGE, MAX_DESCRIPTORS)
        if not data:
            return
        request = json.loads(data)
        try:
            reply = {"id": request["id"], "pid": start(request, fds), "fds": fds}
        except (OSError, subprocess.SubprocessError) as error:
            reply = {"id": request["id"], "error": str(error)}
        finally:
            for fd in fds:
                os.close(fd)
        link.send(json.dumps(reply).encode())


def start(request: dict[str, Any], fds: list[int]) -> int:
    """Start one process, to be placed in its cgroups soon; return its pid."""
    argv = [expand(word, fds) for word in request["argv"]]
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        child = subprocess.Popen(
            argv,
            cwd=request["cwd"],
            user=request["uid"],
            group=request["gid"],
            extra_groups=request["groups"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=fds,
            start_new_session=True,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"},
        )
    finally:
        os.close(log)
    PLACEMENTS.put((child.pid, request["cgroups"]))
    # Reaped by the kernel (SIGCHLD is ignored): the daemon watches a pidfd of its own.
    child.returncode = 0
    return child.pid


def place() -> None:
    """Put processes into their cgroups, for ever.

    In a thread of its own: the kernel waits out a grace period for each move (15 ms),
    which a machine that is being started need not.
    """
    while True:
        pid, groups = PLACEMENTS.get()
        for procs in groups:
            try:
                Path(procs).write_text(str(pid))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended meanwhile, and its group is removed
            except OSError as error:
                print(f"cgroup {procs}: {error}", file=sys.stderr)


def expand(word: str, fds: list[int]) -> str:
    """Put descriptor numbers in place of `@FDn@`."""
    for index, fd in enumerate(fds):
        word = word.replace(f"@FD{index}@", str(fd))
    return word


def main() -> None:
    """Run as a script on the inherited socket."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the daemon's to handle
    os.umask(0o077)
    threading.Thread(target=place, daemon=True).start()
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
