"""A broker that decides nothing: it takes connections of doors, and says whose they are."""

from __future__ import annotations

import socket
import threading
from pathlib import Path


class ScriptedBroker:
    """Answers each connection with its preamble, what it sent up to its half-close, and an end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen: list[str] = []
        """Preambles, in the order of arrival."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(512)
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def close(self) -> None:
        """Every connection has ended by then."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(accepted,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, accepted: socket.socket) -> None:
        with accepted, accepted.makefile("rwb") as file:
            try:
                preamble = file.readline().decode()
                self.seen.append(preamble)
                file.write(b"for " + preamble.encode())
                file.flush()
                while data := file.read1(1 << 16):
                    file.write(data)
                    file.flush()
            except OSError:
                return  # the guest is gone, and its connection with it
