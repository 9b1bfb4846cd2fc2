"""Code from `proto/`: `python -m tools.codegen` writes it, `--check` proves it is current.

A language is one file `buf.gen*.yaml` in the repository's root; what its plugins write is
committed.  The C library's messages are the exception: `c_messages` writes them.  Everything
runs offline: `buf` and the Python plugins come from the development environment.
"""
