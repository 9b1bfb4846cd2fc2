"""Codecs of the engine's own wires.  Pure: bytes in, values out."""
