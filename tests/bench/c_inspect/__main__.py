"""`python -m tests.bench.c_inspect`: what a call costs from C, as one JSON object."""

from __future__ import annotations

import json

from tests.bench.c_inspect.figures import measured

if __name__ == "__main__":
    print(json.dumps(measured()))
