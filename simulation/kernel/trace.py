"""The running hash of everything that happens in a world, to compare runs of the same seed."""

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
        """Entries that are not in the hash yet; always the same list object. See ``append``."""
        self._keep = keep
        self._kept: list[Any] = []
        self.append = self.entries.append
        """Add one entry. A bound method, for speed: nothing is called more often."""

    @property
    def kept(self) -> list[Any]:
        """All entries so far, if they are kept."""
        return [*self._kept, *self.entries] if self._keep else []

    def digest(self) -> str:
        """The hash of all entries so far, 32 hexadecimal digits."""
        self.flush()
        return self._hash.hexdigest()

    def flush(self) -> None:
        """Hash the gathered entries. The kernel does so when there are many; any time would do."""
        # Without marshal's header of the list (type, length): grouping must not change the hash.
        self._hash.update(marshal.dumps(self.entries, 2)[5:])
        if self._keep:
            self._kept += self.entries
        self.entries.clear()
