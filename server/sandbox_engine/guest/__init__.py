"""The engine's end of the guest channel."""
