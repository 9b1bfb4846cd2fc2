"""The public guest protocol (port 1): what clients relay, one file an op family.

RPCs run back to back on a stream.  Nothing here can reach the engine's own operations.
"""
