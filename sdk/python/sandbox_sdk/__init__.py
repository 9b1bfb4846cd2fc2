"""Python client of sandbox-engine."""
