"""`sandbox-mcp`: serve one client on standard input and output."""

from __future__ import annotations

import argparse

from sandbox_mcp.server import serve


def main() -> None:
    """Serve until the client is gone; its sandboxes go with it."""
    parser = argparse.ArgumentParser(prog="sandbox-mcp", description=__doc__)
    parser.add_argument("--socket", help="gRPC socket of the engine ($SANDBOX_GRPC_SOCKET)")
    parser.add_argument(
        "--template", default="base", help="template of sandboxes, where none is named (base)"
    )
    parser.add_argument(
        "--lease", type=float, default=300.0, metavar="S",
        help="seconds a sandbox lives on if this server is killed (300)",
    )  # fmt: skip
    chosen = parser.parse_args()
    serve(chosen.socket, template=chosen.template, lease_s=chosen.lease).run("stdio")


if __name__ == "__main__":
    main()
