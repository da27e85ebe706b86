"""The servers' timeline of locks that are leases (``checker.servers.lease_log``).

A lease lasts *by right* until its time is over. So a key that a server forgot, or that somebody
else deleted, is still the holder's by right, and if another client is granted the lock meanwhile,
servers have granted it twice. If its holder removed it, the holder had stopped believing before,
and that time does not matter. Where a grant takes a majority of servers, it lasts as long as the
leases of a majority do.
"""

from collections.abc import Sequence

from rumpus.checker.history import session_hex
from rumpus.checker.servers.lease_log import FOR_EVER, Lease
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.ownership import ServerView, SessionEnd


def lease_view(servers: Sequence[Sequence[Lease]], clock: WallClock, *, quorum: int) -> ServerView:
    """Which values had a lease when, as the checks of exclusion need it.

    Args:
        servers: the leases of each server.
        clock: converts their times to the run's clock.
        quorum: how many servers a grant takes.
    """
    by_value: dict[int, list[Lease]] = {}
    for leases in servers:
        for lease in leases:
            by_value.setdefault(lease.value, []).append(lease)
    ends = {}
    lapsed: set[tuple[str, int | None]] = set()
    for value, leases in by_value.items():
        session = session_hex(value)
        lapsed |= {(session, token) for each in leases for token in each.keys or ()}
        lasting = sorted(leases, key=lambda lease: lease.end, reverse=True)
        last = lasting[min(quorum, len(lasting)) - 1]
        if last.end != FOR_EVER:
            ends[session] = SessionEnd(clock.monotonic(last.end), last.expired)
            if last.expired and last.keys is None:
                lapsed.add((session, None))
    known = frozenset(map(session_hex, by_value))
    return ServerView(ends=ends, known=known, lapsed=frozenset(lapsed))
