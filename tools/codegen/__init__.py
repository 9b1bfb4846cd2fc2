"""Code from `proto/`: `python -m tools.codegen` writes it, `--check` proves it is current.

A language is one file `buf.gen*.yaml` in the repository's root; what its plugins write is
committed.  The C library's messages are the exception: `c_messages` writes them.  `buf` and the
Python plugins come from the development environment, the others from `languages`; once they are
installed, everything runs offline.
"""
