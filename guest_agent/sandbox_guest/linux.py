"""System calls the standard library does not wrap, through the agent's own C library."""

from __future__ import annotations

import ctypes
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_BIND = 4096
MNT_DETACH = 2

_SFD_FLAGS = os.O_CLOEXEC | os.O_NONBLOCK


def _checked(result: int, subject: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), subject or None)
    return result


def syscall(number: int, *arguments: object) -> int:
    """A raw system call; strings are bytes.  Raises `OSError`."""
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments), "")


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    """Mount `source` on `target`.  Raises `OSError`."""
    result = _libc.mount(
        os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags),
        options.encode(),
    )  # fmt: skip
    _checked(result, target)


def unmount(target: str, flags: int = 0) -> None:
    """Undo a mount.  Raises `OSError`."""
    _checked(_libc.umount2(os.fsencode(target), flags), target)


def signal_fd(signals: set[int]) -> int:
    """A descriptor that is readable while one of `signals`, which must be blocked, is pending."""
    mask = sum(1 << (number - 1) for number in signals)
    words = ctypes.create_string_buffer(struct.pack("=Q", mask) + bytes(120))
    return _checked(_libc.signalfd(-1, words, _SFD_FLAGS), "signalfd")


def stand_in_for_init() -> None:
    """Orphans below this process come to it, as to PID 1; it dies with who started it."""
    _checked(_libc.prctl(36, 1, 0, 0, 0), "PR_SET_CHILD_SUBREAPER")
    _checked(_libc.prctl(1, 9, 0, 0, 0), "PR_SET_PDEATHSIG")


def inotify() -> int:
    """A non-blocking inotify descriptor.  Raises `OSError`."""
    return _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), "inotify")


def inotify_add(fd: int, path: str, mask: int) -> int:
    """Watch `path`; returns the watch's number.  Raises `OSError`."""
    return _checked(_libc.inotify_add_watch(fd, os.fsencode(path), ctypes.c_uint32(mask)), path)
