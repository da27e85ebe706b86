"""Style sheets and scripts that pages contain, and their hashes.

A page has no other file beside it, so that it can be mailed and opened from a disk. Its content
security policy names what it contains by hashes, so that nothing else can run.
"""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from markupsafe import Markup


@cache
def asset(*names: str, package: str = "rumpus.results.reports") -> Markup:
    """Files of ours that a page contains as they are, one after the other.

    Args:
        names: of the files.
        package: whose they are.
    """
    texts = [(files(package) / name).read_text(encoding="utf-8") for name in names]
    return Markup("".join(texts))  # noqa: S704 - our own files, not a run's


@cache
def hashed(text: str) -> str:
    """A text's hash, as a content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
