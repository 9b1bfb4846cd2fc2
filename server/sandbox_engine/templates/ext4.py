"""Makes ext4 images from folders, without a mount.

No journal and no metadata checksums: a clone never mounts its disk anew (it wakes with
it mounted), so both would be paid for in every guest and never used.  Inode tables are
written whole, or each guest would go on doing it in the background.
"""

from __future__ import annotations

import os
from pathlib import Path

from sandbox_engine.templates.commands import CommandFailed, run

UUID = "5a0db0c5-0000-4000-8000-000000000000"
"""Fixed: with it, the same folder gives the same hash trees."""
BYTES_PER_INODE = 8192


class DoesNotFit(Exception):
    """The folder holds more than the image can."""


async def make_image(folder: Path, image: Path, size_mib: int, label: str) -> None:
    """Write a sparse ext4 `image` of `size_mib` with the content of `folder`.

    Raises `DoesNotFit`, `CommandFailed`, `OSError`.
    """
    with image.open("wb") as file:
        file.truncate(size_mib << 20)
    try:
        await run(
            [
                "mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0",
                "-O", "^has_journal,^metadata_csum,^resize_inode",
                "-i", str(BYTES_PER_INODE), "-L", label, "-U", UUID,
                "-E", f"hash_seed={UUID},lazy_itable_init=0,root_owner=0:0",
                "-d", folder, image,
            ],
            env={"E2FSPROGS_FAKE_TIME": "1"},
        )  # fmt: skip
    except CommandFailed as error:
        if not error.no_space and "Could not allocate" in error.output:
            raise DoesNotFit from error
        raise
    image.chmod(0o644)


async def erase_times(image: Path, inodes: int) -> None:
    """Set the change and access times of the first `inodes` inodes to one fixed second.

    They are when the folder was made and read, which is all that still tells two images
    of equal folders apart.
    """
    fields = ("ctime", "atime", "mtime", "crtime")
    script = "".join(
        f"sif <{inode}> {field} @1\nsif <{inode}> {field}_extra 0\n"
        for inode in range(2, inodes)
        for field in fields
    )
    await run(["debugfs", "-w", "-f", "/dev/stdin", image], script=script)


def size_of(folder: Path) -> tuple[int, int]:
    """How many MiB an image needs to hold `folder`, and how many entries that is."""
    blocks = entries = 0
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            entries += 1
            blocks += 1 + (os.lstat(Path(place, name)).st_size + 4095) // 4096
    inode_tables = entries * 256
    return 4 + (blocks * 4096 * 21 // 20 + inode_tables) // (1 << 20), entries
