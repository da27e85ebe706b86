"""Elections with one known mistake each, which the harness must find."""

import time
from contextlib import suppress
from typing import ClassVar, Final

from kazoo.exceptions import NodeExistsError, NoNodeError

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.faulty_contenders import (
    CampaignsForEver,
    CampaignsForHalf,
    CountsItsOwnGrants,
    NeverBelieves,
    RunsAgainstItself,
)
from rumpus.recipes.contests.faulty_contests import (
    FirstSessionOnly,
    KeepsPlace,
    PersistentNode,
    SortsByName,
)
from rumpus.recipes.election.acknowledgement import Acknowledgements
from rumpus.recipes.election.contest_election import FairElection, Leader, UnfairElection
from rumpus.recipes.lock.faulty_locks import ReleaseByPath, WatchFirst
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session


class BelievesAfterLostElection(FairElection):
    """Its leader does not listen."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "goes on believing that it leads while suspended, and after LOST"
    expected: ClassVar[frozenset[str]] = frozenset({"unaware-holder"})

    @property
    def _believes(self) -> bool:
        return self._grant is not None


class WatchLeaderElection(FairElection):
    """All candidates watch the leader, and do not look again."""

    contest = WatchFirst
    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 3.9"
    mistake: ClassVar[str] = (
        "all candidates watch the leader, and take the lead when it vanishes, without looking"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"split-brain", "herd"})


class _AcknowledgesEarly(FairContest):
    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        self._enter(entry, deadline)
        if entry.token is not None:
            acknowledgements = Acknowledgements(self._client, f"{self._path}-acknowledged")
            acknowledgements.write(entry.token, self._name, entry.session, deadline)
        return super()._round(entry, deadline)


class AcknowledgesEarlyElection(FairElection):
    """Its candidates have no doubt that they will lead."""

    contest = _AcknowledgesEarly
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "writes its acknowledgement when it joins the line, so that it is known as an "
        "acknowledged leader before it knows anything itself"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"false-acknowledgement"})


class _Untied(Acknowledgements):
    """One lasting node, whoever leads."""

    def node(self, epoch: int) -> str:  # noqa: ARG002 - that is the mistake
        return f"{self._path}/leader"

    def _create(self, epoch: int, name: str, session: Session, deadline: Deadline) -> None:
        data = f"{epoch} {name}".encode()
        try:
            session.ask(deadline, self._client.create_async, self.node(epoch), data)
        except NoNodeError:
            session.ask(deadline, self._client.ensure_path_async, self._path)
            session.ask(deadline, self._client.create_async, self.node(epoch), data)

    def withdraw(self, epoch: int) -> None:
        """It stays."""


class UntiedAcknowledgementElection(FairElection):
    """Its acknowledgement is everybody's."""

    acknowledgements = _Untied
    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "P Leader Election"
    mistake: ClassVar[str] = (
        "the acknowledgement is one lasting node, tied neither to the leader's session nor to its "
        "epoch: the next leader passes for acknowledged at once"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"false-acknowledgement"})


class _Kept(Acknowledgements):
    def withdraw(self, _epoch: int) -> None:
        pass


class KeepsAcknowledgementElection(FairElection):
    """It does not take back what it has said."""

    acknowledgements = _Kept
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "leaves its acknowledgement behind when it resigns: the nodes of all its reigns stay while "
        "its session lives"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"orphan-node"})


class _Shared(Acknowledgements):
    """One ephemeral node, made anew by every leader."""

    def node(self, epoch: int) -> str:  # noqa: ARG002 - that is the mistake
        return f"{self._path}/leader"

    def _create(self, epoch: int, name: str, session: Session, deadline: Deadline) -> None:
        with suppress(NodeExistsError):
            super()._create(epoch, name, session, deadline)
            return
        with suppress(NoNodeError):
            session.ask(deadline, self._client.delete_async, self.node(epoch))
        super()._create(epoch, name, session, deadline)


class SharedAcknowledgementElection(FairElection):
    """It cleans up after itself, and after others."""

    acknowledgements = _Shared
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "all leaders acknowledge with the same node, and whoever begins to campaign removes it, "
        "taking it for one that an earlier reign of its own has left"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"lost-acknowledgement"})

    def campaign(self, timeout: float | None = None) -> bool:
        """Tidy up, then campaign."""
        self._acknowledgements.withdraw(0)
        return super().campaign(timeout)


class UnsyncedElection(FairElection):
    """It sees who leads where its server is."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "looks who leads without a sync: a server that is behind shows a leader of the past"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"epoch-regression", "false-observation"})

    def _catch_up(self, session: Session, deadline: Deadline) -> None:
        """Nothing: the mistake."""


class HidesUnacknowledgedElection(FairElection):
    """It takes a leader that has not said so for none."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "says that nobody leads until the leader has acknowledged, and so hides one that is frozen"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"false-observation"})

    def _see(self, session: Session, deadline: Deadline) -> Leader | None:
        leader = super()._see(session, deadline)
        return leader if leader is not None and leader.acknowledged else None


class _SaidOnce(Acknowledgements):
    _said = False

    def write(self, epoch: int, name: str, session: Session, deadline: Deadline) -> None:
        if not self._said:
            super().write(epoch, name, session, deadline)
        self._said = True


class ForgetsAcknowledgementElection(FairElection):
    """It says so once."""

    acknowledgements = _SaidOnce
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "remembers that it has acknowledged, and not which epoch: its later reigns are not"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"lost-acknowledgement"})


class NeverLeadingElection(NeverBelieves, FairElection):
    """Its leader does not know that it leads."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "leading is always false: whoever wins does nothing with it"
    expected: ClassVar[frozenset[str]] = frozenset({"unbelieving-holder"})


class RunsAgainstItselfElection(RunsAgainstItself, FairElection):
    """Its leader is its own successor."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a leader that campaigns again joins the line behind its own node, and waits for it until "
        "the timeout"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"refused-reentry"})


class IgnoresTimeoutElection(CampaignsForEver, FairElection):
    """Its candidates do not give up."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "campaign takes a timeout and waits for ever"
    expected: ClassVar[frozenset[str]] = frozenset({"overdue-call"})


class PersistentNodeElection(FairElection):
    """Its node is not ephemeral."""

    contest = PersistentNode
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "the node is persistent: a leader that died leads for ever"
    expected: ClassVar[frozenset[str]] = frozenset({"leaderless", "orphan-node"})


class FirstSessionOnlyElection(FairElection):
    """A candidate whose session has ended once is one no more."""

    contest = FirstSessionOnly
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "remembers that its session is lost, and not that the client has a new one: it never "
        "campaigns again"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter"})


class KeepsPlaceElection(FairElection):
    """A candidate comes back to its old place."""

    contest = KeepsPlace
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a candidate whose session ended creates its node anew under the old name, to keep its "
        "place in the line: somebody else leads meanwhile"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"double-grant"})


class SortsByNameElection(FairElection):
    """Its line is in no order."""

    contest = SortsByName
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "sorts the candidates by the whole names of their nodes, which begin with a random mark"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"unfair-grant", "split-brain"})


class CountsReignsElection(CountsItsOwnGrants, FairElection):
    """Its epochs are each client's own."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "the epoch is how often this client has led: it knows of no other's"
    expected: ClassVar[frozenset[str]] = frozenset({"token-regression"})


REMEMBERED_S: Final = 0.5
"""For how long an observer takes its last answer for good."""


class RemembersLeaderElection(FairElection):
    """Its observers do not ask every time."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        f"who leads is remembered for {REMEMBERED_S} s, to save requests: an observer names an "
        "old leader after a new one was known"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"epoch-regression"})
    _remembered: tuple[float, Leader | None] = (float("-inf"), None)

    def leader(self, timeout: float | None = 5.0) -> Leader | None:
        """The last answer, if it is fresh enough."""
        if time.monotonic() > self._remembered[0] + REMEMBERED_S:
            self._remembered = (time.monotonic(), super().leader(timeout))
        return self._remembered[1]


class ResignsByPathElection(UnfairElection):
    """Its resignation removes whoever leads."""

    contest = ReleaseByPath
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "resigns by deleting the path in whatever session the client has by then, without looking "
        "whose node it is"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"split-brain"})


class HalvesTimeoutElection(CampaignsForHalf, FairElection):
    """Its candidates give up too early."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "campaign gives up after half of its timeout"
    expected: ClassVar[frozenset[str]] = frozenset({"early-timeout"})
