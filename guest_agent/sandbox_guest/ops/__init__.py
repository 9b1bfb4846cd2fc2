"""The engine's operations (port 2): one a stream, a file a family.

Never reachable by a client: which port a stream was opened on decides, and nothing else.
"""
