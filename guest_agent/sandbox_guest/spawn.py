"""Start a program by `native/spawn.c`: no fork, born in its own cgroup."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox_guest.cgroups import Cgroup

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_Strings = ctypes.POINTER(ctypes.c_char_p)

STEPS = ("", "clone", "setsid", "descriptors", "controlling terminal", "user", "cwd", "exec")
STEP_CWD = STEPS.index("cwd")
STEP_EXEC = STEPS.index("exec")


class Request(ctypes.Structure):
    """`struct spawn_request`."""

    _fields_ = (
        ("paths", _Strings),
        ("argv", _Strings),
        ("envp", _Strings),
        ("cwd", ctypes.c_char_p),
        ("groups", ctypes.POINTER(ctypes.c_uint32)),
        ("group_count", ctypes.c_uint32),
        ("uid", ctypes.c_uint32),
        ("gid", ctypes.c_uint32),
        ("change_user", ctypes.c_int32),
        ("cgroup", ctypes.c_int32),
        ("files", ctypes.c_int32 * 3),
        ("terminal", ctypes.c_int32),
        ("error", ctypes.c_int32),
        ("step", ctypes.c_int32),
    )


class SpawnFailed(Exception):
    """The program did not start: `code` is the errno, `step` an index of `STEPS`."""

    def __init__(self, code: int, step: int, program: str, cwd: str) -> None:
        subject = {STEP_EXEC: program, STEP_CWD: f"cwd {cwd}"}.get(step, STEPS[step])
        super().__init__(f"{subject}: {os.strerror(code)}")
        self.code, self.step = code, step


@dataclass(frozen=True, slots=True)
class Account:
    """Who a program runs as."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str


def strings(values: Sequence[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    """A NULL-ended array for the kernel; it keeps `values` alive."""
    return (ctypes.c_char_p * (len(values) + 1))(*values)


def environment(variables: Mapping[str, str]) -> ctypes.Array[ctypes.c_char_p]:
    """An environment block."""
    return strings([os.fsencode(f"{name}={value}") for name, value in variables.items()])


def candidates(program: str, path: str) -> list[bytes]:
    """Where `program` may be, in order, as execvp would look for it."""
    if "/" in program:
        return [os.fsencode(program)]
    return [os.fsencode(f"{folder or '.'}/{program}") for folder in path.split(":")]


class Spawner:
    """The native library, loaded."""

    def __init__(self, library: str) -> None:
        # PyDLL: the interpreter's lock is held, and the child's stack with it.
        self._spawn = ctypes.PyDLL(library).sandbox_spawn
        self._spawn.restype = ctypes.c_long
        self._spawn.argtypes = (ctypes.POINTER(Request),)

    def start(
        self,
        argv: Sequence[str],
        *,
        path: str,
        env: ctypes.Array[ctypes.c_char_p],
        cwd: str,
        files: tuple[int, int, int],
        cgroup: Cgroup,
        account: Account | None = None,
        terminal: bool = False,
    ) -> int:
        """Start `argv` and return its pid, a session leader.  Raises `SpawnFailed`.

        `files` become its descriptors 0 to 2 and stay the caller's to close; all are
        above 2.  It inherits no other descriptor and default signals.
        """
        request = Request()
        request.paths = strings(candidates(argv[0], path))
        request.argv = strings([os.fsencode(word) for word in argv])
        request.envp = env
        request.cwd = os.fsencode(cwd)
        request.cgroup = cgroup.fd
        request.files[:] = files
        request.terminal = terminal
        if account is not None:
            request.change_user = 1
            request.uid, request.gid = account.uid, account.gid
            request.groups = (ctypes.c_uint32 * len(account.groups))(*account.groups)
            request.group_count = len(account.groups)
        pid = self._spawn(ctypes.byref(request))
        if pid < 0:
            raise SpawnFailed(request.error, request.step, argv[0], cwd)
        return int(pid)
