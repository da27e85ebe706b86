"""One member's copy of a replicated log: what it has promised, what it has accepted.

The rules are those of Raft's log replication and of its election restriction (Ongaro and
Ousterhout, "In search of an understandable consensus algorithm", USENIX ATC 2014, sections 5.3
and 5.4), with the term chosen outside: ZooKeeper appoints the primary and numbers its epoch. That
a new primary first takes the best log of a majority is as in Viewstamped Replication (Liskov and
Cowling, "Viewstamped replication revisited", 2012, section 4.2). An epoch plays the fencing token.

- A member promises an epoch before it says what it has, and refuses every lower one from then on.
- Of two logs the better is the one whose last entry has the higher epoch, then the longer one.
- A primary counts as committed what a majority has accepted *in its own epoch*, and all before.

Then an entry that was committed is in the best log of every majority that has promised a higher
epoch, so no later primary can be without it. What a member has promised and accepted is in its
journal before it says so: a file to which lines are only ever appended, ``[epoch]`` for a promise
and ``[position, epoch, value]`` for an entry, which also takes away all that was there from that
position on. A line that was torn when its process was killed counts for nothing.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from rumpus.recipes.outcomes import NotDone

Entry = tuple[int, Any]
"""The epoch in which it was first accepted, and a value that JSON can carry."""


class Refused(NotDone):
    """A higher epoch has been promised: whoever asks has been deposed."""

    def __init__(self, promised: int) -> None:
        super().__init__(f"epoch {promised} has been promised")
        self.promised = promised


class ReplicatedLog:
    """A member's copy, read from its journal.

    Args:
        journal: what the journal has so far.
        write: appends to it, and returns once that is safe.
    """

    def __init__(self, journal: bytes, write: Callable[[bytes], None]) -> None:
        self.promised = 0
        """The highest epoch ever heard of; 0 before the first."""
        self.entries: list[Entry] = []
        self._write = write
        for line in journal.split(b"\n"):
            self._replay(line)
        if journal and not journal.endswith(b"\n"):
            write(b"\n")

    def _replay(self, line: bytes) -> None:
        try:
            record = json.loads(line)
        except ValueError:  # torn, and so never acknowledged; or the empty end
            return
        if len(record) == 1:
            self.promised = max(self.promised, record[0])
        else:
            at, epoch, value = record
            self.promised = max(self.promised, epoch)
            self.entries[at:] = [(epoch, value)]

    def refuses(self, epoch: int) -> bool:
        """Whether an epoch is over, as far as this member knows."""
        return epoch < self.promised

    def promise(self, epoch: int) -> None:
        """Accept nothing of a lower epoch from now on.

        Raises:
            Refused: a higher one has been promised.
        """
        if self.refuses(epoch):
            raise Refused(self.promised)
        if epoch > self.promised:
            self._write(_lines([epoch]))
            self.promised = epoch

    def epoch_before(self, at: int) -> int:
        """The epoch of the entry before a position, 0 where the log begins."""
        return self.entries[at - 1][0] if at else 0

    def accept(self, epoch: int, at: int, after: int, entries: Sequence[Entry]) -> bool:
        """Take over a piece of the primary's log.

        What is there already stays: a piece that was long on its way takes nothing away. What
        contradicts the piece goes, with all behind it.

        Args:
            epoch: the primary's.
            at: the position of the first of the entries.
            after: the epoch of the entry before it, 0 where the log begins.
            entries: the piece; may be empty.

        Returns:
            Whether the log is now the same as the primary's up to the end of the piece; False:
            it is not the same before it, so the primary has to begin earlier.

        Raises:
            Refused: a higher epoch has been promised.
        """
        self.promise(epoch)
        if at > len(self.entries) or self.epoch_before(at) != after:
            return False
        self._take_over(at, entries)
        return True

    def append(self, epoch: int, values: Sequence[Any]) -> None:
        """Put entries of the own epoch at the end, as its primary.

        Raises:
            Refused: a higher epoch has been promised.
        """
        self.promise(epoch)
        self._put(len(self.entries), [(epoch, value) for value in values])

    def adopt(self, entries: Sequence[Entry]) -> None:
        """Make the log this one; it must be the best that a majority has."""
        self._take_over(0, entries)

    def _take_over(self, at: int, entries: Sequence[Entry]) -> None:
        """Put what is not there yet of a piece that begins at a position."""
        known = 0
        for mine, theirs in zip(self.entries[at:], entries, strict=False):
            if mine[0] != theirs[0]:
                break
            known += 1
        self._put(at + known, entries[known:])

    def _put(self, at: int, entries: Sequence[Entry]) -> None:
        if entries:
            self._write(
                _lines(*([at + i, epoch, value] for i, (epoch, value) in enumerate(entries)))
            )
            self.entries[at:] = [(epoch, value) for epoch, value in entries]


def merit(log: Sequence[Entry]) -> tuple[int, int]:
    """What the best of several logs has most of: the epoch of its last entry, then its length."""
    return (log[-1][0] if log else 0, len(log))


def committed(lengths: Sequence[int], quorum: int) -> int:
    """Up to where at least ``quorum`` members agree, given up to where each does."""
    return sorted(lengths, reverse=True)[quorum - 1] if len(lengths) >= quorum else 0


def _lines(*records: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
