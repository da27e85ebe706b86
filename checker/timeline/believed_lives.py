"""Holds of a recipe whose servers nobody sees: each lasts as long as its client believes in it.

Such a recipe lives on a service of the user's (``--service``): there are no logs of what was
granted, and its clients have no sessions. So each hold gets a name that stands for its session, and
ends with the belief. Two beliefs that overlap are two holders at once, whatever the service says.
"""

from collections.abc import Sequence

from rumpus.checker.timeline.holds import Hold
from rumpus.checker.timeline.ownership import ServerView, SessionEnd


def name_holds(holds: Sequence[Hold]) -> None:
    """Give each hold a name in place of a session."""
    for number, hold in enumerate(holds):
        hold.session = f"hold-{number}"


def lives_by_beliefs(holds: Sequence[Hold]) -> ServerView:
    """The lives of holds that have names: each ends with the belief."""
    ends = {
        hold.session: SessionEnd(hold.believed_until, expired=False)
        for hold in holds
        if hold.session is not None
    }
    return ServerView(ends=ends, known=frozenset(ends), believed=True)
