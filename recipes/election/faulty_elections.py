"""Elections with one known mistake each, which the harness must find."""

import time
from contextlib import suppress
from typing import Final

from kazoo.exceptions import NodeExistsError, NoNodeError

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.election.acknowledgement import Acknowledgements
from rumpus.recipes.election.contest_election import ContestElection, FairElection, Leader
from rumpus.recipes.mistake import made
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session


class AcknowledgesEarly(FairContest):
    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        self._enter(entry, deadline)
        if entry.token is not None:
            acknowledgements = Acknowledgements(self._client, f"{self._path}-acknowledged")
            made(acknowledgements.node(entry.token), lasting=True)
            acknowledgements.write(entry.token, self._name, entry.session, deadline)
        return super()._round(entry, deadline)


class Untied(Acknowledgements):
    def node(self, epoch: int) -> str:
        return f"{self._path}/leader"

    def _create(self, epoch: int, name: str, session: Session, deadline: Deadline) -> None:
        data = f"{epoch} {name}".encode()
        made(epoch)
        try:
            session.ask(deadline, self._client.create_async, self.node(epoch), data)
        except NoNodeError:
            session.ask(deadline, self._client.ensure_path_async, self._path)
            session.ask(deadline, self._client.create_async, self.node(epoch), data)

    def withdraw(self, epoch: int) -> None:
        """Nothing: the node stays."""
        made(epoch)


class Kept(Acknowledgements):
    def withdraw(self, epoch: int) -> None:
        made(self.node(epoch))


class _Shared(Acknowledgements):
    def node(self, epoch: int) -> str:
        return f"{self._path}/leader"

    def _create(self, epoch: int, name: str, session: Session, deadline: Deadline) -> None:
        with suppress(NodeExistsError):
            super()._create(epoch, name, session, deadline)
            return
        made(self.node(epoch))
        with suppress(NoNodeError):
            session.ask(deadline, self._client.delete_async, self.node(epoch))
        super()._create(epoch, name, session, deadline)


class SharedAcknowledgementElection(FairElection):
    _acknowledgements_class = _Shared

    def campaign(self, timeout: float | None = None) -> bool:
        made(self._acknowledgements.node(0))
        self._acknowledgements.withdraw(0)
        return super().campaign(timeout)


class HidesUnacknowledgedElection(FairElection):
    def _see(self, session: Session, deadline: Deadline) -> Leader | None:
        leader = super()._see(session, deadline)
        if leader is None or leader.acknowledged:
            return leader
        made(leader.epoch, own=True)
        return None


class SaidOnce(Acknowledgements):
    _said = False

    def write(self, epoch: int, name: str, session: Session, deadline: Deadline) -> None:
        if not self._said:
            super().write(epoch, name, session, deadline)
        else:
            made(self.node(epoch))
        self._said = True


REMEMBERED_S: Final = 0.5
"""Seconds for which ``RemembersLeaderElection`` repeats its last answer."""


class RemembersLeaderElection(FairElection):
    _remembered: tuple[float, Leader | None] = (float("-inf"), None)

    def leader(self, timeout: float | None = 5.0) -> Leader | None:
        if time.monotonic() > self._remembered[0] + REMEMBERED_S:
            self._remembered = (time.monotonic(), super().leader(timeout))
        else:
            made(own=True)
        return self._remembered[1]


class CampaignsForHalf(ContestElection):
    """Gives up after half of the timeout, as if the rest were kept for a second step."""

    def campaign(self, timeout: float | None = None) -> bool:
        won = super().campaign(None if timeout is None else timeout / 2)
        if timeout and not won:
            made(own=True)
        return won


class CampaignsForEver(ContestElection):
    """The timeout is not passed on: ``campaign`` waits for ever."""

    def campaign(self, timeout: float | None = None) -> bool:
        if timeout is not None:
            made(own=True)
        return super().campaign(None)


class RunsAgainstItself(ContestElection):
    """A leader that campaigns again joins the line behind its own node."""

    def campaign(self, timeout: float | None = None) -> bool:
        grant, self._grant = self._grant, None
        if grant is not None:
            made(grant.node)
        won = False
        try:
            won = super().campaign(timeout)
        finally:
            if not won:
                self._grant = grant
        return won
