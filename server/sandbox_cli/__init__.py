"""`sandbox-cli`: a client of the daemon, for people and scripts.

It knows the engine by its wire alone: `frames` is the legacy socket, `rpc` is gRPC, and a
file of `commands` is one command.  Heavy imports (grpc, rich, protobuf) are made by the
command that needs them, so `--help` and a usage error are quick.
"""
