"""`sandbox-broker`: everything is set by `SANDBOX_BROKER_*` variables (docs/egress.md)."""

from __future__ import annotations

import os
import sys

from sandbox_broker import settings, workers


def main() -> int:
    """Run the broker; 2 for a setting that has no use, 1 for what cannot be had."""
    if len(sys.argv) > 1:
        sys.stderr.write("usage: sandbox-broker   (settings: SANDBOX_BROKER_*, docs/egress.md)\n")
        return 0 if sys.argv[1] in {"-h", "--help"} else 2
    try:
        return workers.run(settings.read(os.environ))
    except settings.BadSetting as error:
        sys.stderr.write(f"sandbox-broker: {error}\n")
        return 2
    except workers.Cannot as error:
        sys.stderr.write(f"sandbox-broker: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
