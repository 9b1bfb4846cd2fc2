"""The agent inside a sandbox.

It runs as PID 1 of every guest, on its own interpreter and read-only disk, so it
imports nothing but the standard library.  `mux` and `framing` are pure codecs that
the engine imports too: both ends of the channel are the same code.
"""

__version__ = "0.1.0"
