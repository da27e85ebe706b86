"""Paths of znodes."""

import re

_VALID = re.compile(
    # Characters above U+FFFF are surrogate pairs in Java, hence invalid as well.
    "/|(?:/(?![.]{1,2}(?:/|\\Z))[^/\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]+)+"
).fullmatch

ROOT = "/"
SYSTEM = "/zookeeper"
QUOTA = "/zookeeper/quota"
CONFIG = "/zookeeper/config"

UNDELETABLE = frozenset({ROOT, SYSTEM, QUOTA, CONFIG})

BELOW_SYSTEM = "/zookeeper/"
"""Prefix of the paths of nodes that digests do not include."""


def is_valid(path: str) -> bool:
    """Whether a path can name a znode (``PathUtils.validatePath``)."""
    if path.isascii() and path.isprintable() and "//" not in path and "/." not in path:
        return path[:1] == "/" and (path[-1] != "/" or path == "/")
    return _VALID(path) is not None
