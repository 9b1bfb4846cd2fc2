"""The executable: parse, run, and turn every failure into words and an exit code.

Exit codes: 0 done; 1 it failed; 2 the command line is wrong; otherwise the status of the
command that ran in the sandbox (128 + N when signal N ended it or interrupted us).
"""

from __future__ import annotations

import os
import signal
import sys

import click

from sandbox_cli.app import cli
from sandbox_cli.failures import Failure, Interrupted


def main() -> None:
    """Run the command line of this process; does not return."""
    # grpc's fork handlers cost threads and warnings, and nothing here forks.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    sys.exit(run())


def run() -> int:
    """The exit code of this process's command line."""
    try:
        result = cli.main(prog_name="sandbox-cli", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except Interrupted as stop:
        return 128 + stop.signum
    except Failure as failure:
        click.echo(failure.render(), err=True)
        return 1
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    main()
