"""Elections with one known mistake each, which the harness must find."""

from contextlib import suppress
from typing import ClassVar

from kazoo.exceptions import NodeExistsError, NoNodeError

from recipes.acknowledgement import Acknowledgements
from recipes.contest import Entry
from recipes.deadline import Deadline
from recipes.election import FairElection
from recipes.fair_contest import FairContest
from recipes.faulty.locks import WatchFirst
from recipes.session import Session


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
    mistake: ClassVar[str] = (
        "the acknowledgement is one lasting node, tied neither to the leader's session nor to its "
        "epoch: the next leader passes for acknowledged at once"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"false-acknowledgement"})


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
