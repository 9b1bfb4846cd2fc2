# Generated from `_async/__init__.py` by tools/codegen/blocking.py: change that one.
"""The blocking client, generated from `sandbox_sdk._async`."""
