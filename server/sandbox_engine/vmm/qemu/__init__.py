"""QEMU, by its own monitor protocol, on the `microvm` machine."""
