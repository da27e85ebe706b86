"""Sequencers that are verified by the wrong thing."""

from typing import ClassVar

from rumpus.recipes.contests.fair_contest import MARK
from rumpus.recipes.lock.sequencer import Sequencer, SequencerLock, Verifier
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session


class _ByPath(Verifier):
    def _stands(self, session: Session, claim: Sequencer, deadline: Deadline) -> bool:
        self._catch_up(session, claim, deadline)
        lock = claim.node.rpartition("/")[0]
        children = session.ask(deadline, self._client.get_children_async, lock)
        return any(MARK in child for child in children)


class _Remembering(Verifier):
    """Asks once for each sequencer."""

    _known: dict[Sequencer, bool] | None = None

    def _stands(self, session: Session, claim: Sequencer, deadline: Deadline) -> bool:
        known = self._known = {} if self._known is None else self._known
        if claim not in known:
            known[claim] = super()._stands(session, claim, deadline)
        return known[claim]


class VerifiedByPathLock(SequencerLock):
    """Its sequencers stand whenever somebody holds."""

    verifier = _ByPath
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "verifies by the lock's path only: a sequencer stands as long as anybody holds the lock"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stale-sequencer"})


class VerifiedOnceLock(SequencerLock):
    """Its answers are remembered."""

    verifier = _Remembering
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "remembers the answer for each sequencer, and does not ask again"
    expected: ClassVar[frozenset[str]] = frozenset({"stale-sequencer"})
