"""Filesystem images for a catalog of volumes."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path


def make_image(path: Path, marker: str = "marker\n", size: str = "16M") -> Path:
    """An ext4 image that holds marker.txt."""
    with tempfile.TemporaryDirectory() as tree:
        Path(tree, "marker.txt").write_text(marker)
        subprocess.run(
            ["mke2fs", "-q", "-t", "ext4", "-d", tree, str(path), size],
            check=True,
            capture_output=True,
        )
    return path
