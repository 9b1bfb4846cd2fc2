"""Where the kernel's init lands: `main.py` at the top of the agent disk's agent folder.

Beside it lie the package and `libspawn.so`.  The interpreter runs isolated, so the folder
is put on the path here.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from sandbox_guest.main import pid_1  # noqa: E402 - found by the path above
from sandbox_guest.places import Places  # noqa: E402 - the path is set above

if __name__ == "__main__":
    pid_1(Places(library=str(HERE / "libspawn.so")))
