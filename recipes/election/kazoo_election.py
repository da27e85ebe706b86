"""kazoo's own Election behind the interface of the elections here.

kazoo calls a leader function and takes its return as a resignation. So kazoo's election runs in a
thread of its own, and its leader function waits there until we resign. kazoo's election is kazoo's
lock around a function, so this adapter adds the same as ``recipes.lock.kazoo_lock``.
"""

import threading
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.recipe.election import Election

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.election.contest_election import ContestElection
from rumpus.recipes.lock.kazoo_lock import KazooContest, KazooEntry
from rumpus.recipes.promises import ACKNOWLEDGEMENT, EXCLUSION, LEADERSHIP, Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import LONGEST_REQUEST, Session, Unanswered


class Term(KazooEntry):
    """One run of a kazoo election: candidacy, lead, end."""

    def __init__(self, client: KazooClient, election: Election) -> None:
        super().__init__(client, election.lock, election.lock.prefix)
        self._client = client
        self._election = election
        self._over = threading.Event()
        self._elected = False
        self.error: KazooException | None = None
        self.decided = threading.Event()
        """Set once elected, or failed."""
        self.ended = threading.Event()
        """Set once kazoo has returned from its election."""

    def run(self) -> None:
        """Candidacy, lead and release; returns when over."""
        try:
            self._election.run(self._lead)
        except KazooException as error:
            self.error = error
        finally:
            self.ended.set()
            self.decided.set()

    def _lead(self) -> None:
        # The user leads from now on, whatever sessions kazoo has gone through to get here.
        self.session.close()
        self.session = Session(self._client)
        self._elected = True
        self.decided.set()
        self._over.wait()

    @property
    def elected(self) -> bool:
        """Whether it leads, as far as kazoo has reported."""
        return self._elected and not self.ended.is_set()

    def end(self) -> None:
        """Withdraw the candidacy, or resign."""
        self._over.set()
        self._election.cancel()


class KazooElectionContest(KazooContest):
    """kazoo campaigns in a thread of its own."""

    def win(self, timeout: float | None) -> Term | None:
        """Let kazoo campaign; None when it failed and nothing is left, even before the timeout.

        Raises:
            LockUnknown: nobody can say whether its node is left.
            KazooException: what kazoo raises.
        """
        term = Term(self._client, self._client.Election(self._path, self._name))
        self._client.handler.spawn(term.run)
        try:
            term.decided.wait(timeout)
            if term.elected and self._confirmed(term):
                return term
        except BaseException:
            term.end()
            self._leave_in_background(term)
            raise
        term.end()
        self._abandon(term)
        if term.error is not None:
            raise term.error
        return None

    def leave(self, entry: Entry) -> None:
        """Let the leader function return, and kazoo release.

        Raises:
            NotHeld: the session that led has ended; kazoo does not report this.
            LockUnknown: kazoo's election has not returned within the grace; it goes on.
        """
        assert isinstance(entry, Term)
        lost = entry.session.lost
        entry.end()
        self._abandon(entry)
        if lost:
            raise NotHeld(f"{self._path}: the session that led has ended")

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        """Wait until kazoo's election has returned, then remove a node that it may have left."""
        assert isinstance(entry, Term)
        left = deadline.left_for_answers()
        if not entry.ended.wait(LONGEST_REQUEST if left is None else left):
            raise Unanswered("kazoo's election has not come back")
        return super()._take_out(entry, deadline)


class KazooElection(ContestElection):
    """``kazoo.recipe.election.Election``; see the module."""

    contest = KazooElectionContest
    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | LEADERSHIP | ACKNOWLEDGEMENT | {"unaware-holder", "token-regression"},
        tokens=True,
        notes=(
            "kazoo promises neither order nor a bound on wake-ups, though its algorithm queues. "
            "Its leader function is not told when the lead is lost; the adapter's listener sees "
            "it. Nodes that a failed campaign leaves are removed by the adapter. "
            "Acknowledgements are the adapter's too: kazoo has none."
        ),
    )
