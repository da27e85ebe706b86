"""How a leader synchronizes a learner with itself: ``LearnerHandler.syncFollower`` of 3.8.0."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rumpus.simulation.zookeeper.quorum.quorum_packets import (
    DIFF,
    SNAP,
    TRUNC,
    counter_of,
    epoch_of,
)
from rumpus.simulation.zookeeper.tree.transactions import Entry


class Plan(NamedTuple):
    """What to send to a learner for its synchronization.

    ``kind`` is DIFF, TRUNC or SNAP, sent with ``zxid``; the committed ``entries`` follow. Then
    the learner has everything up to zxid ``seen``; newer proposals must be forwarded to it.
    """

    kind: int
    zxid: int
    entries: Sequence[Entry]
    seen: int


class _Walk:
    """Goes through committed entries in the order of their zxids (``queueCommittedProposals``)."""

    def __init__(self, peer: int, last_committed: int) -> None:
        self.peer = peer
        self.opening: tuple[int, int] | None = None
        self.entries: list[Entry] = []
        self.seen = peer
        self._last_committed = last_committed
        self._peer_is_epoch = counter_of(peer) == 0

    def go(self, entries: Iterable[Entry], until: int | None = None) -> None:
        peer = self.peer
        previous = -1
        for entry in entries:
            zxid = entry.header.zxid
            if until is not None and zxid > until:
                break
            if zxid < peer:
                previous = zxid
                continue
            if self.opening is None:
                if zxid == peer:
                    self.opening = (DIFF, self._last_committed)
                    continue
                if self._peer_is_epoch:
                    self.opening = (DIFF, self._last_committed)
                elif epoch_of(zxid) != epoch_of(peer) or previous == -1:
                    return  # it is not known where the learner's history diverges
                else:
                    self.opening = (TRUNC, previous)
            if zxid <= self.seen:
                continue
            self.entries.append(entry)
            self.seen = zxid
        if self.opening is None and self._peer_is_epoch:
            self.opening = (DIFF, self._last_committed)


def _belonging_together(logged: Iterable[Entry], peer: int, lowest: int) -> list[Entry]:
    """Log entries from the learner's zxid to ``lowest``, if no gap or new epoch is between."""
    expected = peer
    found: list[Entry] = []
    if epoch_of(peer) != epoch_of(lowest):
        return found
    if counter_of(peer) == 0:
        expected += 1
    for entry in logged:
        zxid = entry.header.zxid
        if zxid < peer:
            continue
        if zxid != expected:
            break
        found.append(entry)
        if zxid == lowest:
            return found
        expected += 1
    return []


def choose(
    peer: int,
    last_processed: int,
    committed: Sequence[Entry],
    logged_since: Callable[[int], Iterable[Entry]] | None = None,
    *,
    trust_log: bool = False,
) -> Plan:
    """Choose between DIFF, TRUNC and SNAP.

    Args:
        peer: the learner's last zxid.
        last_processed: the leader's last zxid.
        committed: the leader's last transactions in memory (``committedLog``), in order.
        logged_since: reads the leader's log from a zxid on; nothing if that zxid is not in it or
            too much would have to be read; None: the log is not used.
        trust_log: whether everything in the log is taken for committed, as 3.8.0 does. But a log
            may keep entries that were never committed and that a SNAP has replaced. If false,
            the log is used only where it has no gap and is of one epoch.
    """
    lowest = committed[0].header.zxid if committed else last_processed
    highest = committed[-1].header.zxid if committed else last_processed
    if last_processed == peer:
        return Plan(DIFF, peer, (), peer)
    if peer > highest and counter_of(peer) != 0:
        return Plan(TRUNC, highest, (), highest)
    if lowest <= peer <= highest:
        walk = _Walk(peer, highest)
        walk.go(committed)
        if walk.opening is not None:
            return Plan(*walk.opening, walk.entries, walk.seen)
    elif peer < lowest and logged_since is not None:
        walk = _Walk(peer, highest)
        logged = logged_since(peer)
        walk.go(logged if trust_log else _belonging_together(logged, peer, lowest), lowest)
        if walk.opening is not None and walk.seen >= lowest:
            walk.go(committed)
            return Plan(*walk.opening, walk.entries, walk.seen)
    return Plan(SNAP, last_processed, (), last_processed)
