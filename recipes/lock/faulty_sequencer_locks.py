"""Sequencers that are verified by the wrong thing."""

from rumpus.recipes.contests.fair_contest import MARK
from rumpus.recipes.lock.sequencer import Sequencer, Verifier
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session


class ByPath(Verifier):
    """Its sequencers stand whenever somebody holds."""

    def _stands(self, session: Session, claim: Sequencer, deadline: Deadline) -> bool:
        self._catch_up(session, claim, deadline)
        lock = claim.node.rpartition("/")[0]
        children = session.ask(deadline, self._client.get_children_async, lock)
        return any(MARK in child for child in children)


class Remembering(Verifier):
    """Asks once for each sequencer."""

    _known: dict[Sequencer, bool] | None = None

    def _stands(self, session: Session, claim: Sequencer, deadline: Deadline) -> bool:
        known = self._known = {} if self._known is None else self._known
        if claim not in known:
            known[claim] = super()._stands(session, claim, deadline)
        return known[claim]
