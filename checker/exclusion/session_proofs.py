"""What grants prove of sessions, where the servers' logs are not at hand.

A client that is granted something anew in a session had an answer in that session after its call.
A session that has ended never comes back. So each session lived at least until the last call of a
grant in it. That tells many overlaps of two holds for what they are: both clients went on in their
sessions afterwards.
"""

from collections.abc import Sequence

from rumpus.checker.exclusion.mutual_exclusion import ServerView
from rumpus.checker.holds import Hold

_FOREVER = 1 << 63


def proven_grants(holds: Sequence[Hold]) -> list[Hold]:
    """The holds that the servers granted for certain.

    A grant proves nothing where the client names no session or no node, or what it named before: it
    may not have asked the servers.
    """
    found: dict[tuple[int, str, int | None], Hold] = {}
    for hold in holds:
        if hold.session is not None and hold.node is not None:
            found.setdefault((hold.client, hold.node, hold.token), hold)
    return list(found.values())


def lives_by_grants(holds: Sequence[Hold]) -> ServerView:
    """The sessions that are known to have lived, each until a time after which nothing is known."""
    lived: dict[str, int] = {}
    for hold in proven_grants(holds):
        assert hold.session is not None, "it is proven"
        lived[hold.session] = max(hold.called, lived.get(hold.session, hold.called))
    return ServerView(
        known=frozenset(lived),
        doubts={session: [(until, _FOREVER)] for session, until in lived.items()},
    )
