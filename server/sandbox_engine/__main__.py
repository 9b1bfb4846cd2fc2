"""`sandbox-engined`: the daemon's command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# gRPC's fork handlers deadlock a process that spawns while it serves; VMMs start from a
# helper, so the support is not needed.  Read by grpc when it is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")


def main() -> None:
    """Parse arguments and run until SIGTERM or SIGINT."""
    import click

    from sandbox_engine import __version__
    from sandbox_engine.config import load
    from sandbox_engine.errors import EngineError

    @click.command(context_settings={"help_option_names": ["-h", "--help"]})
    @click.option(
        "--config",
        type=click.Path(path_type=Path),
        help="TOML or JSON file; without one every setting has its default.",
    )
    @click.option("--check-config", is_flag=True, help="Validate the file and exit: 0 or 1.")
    @click.version_option(__version__)
    def daemon(config: Path | None, *, check_config: bool) -> None:
        """Run the sandbox engine: virtual machines cloned from snapshot templates.

        Needs root (taps, cgroups, VMM users) and qemu-system-x86_64.  SIGTERM stops it in
        order; sandboxes held by a lease run on and are adopted by the next start.
        """
        try:
            settings = load(config)
            if check_config:
                click.echo("the configuration is valid")
                return
            run(settings, config)
        except EngineError as error:
            click.echo(f"sandbox-engined: {error}", err=True)
            sys.exit(1)

    daemon()


def run(settings: object, config_path: Path | None = None) -> None:
    """Start the launcher first, then everything else, on uvloop."""
    from sandbox_engine.vmm.process import Launcher

    launcher = Launcher.start()

    import uvloop

    from sandbox_engine.config import Config
    from sandbox_engine.daemon import Daemon
    from sandbox_engine.observe.log import configure

    assert isinstance(settings, Config)
    configure(settings.log_level)
    uvloop.run(Daemon(settings, launcher, config_path).run())


if __name__ == "__main__":
    main()
