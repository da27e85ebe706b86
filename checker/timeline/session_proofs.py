"""What grants prove about the lives of sessions, where the servers' logs are not at hand.

A client that is newly granted a lock in a session got an answer in that session after its call. A
session that has ended never comes back. So each session lived at least until the last call of a
grant in it. That is enough to classify many overlaps of two holds: if both clients were granted
something later in the same sessions, both sessions lived during the overlap.
"""

from collections.abc import Sequence

from rumpus.checker.timeline.holds import Hold
from rumpus.checker.timeline.ownership import ServerView

_FOREVER = 1 << 63


def proven_grants(holds: Sequence[Hold]) -> list[Hold]:
    """The holds that the servers granted for certain.

    A grant proves nothing if the client names no session or no node, or the same node and token as
    in an earlier grant: it may not have asked the servers.
    """
    found: dict[tuple[int, str, int | None], Hold] = {}
    for hold in holds:
        if hold.session is not None and hold.node is not None:
            found.setdefault((hold.client, hold.node, hold.token), hold)
    return list(found.values())


def lives_by_grants(holds: Sequence[Hold]) -> ServerView:
    """The sessions that are known to have lived, each up to the last call that proves it."""
    lived: dict[str, int] = {}
    for hold in proven_grants(holds):
        assert hold.session is not None, "it is proven"
        lived[hold.session] = max(hold.called, lived.get(hold.session, hold.called))
    return ServerView(
        known=frozenset(lived),
        doubts={session: [(until, _FOREVER)] for session, until in lived.items()},
    )
