"""The client for `asyncio`: the source that `sandbox_sdk._sync` is generated from."""
