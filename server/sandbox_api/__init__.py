"""`sandbox-api`: sessions over HTTP, in front of the engine.

A session is a persistent /workspace and a VM that comes and goes.  This process is one
client of the daemon over one connection; it holds no credential and runs no code itself.
"""

__version__ = "0.1.0"
