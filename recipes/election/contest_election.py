"""Elections: fair and unfair, built on the same contests as the locks.

A client knows that it leads when ``campaign`` returns True, and may no longer rely on that when its
connection is lost. The fencing token serves as the epoch: it grows from leader to leader.

Other clients may ask who leads, in which epoch, and whether that leader knows it already: a leader
that begins to act acknowledges its epoch (``recipes.election.acknowledgement``).
"""

import threading
import uuid
from dataclasses import dataclass
from typing import ClassVar, Unpack

from kazoo.client import KazooClient
from kazoo.exceptions import SessionExpiredError

from rumpus.recipes.contests.contender import Contender, ContenderOptions
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.contests.line_view import Stand, first_in_line
from rumpus.recipes.contests.unfair_contest import UnfairContest
from rumpus.recipes.election.acknowledgement import Acknowledgements
from rumpus.recipes.promises import (
    ACKNOWLEDGEMENT,
    LEADERSHIP,
    Promises,
    fair_contest,
    unfair_contest,
)
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import until_answered
from rumpus.recipes.requests.session import Session, Unanswered

_NO_WINDOW = (
    "A deposed leader that was paused can act once more before it notices: there is no validity "
    "window. Let what it acts on check the epoch."
)


@dataclass(frozen=True)
class Leader:
    """Who leads, as others see it.

    ``name`` is the leader's own name, ``epoch`` is larger than that of every leader before it, and
    ``acknowledged`` says whether the leader had acknowledged its lead when this was read.
    """

    name: str
    epoch: int
    acknowledged: bool


class ContestElection(Contender):
    """An election is a contest whose winner leads until it resigns or its session ends.

    Acknowledgement nodes are children of ``path``-acknowledged.
    """

    _acknowledgements_class: ClassVar[type[Acknowledgements]] = Acknowledgements

    def __init__(self, client: KazooClient, path: str, **options: Unpack[ContenderOptions]) -> None:
        super().__init__(client, path, **options)
        self._turn = threading.Lock()
        self._acknowledgements = self._acknowledgements_class(client, f"{path}-acknowledged")

    def campaign(self, timeout: float | None = None) -> bool:
        """Wait to lead, for ever or for ``timeout`` seconds (plus at most ``grace``).

        Returns True at once if we lead already. If we have lost the lead, campaigns anew.

        Returns:
            True: we lead. False: timed out, and nothing of ours is left in the line.

        Raises:
            LockUnknown: timed out, and a node of ours may still be in the line.
        """
        deadline = Deadline(timeout)
        if not deadline.acquire(self._turn):
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

        After an unknown outcome, this waits until no node of ours is left.

        Raises:
            NotHeld: we did not lead, or had lost the lead: the session ended, or somebody removed
                the node.
            LockUnknown: no answer in time. Our node will be removed once it can be.
        """
        grant = self._grant
        try:
            self._let_go()
        finally:
            if grant is not None and grant.token is not None:
                self._acknowledgements.withdraw(grant.token)

    def acknowledge(self) -> None:
        """Tell the others that we know that we lead; takes at most ``grace`` seconds.

        Raises:
            NotHeld: we do not lead, or have lost the lead.
            LockUnknown: no answer in time; the lead may be acknowledged, or may yet be.
        """
        grant = self._grant
        if grant is None:
            raise NotHeld(f"{self._path}: not led by this client")
        if grant.token is None:
            raise LockUnknown(f"{self._path}: the epoch could not be read")
        try:
            self._acknowledgements.write(
                grant.token, self._name, grant.session, Deadline(self._grace)
            )
        except SessionExpiredError:
            raise NotHeld(f"{self._path}: the session that led has ended") from None
        except Unanswered as error:
            raise LockUnknown(f"{self._path}: cannot tell whether it is acknowledged") from error

    def leader(self, timeout: float | None = 5.0) -> Leader | None:
        """Who leads, no older than everything committed before the call; None if nobody does.

        Costs one write without effect, because ZooKeeper's reads may be stale. So a client that has
        seen an epoch acknowledged, or was told of it, never sees an older one afterwards.

        Raises:
            LockUnknown: no answer in time.
        """
        deadline = Deadline(timeout)
        try:
            return until_answered(
                self._client, deadline, lambda session: self._see(session, deadline)
            )
        except Unanswered as error:
            raise LockUnknown(f"{self._path}: cannot tell who leads") from error

    def _see(self, session: Session, deadline: Deadline) -> Leader | None:
        self._catch_up(session, deadline)
        line = self.line(self._path)
        stand = first_in_line(self._client, session, line, deadline)
        if stand is None:
            return None
        name = stand.data.decode()
        if line.kind == "single":
            name = name.partition(" ")[2]  # the mark goes before it
        return Leader(name, stand.czxid, self._is_acknowledged(stand, session, deadline))

    def _catch_up(self, session: Session, deadline: Deadline) -> None:
        """Make sure that the next read shows everything committed before this call."""
        session.catch_up(deadline, f"{self._path}-{uuid.uuid4().hex}")

    def _is_acknowledged(self, stand: Stand, session: Session, deadline: Deadline) -> bool:
        return self._acknowledgements.stands(stand.czxid, session, deadline)

    @property
    def leading(self) -> bool:
        """Whether we may rely, right now, on being the leader.

        False while the connection is lost, true again if the same session reconnects.
        """
        return self._believes


class FairElection(ContestElection):
    """Candidates lead in the order in which they came. See ``recipes.contests.fair_contest``."""

    contest = FairContest
    promises: ClassVar[Promises] = fair_contest(LEADERSHIP | ACKNOWLEDGEMENT, _NO_WINDOW)


class UnfairElection(ContestElection):
    """Candidates lead in no order. See ``recipes.contests.unfair_contest``."""

    contest = UnfairContest
    promises: ClassVar[Promises] = unfair_contest(LEADERSHIP | ACKNOWLEDGEMENT, _NO_WINDOW)
