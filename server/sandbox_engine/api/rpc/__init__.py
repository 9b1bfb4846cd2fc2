"""The gRPC door: `sandbox.v1`, with health and reflection."""
