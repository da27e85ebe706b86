"""One member's copy of a replicated log: what it has promised, and what it has accepted.

The rules are those of Raft's log replication and of its election restriction (Ongaro and
Ousterhout, "In search of an understandable consensus algorithm", USENIX ATC 2014, sections 5.3
and 5.4), except that ZooKeeper elects the primary and numbers its epoch (Raft's term). A new
primary first adopts the best log of a majority, as in Viewstamped Replication (Liskov and Cowling,
"Viewstamped replication revisited", 2012, section 4.2). The epoch serves as a fencing token.

- A member promises an epoch before it sends its log, and refuses every lower epoch from then on.
- Of two logs the better one is that whose last entry has the higher epoch, then the longer one.
- A primary commits what a majority has accepted *in its own epoch*, and all earlier entries.

So a committed entry is in the best log of every majority that has promised a higher epoch, and no
later primary can lack it. A member writes its promises and accepted entries to its journal before
it answers. The journal is an append-only file of lines: ``[epoch]`` for a promise, and
``[position, epoch, value]`` for an entry, which also removes all entries from that position on. A
last line that is incomplete, because its process was killed, is ignored.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.requests.json_lines import read_journal

Entry = tuple[int, Any]
"""The epoch in which it was first accepted, and a value of JSON."""


class Refused(NotDone):
    """A higher epoch has been promised: the primary that asked has been deposed."""

    def __init__(self, promised: int) -> None:
        super().__init__(f"epoch {promised} has been promised")
        self.promised = promised


class ReplicatedLog:
    """A member's copy, read from its journal.

    Args:
        journal: the journal's content so far.
        write: appends to the journal, and returns once that is on disk.
    """

    def __init__(self, journal: bytes, write: Callable[[bytes], None]) -> None:
        self.promised = 0
        """The highest epoch promised; 0 before the first."""
        self.entries: list[Entry] = []
        self._write = write
        for record in read_journal(journal, write):
            self._replay(record)

    def _replay(self, record: Sequence[Any]) -> None:
        if len(record) == 1:
            self.promised = max(self.promised, record[0])
        else:
            at, epoch, value = record
            self.promised = max(self.promised, epoch)
            self.entries[at:] = [(epoch, value)]

    def refuses(self, epoch: int) -> bool:
        """Whether a higher epoch has been promised."""
        return epoch < self.promised

    def promise(self, epoch: int) -> None:
        """Accept nothing of a lower epoch from now on.

        Raises:
            Refused: a higher epoch has been promised.
        """
        if self.refuses(epoch):
            raise Refused(self.promised)
        if epoch > self.promised:
            self._write(_lines([epoch]))
            self.promised = epoch

    def epoch_before(self, at: int) -> int:
        """The epoch of the entry before a position, 0 for position 0."""
        return self.entries[at - 1][0] if at else 0

    def accept(self, epoch: int, at: int, after: int, entries: Sequence[Entry]) -> bool:
        """Accept a piece of the primary's log.

        Entries that are the same stay, so a piece that arrives late removes nothing. The first
        entry that conflicts with the piece is removed, with all after it.

        Args:
            epoch: the primary's.
            at: the position of the first of the entries.
            after: the epoch of the entry before it, 0 for position 0.
            entries: the piece; may be empty.

        Returns:
            True: the log is the same as the primary's up to the end of the piece. False: it
            differs before the piece, so the primary has to send an earlier one.

        Raises:
            Refused: a higher epoch has been promised.
        """
        self.promise(epoch)
        if at > len(self.entries) or self.epoch_before(at) != after:
            return False
        self._take_over(at, entries)
        return True

    def append(self, epoch: int, values: Sequence[Any]) -> None:
        """Append entries of this member's own epoch, as its primary.

        Raises:
            Refused: a higher epoch has been promised.
        """
        self.promise(epoch)
        self._put(len(self.entries), [(epoch, value) for value in values])

    def adopt(self, entries: Sequence[Entry]) -> None:
        """Replace the log by the best one of a majority."""
        self._take_over(0, entries)

    def _take_over(self, at: int, entries: Sequence[Entry]) -> None:
        """Accept the entries of a piece, from the first one that differs."""
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
    """The better of two logs has the larger value: the epoch of its last entry, then its length."""
    return (log[-1][0] if log else 0, len(log))


def committed(lengths: Sequence[int], quorum: int) -> int:
    """Up to which length at least ``quorum`` members agree, from the length for each member."""
    return sorted(lengths, reverse=True)[quorum - 1] if len(lengths) >= quorum else 0


def _lines(*records: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
