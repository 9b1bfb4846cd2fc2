"""nftables, by its own library: commands in its language, each call one transaction.

libnftables and not the `nft` command: a process for each VM would be started from the
daemon, and its start costs more than all the kernel does (see DECISIONS.md).
"""

from __future__ import annotations

import ctypes
import functools

from sandbox_engine.errors import VmmError

LIBRARY = "libnftables.so.1"


class Nft:
    """One context of the library, to be used by one thread at a time."""

    def __init__(self) -> None:
        self._library = _library()
        self._context = ctypes.c_void_p(self._library.nft_ctx_new(0))
        for buffer in ("output", "error"):
            getattr(self._library, f"nft_ctx_buffer_{buffer}")(self._context)

    def run(self, commands: str) -> str:
        """All of them or none; what they print.  Raises `VmmError` with the library's words."""
        status = self._library.nft_run_cmd_from_buffer(self._context, commands.encode())
        output = self._library.nft_ctx_get_output_buffer(self._context) or b""
        problem = self._library.nft_ctx_get_error_buffer(self._context) or b""
        if status:
            raise VmmError(f"nftables: {problem.decode(errors='replace').strip()}")
        return str(output.decode(errors="replace"))

    def close(self) -> None:
        """Free the context."""
        self._library.nft_ctx_free(self._context)


@functools.cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise VmmError(f"{LIBRARY} cannot be loaded: {error}; install nftables") from error
    library.nft_ctx_new.restype = ctypes.c_void_p
    library.nft_ctx_new.argtypes = [ctypes.c_uint32]
    library.nft_ctx_free.argtypes = [ctypes.c_void_p]
    for name in ("output", "error"):
        getattr(library, f"nft_ctx_buffer_{name}").argtypes = [ctypes.c_void_p]
        reader = getattr(library, f"nft_ctx_get_{name}_buffer")
        reader.argtypes, reader.restype = [ctypes.c_void_p], ctypes.c_char_p
    library.nft_run_cmd_from_buffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    return library
