"""The engine: runs untrusted code in virtual machines cloned from snapshot templates."""

__version__ = "0.1.0"
