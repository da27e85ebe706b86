"""kazoo's own Election as most users call it; only the recommended state listener is added.

``recipes.election.kazoo_election`` removes nodes that a failed campaign leaves. Here nobody does:
a candidate that gives up calls ``cancel``, as kazoo's documentation says. The token is read for the
acknowledgements, which kazoo does not have.
"""

from typing import ClassVar

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.election.contest_election import ContestElection
from rumpus.recipes.election.kazoo_election import KazooElection, KazooElectionContest, Term
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.session import LONGEST_REQUEST


class KazooBareElectionContest(KazooElectionContest):
    """kazoo campaigns; nodes that a failed campaign leaves behind are not removed."""

    def win(self, timeout: float | None) -> Term | None:
        """Let kazoo campaign; None when it has not led before the timeout.

        Raises:
            LockUnknown: kazoo raised an error, which does not say whether a node is left.
        """
        term = Term(self._client, self._client.Election(self._path, self._name))
        self._client.handler.spawn(term.run)
        term.decided.wait(timeout)
        if term.elected:
            if not self._confirmed(term):
                term.node, term.session_id = self._node_of(term), term.session.begun_in
            return term
        term.end()
        self._strike(term)
        if term.error is not None:
            raise LockUnknown(f"{self._path}: {type(term.error).__name__} {term.error}")
        return None

    def leave(self, entry: Entry) -> None:
        """Let the leader function return, and wait until kazoo has released.

        Raises:
            NotHeld: the session that led has ended; kazoo does not report this.
            LockUnknown: kazoo's election has not returned, or raised an error.
        """
        assert isinstance(entry, Term)
        lost = entry.session.lost
        entry.end()
        ended = entry.ended.wait(LONGEST_REQUEST)
        self._strike(entry)
        if not ended or entry.error is not None:
            raise LockUnknown(f"{self._path}: {entry.error or 'the election has not come back'}")
        if lost:
            raise NotHeld(f"{self._path}: the session that led has ended")


class KazooBareElection(ContestElection):
    """``kazoo.recipe.election.Election``, a new one each time; see the module."""

    contest = KazooBareElectionContest
    promises: ClassVar[Promises] = Promises(
        prevents=KazooElection.promises.prevents,
        tokens=True,
        notes=(
            "kazoo promises neither order nor a bound on wake-ups, though its algorithm queues. "
            "Its leader function is not told when the lead is lost; the adapter's listener sees "
            "it. Tokens and acknowledgements are the adapter's: kazoo has none."
        ),
    )
