"""The running hash of everything that happens in a world."""

import hashlib
import marshal
from typing import Any

FLUSH_AT = 8192
"""Entries that are gathered before they go into the hash, to keep the cost of each small."""


class Trace:
    """Hashes entries in their order.

    Entries are integers, strings, bytes, booleans, None, floats, and tuples of these. They are
    serialized by ``marshal`` version 2, which knows neither interning nor references, so that
    the bytes depend on the values alone.

    Args:
        keep: whether to keep all entries in ``kept``, to look at them; costs memory.
    """

    def __init__(self, *, keep: bool = False) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self.entries: list[Any] = []
        """Those that are not in the hash yet; always the same list. See ``append``."""
        self._keep = keep
        self._kept: list[Any] = []
        self.append = self.entries.append
        """Add one entry; a bound method, as nothing is called more often."""

    @property
    def kept(self) -> list[Any]:
        """All entries so far, if they are kept."""
        return [*self._kept, *self.entries] if self._keep else []

    def digest(self) -> str:
        """The hash of all entries so far, 32 hexadecimal digits."""
        self.flush()
        return self._hash.hexdigest()

    def flush(self) -> None:
        """Hash what has been gathered. The kernel does it once it is much; when does not matter."""
        # Without the list's own head (type and length): how entries are grouped must not matter.
        self._hash.update(marshal.dumps(self.entries, 2)[5:])
        if self._keep:
            self._kept += self.entries
        self.entries.clear()
