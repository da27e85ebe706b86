"""What one handle's listener was told of its session, its file and its lock."""

from dataclasses import dataclass, field
from typing import Final, TypedDict

from rumpus.recipes.chubby.handle_events import Event, EventKind
from rumpus.recipes.chubby.lease import Standing
from rumpus.recipes.chubby.library import Chubby

STANDINGS: Final = {
    EventKind.JEOPARDY: Standing.JEOPARDY,
    EventKind.SAFE: Standing.SAFE,
    EventKind.EXPIRED: Standing.EXPIRED,
}

LOOK_S: Final = 0.05
STANDING_LOOKS: Final = 10
"""So many looks in a row see a standing that the listener was not told of: a lease's thread looks
as often by itself, and asks nobody."""

FAILOVER_LOOKS: Final = 100
"""The same for a new connection: the thread that tells may still wait for a server's answer."""

MOST_LOOKS: Final = 200


class News(TypedDict):
    """What a handle's listener was told of its session, in order, and what it was not told of.

    ``missing``: what had happened and was not told for as long as it takes at most; None: nothing.
    ``failovers``: how often it was told of a new connection. ``losses``: how often the connection
    was lost since the handle was opened, or more often.
    """

    session: str | None
    standing: str
    told: list[str]
    missing: str | None
    failovers: int
    losses: int


@dataclass
class Told:
    """What one handle's listener was told.

    Attributes:
        session: the handle's session.
        since: how often the connection had been lost when the handle was opened.
        standings: what it was told of the session, in order.
        failovers: how often it was told of a failover.
        new_connection: whether the connection was lost, and no failover was told since.
        invalid: whether it was told that the handle is invalid.
        conflicts: how many requests wait for us, as it was told last since ``conflicts`` was reset.
    """

    session: Chubby
    since: int
    failovers: int = 0
    standings: list[Standing] = field(default_factory=list)
    new_connection: bool = False
    invalid: bool = False
    conflicts: int = 0

    def take(self, event: Event) -> None:
        """Note an event."""
        if event.kind in STANDINGS:
            self.standings.append(STANDINGS[event.kind])
        elif event.kind is EventKind.MASTER_FAILED_OVER:
            self.failovers += 1
            self.new_connection = False
        elif event.kind is EventKind.HANDLE_INVALID:
            self.invalid = True
        elif event.kind is EventKind.CONFLICTING_REQUEST:
            self.conflicts = event.number

    def missing(self, *, connected: bool) -> str | None:
        """What has happened and was not told by now."""
        standing = self.session.standing
        if standing is not (self.standings or [Standing.SAFE])[-1]:
            return standing.value
        if standing is not Standing.EXPIRED and connected and self.new_connection:
            return EventKind.MASTER_FAILED_OVER.value
        return None
