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


def lives_by_grants(holds: Sequence[Hold]) -> ServerView:
    """The sessions that are known to have lived, each until a time after which nothing is known.

    A grant proves nothing where the client names no node, or what it named before: it may not have
    asked the servers.
    """
    lived: dict[str, int] = {}
    named: set[tuple[int, str, int | None]] = set()
    for hold in holds:
        if hold.session is None or hold.node is None:
            continue
        grant = (hold.client, hold.node, hold.token)
        if grant in named:
            continue
        named.add(grant)
        lived[hold.session] = max(hold.called, lived.get(hold.session, hold.called))
    return ServerView(
        known=frozenset(lived),
        doubts={session: [(until, _FOREVER)] for session, until in lived.items()},
    )
