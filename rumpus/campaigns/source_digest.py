"""A digest of the program's source, by which copies on several machines are compared."""

import functools
import hashlib
import os
from pathlib import Path

import rumpus


@functools.cache
def source_digest() -> str:
    """The digest of all modules of rumpus, eight hexadecimal digits."""
    digest = hashlib.sha256()
    root = Path(rumpus.__file__).parent
    for folder, folders, names in os.walk(root, followlinks=True):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                path = Path(folder, name)
                digest.update(str(path.relative_to(root)).encode() + b"\0")
                digest.update(path.read_bytes())
    return digest.hexdigest()[:8]
