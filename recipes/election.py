"""Elections: fair and unfair, the same contests as the locks'.

A leader is not told that it leads by anybody: it knows from ``campaign``, and stops knowing when
its connection is lost. The token is the epoch: it grows from leader to leader.
"""

import threading
from typing import ClassVar

from kazoo.client import KazooClient

from recipes.contender import Contender
from recipes.deadline import Deadline
from recipes.fair_contest import FairContest
from recipes.promises import EXCLUSION, LIVENESS, Promises
from recipes.unfair_contest import UnfairContest

_NO_WINDOW = (
    "A deposed leader that was paused can act once more before it notices: there is no validity "
    "window. Let what it acts on check the epoch."
)


class ContestElection(Contender):
    """An election is a contest whose winner leads until it resigns or its session ends."""

    def __init__(
        self, client: KazooClient, path: str, *, name: str = "", grace: float = 2.0
    ) -> None:
        super().__init__(client, path, name=name, grace=grace)
        self._turn = threading.Lock()

    def campaign(self, timeout: float | None = None) -> bool:
        """Wait to lead, for ever or for ``timeout`` seconds (plus at most ``grace``).

        True at once for who leads already; who has lost the lead campaigns anew.

        Returns:
            True: leads. False: timed out, and nothing of ours is left in the line.

        Raises:
            LockUnknown: timed out, and whether something of ours is left cannot be said.
            ConnectionClosedError: the client was stopped.
            ZookeeperError: the ensemble refused (a missing permission, say).
        """
        deadline = Deadline(timeout)
        left = deadline.left()
        if not self._turn.acquire(timeout=-1 if left is None else left):
            return False
        try:
            if self._grant is not None and self._still_ours(self._grant, deadline):
                return True
            self._grant = None
            self._grant = self._contest.win(deadline.left())
            return self._grant is not None
        finally:
            self._turn.release()

    def resign(self) -> None:
        """Step down; takes at most ``grace`` seconds.

        After an unknown outcome: wait until nothing of ours is left.

        Raises:
            NotHeld: did not lead, or lost the lead: the session ended, or somebody removed
                the node.
            LockUnknown: no answer in time. Our node will be removed once it can be.
        """
        self._let_go()

    @property
    def leading(self) -> bool:
        """Whether we may believe, right now, that we lead.

        False while the connection is lost, true again if the same session reconnects.
        """
        return self._believes


class FairElection(ContestElection):
    """Candidates lead in the order in which they came. See ``recipes.fair_contest``."""

    contest = FairContest
    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION
        | LIVENESS
        | {"leaderless", "unaware-holder", "token-regression", "unfair-grant", "herd"},
        wakeups=1,
        tokens=True,
        notes=_NO_WINDOW,
    )


class UnfairElection(ContestElection):
    """Whoever is quickest leads. See ``recipes.unfair_contest``."""

    contest = UnfairContest
    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | LIVENESS | {"leaderless", "unaware-holder", "token-regression"},
        tokens=True,
        notes="No order, and no bound on wake-ups. " + _NO_WINDOW,
    )
