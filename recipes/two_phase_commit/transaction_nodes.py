"""Two-phase commit on nodes that are written once.

After the recipe of ZooKeeper's documentation ("Recipes and Solutions", Two-phased Commit), with
the holes closed. A transaction is the node
``<path>/<transaction>``; its data names the participants, so it is created whole or not at all.
Below it stand, each created once and never changed:

- ``vote-<site>``, the vote of a participant, which outlives it: a promise, as in any two-phase
  commit, that may not vanish with a session;
- ``decision``: commit or abort. **Whoever creates it has decided**, and anybody may;
- ``at-<site>`` (ephemeral): a participant is at work on its vote; ``coordinator`` (ephemeral).
  These only tell early that somebody has died, they decide nothing.

*Commit* is created by who has read a yes of every participant; votes do not change, so an old
read does no harm. *Abort* is created by who has read a no; or, in one multi with it, casts the
missing vote of a participant as a no. So a late yes and an abort that takes its site for dead
exclude each other on the server, and once all have voted yes nobody can abort. This is how Gray
and Lamport's Paxos Commit ("Consensus on transaction commit", 2006, section 4) ends the
transactions of the dead: every vote is a register that is written once, and others may write it.

Nothing rests on the coordinator once the transaction exists: at whatever step it dies, a
participant finishes. A transaction of which nobody knows is never begun.
"""

import json
import uuid
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import ClassVar, Final, Literal, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError, NotEmptyError

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import RetryingCall

Decision = Literal["commit", "abort"]

DECISION: Final = "decision"
COORDINATOR: Final = "coordinator"
VOTE: Final = "vote-"
AT_WORK: Final = "at-"

_DECISIONS: Final[dict[bytes, Decision]] = {b"commit": "commit", b"abort": "abort"}

Found = TypeVar("Found")


class InDoubt(OutcomeUnknown):
    """Nobody could say in time: a request may have taken effect, or may yet. Ask again."""


class NoTransaction(NotDone):
    """There is no such transaction."""


class VotedAlready(NotDone):
    """This site's vote stands, and is another one: its own, or a no in its name by ``author``."""

    def __init__(self, message: str, *, ballot: bool, author: str) -> None:
        super().__init__(message)
        self.ballot = ballot
        self.author = author


@dataclass(frozen=True)
class Parties:
    """Names of the sites that take part in a transaction."""

    coordinator: str
    participants: list[str]


@dataclass
class Progress:
    """What one call of ``decide`` has found out; none of it changes on the server."""

    transaction: str
    patience: Deadline
    parties: Parties | None = None
    votes: dict[str, bool] = field(default_factory=dict)
    at_work: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Proposal:
    """What ``decide`` would decide, and whose missing vote it casts as a no with it, if any."""

    decision: Decision
    absent: str | None = None


class TwoPhaseCommit(Recipe):
    """One site's part in the transactions below ``path``.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode below which the transactions stand; it belongs to this recipe alone.
        name: the site's, one for each and the same after a restart. No slashes.
        grace: seconds by which a call may run over its timeout.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset(
            {
                "two-decisions",
                "invalid-commit",
                "lost-vote",
                "blocked-transaction",
                "not-linearizable",
                "overdue-call",
            }
        ),
        notes=(
            "Who does not vote within the patience of whoever decides is taken for dead, and the "
            "transaction is aborted, however slow it only was. A site that has voted yes and "
            "cannot reach the servers is in doubt until it can. Decided transactions stay until "
            "``forget``."
        ),
    )

    def __init__(self, client: KazooClient, path: str, *, name: str, grace: float = 2.0) -> None:
        if not name or "/" in name:
            raise ValueError(f"{name!r} cannot be a site's name: it has to be a node's")
        self._client = client
        self._path = path
        self._name = name
        self._grace = grace

    def begin(
        self,
        participants: Sequence[str],
        *,
        transaction: str | None = None,
        timeout: float | None = None,
    ) -> str:
        """Begin a transaction as its coordinator; its name.

        Args:
            participants: names of the sites that have to vote; the coordinator's own among them
                if it votes.
            transaction: the name, never used before; one is made up without it.
            timeout: seconds; None is for ever.

        Raises:
            InDoubt: it may have begun, or may yet. Call again with the same name, or ``decide``.
            NodeExistsError: another's transaction has that name.
        """
        transaction = transaction or uuid.uuid4().hex
        node = self._node(transaction)
        parties = Parties(self._name, list(participants))
        data = json.dumps(asdict(parties)).encode()
        with RetryingCall(self._client, timeout, self._grace) as call:

            def one() -> bool | None:
                try:
                    self._create_transaction(call, node, data, parties)
                except NodeExistsError:
                    if call.read(self._client.get_async, node)[0] != data:
                        raise
                except NoNodeError:
                    call.write(self._client.ensure_path_async, self._path)
                    return None
                return True

            if call.rounds(one) is None:
                raise InDoubt(f"{node}: no answer, it may have begun")
        return transaction

    def join(self, transaction: str, timeout: float | None = None) -> list[str]:
        """Tell that this site is at work on its vote; the names of the participants.

        If it dies before it votes, others see that at once instead of after their patience.
        Nobody has to join in order to vote.

        Raises:
            NoTransaction: there is none, as far as the server asked knows.
            InDoubt: no answer in time.
        """
        node = self._node(transaction)
        with RetryingCall(self._client, timeout, self._grace) as call:

            def one() -> list[str]:
                here = f"{node}/{AT_WORK}{self._name}"
                # There already: ours, of this session or of the one before. Then others may be
                # quick to give us up, and no more.
                with suppress(NodeExistsError):
                    call.read(self._client.create_async, here, ephemeral=True)
                return self._told(call, transaction).participants

            participants = self._asked(transaction, call, one)
            if participants is None:
                raise InDoubt(f"{node}: no answer")
            return participants

    def vote(self, transaction: str, ballot: bool, timeout: float | None = None) -> None:
        """Vote. After a yes the site must do what ``decide`` says, and cannot know before.

        Raises:
            VotedAlready: another vote of this site stands: too late, somebody has aborted; or
                it voted the other way before.
            NoTransaction: as for ``join``.
            InDoubt: it may have been cast, or may yet. Call again.
        """
        node = f"{self._node(transaction)}/{VOTE}{self._name}"
        mine = _ballot(ballot=ballot, author=self._name)
        with RetryingCall(self._client, timeout, self._grace) as call:

            def one() -> tuple[bool, str]:
                try:
                    call.write(self._client.create_async, node, mine)
                except NodeExistsError:
                    return self._read_vote(call, transaction, self._name)
                return ballot, self._name

            cast = self._asked(transaction, call, one)
        if cast is None:
            raise InDoubt(f"{node}: no answer, the vote may have been cast")
        if cast[0] != ballot:
            said = "yes" if cast[0] else "no"
            raise VotedAlready(
                f"{node}: {cast[1]} has voted {said} here", ballot=cast[0], author=cast[1]
            )

    def decide(
        self, transaction: str, timeout: float | None = None, *, patience: float = 5.0
    ) -> Decision | None:
        """Learn the decision, and make it if it falls to this site. The same for everybody.

        Args:
            transaction: its name.
            timeout: seconds to wait; None is for ever.
            patience: seconds after which votes that are missing are taken for a no.

        Returns:
            The decision; None if there was none yet (with a timeout below the patience).

        Raises:
            NoTransaction: as for ``join``.
            InDoubt: the servers did not answer, and we may have decided.
        """
        with RetryingCall(self._client, timeout, self._grace) as call:
            progress = Progress(transaction, Deadline(patience))

            def one() -> Decision | None:
                return self._round(call, progress)

            found: Decision | None = self._asked(transaction, call, one)
            if found is None and call.unsure:
                raise InDoubt(f"{self._node(transaction)}: no answer, we may have decided")
            return found

    def transactions(self, timeout: float | None = None) -> list[str]:
        """Names of all transactions, decided or not, that have not been forgotten.

        Raises:
            InDoubt: no answer in time.
        """
        with RetryingCall(self._client, timeout, self._grace) as call:

            def one() -> list[str]:
                call.settle(f"{self._path}/{uuid.uuid4().hex}")
                try:
                    return sorted(call.read(self._client.get_children_async, self._path))
                except NoNodeError:
                    return []

            found = call.rounds(one)
            if found is None:
                raise InDoubt(f"{self._path}: no answer")
            return found

    def forget(self, transaction: str, timeout: float | None = None) -> None:
        """Remove a transaction. Only once it is decided and every participant has done its part.

        Raises:
            InDoubt: no answer in time.
        """
        node = self._node(transaction)
        with RetryingCall(self._client, timeout, self._grace) as call:

            def one() -> bool | None:
                try:
                    children = call.read(self._client.get_children_async, node)
                    multi = self._client.transaction()
                    for child in children:
                        multi.delete(f"{node}/{child}")
                    multi.delete(node)
                    call.commit(multi, node)
                except NotEmptyError:
                    return None  # somebody was late: look again
                except NoNodeError:
                    # A child, or all: look again, by all that has been written.
                    return True if call.read(self._client.exists_async, node) is None else None
                return True

            if call.rounds(one) is None:
                raise InDoubt(f"{node}: no answer, it may still be there")

    @abstractmethod
    def _stands_by(self, call: RetryingCall, progress: Progress, parties: Parties) -> bool:
        """Whether it is another site's to collect the votes; if so, leaves a watch on it."""

    def _create_transaction(
        self,
        call: RetryingCall,
        node: str,
        data: bytes,
        parties: Parties,  # noqa: ARG002 - for those that make a node of each
    ) -> None:
        multi = self._client.transaction()
        multi.create(node, data)
        multi.create(f"{node}/{COORDINATOR}", ephemeral=True)
        call.commit(multi, node)

    def _round(self, call: RetryingCall, progress: Progress) -> Decision | None:
        """Look how things stand, and decide if that is possible; else wait for news."""
        call.session.wake.clear()
        if progress.parties is None:
            progress.parties = self._told(call, progress.transaction)
        if self._stands_by(call, progress, progress.parties):
            decision = self._read_decision(call, progress.transaction, watch=True)
            if decision is None:
                call.wait(progress.patience)
            return decision
        node = self._node(progress.transaction)
        children = set(call.read(self._client.get_children_async, node, call.news))
        decided = self._decision_node(progress.transaction).rpartition("/")[2] in children
        if decided and (decision := self._read_decision(call, progress.transaction)):
            return decision
        participants = progress.parties.participants
        for site in participants:
            if site not in progress.votes and VOTE + site in children:
                progress.votes[site] = self._read_vote(call, progress.transaction, site)[0]
        if not all(progress.votes.values()):
            return self._conclude(call, progress, Proposal("abort"))
        missing = [site for site in participants if site not in progress.votes]
        if not missing:
            return self._conclude(call, progress, Proposal("commit"))
        gone = [s for s in missing if s in progress.at_work and AT_WORK + s not in children]
        if gone or progress.patience.passed:
            return self._conclude(call, progress, Proposal("abort", (gone or missing)[0]))
        progress.at_work |= {site for site in missing if AT_WORK + site in children}
        call.wait(progress.patience)
        return None

    def _conclude(
        self, call: RetryingCall, progress: Progress, proposal: Proposal
    ) -> Decision | None:
        """Create the decision; None if somebody was quicker: with it, or with the missing vote."""
        node = self._node(progress.transaction)
        multi = self._client.transaction()
        if proposal.absent is not None:
            vote = f"{node}/{VOTE}{proposal.absent}"
            multi.create(vote, _ballot(ballot=False, author=self._name))
        multi.create(self._decision_node(progress.transaction), proposal.decision.encode())
        try:
            call.commit(multi, node)
        except NodeExistsError:
            return None
        return proposal.decision

    def _read_decision(
        self, call: RetryingCall, transaction: str, *, watch: bool = False
    ) -> Decision | None:
        """What was decided; None if nothing was, and then the watch is left if asked for."""
        node = self._decision_node(transaction)
        if watch and call.read(self._client.exists_async, node, call.news) is None:
            return None
        return _DECISIONS.get(call.read(self._client.get_async, node)[0])

    def _read_vote(self, call: RetryingCall, transaction: str, site: str) -> tuple[bool, str]:
        """A vote that is there, and whose hand it is."""
        node = f"{self._node(transaction)}/{VOTE}{site}"
        return read_ballot(call.read(self._client.get_async, node)[0])

    def _told(self, call: RetryingCall, transaction: str) -> Parties:
        """What the transaction's node says."""
        data = call.read(self._client.get_async, self._node(transaction))[0]
        return Parties(**json.loads(data))

    def _asked(
        self, transaction: str, call: RetryingCall, one: Callable[[], Found | None]
    ) -> Found | None:
        """The call's rounds; raises NoTransaction if they find that there is none."""
        node = self._node(transaction)

        def checked() -> Found | None:
            try:
                return one()
            except NoNodeError as error:
                # Or its server is behind: a new session may see less than the one before.
                call.settle(f"{node}/{uuid.uuid4().hex}")
                if call.read(self._client.exists_async, node) is None:
                    raise NoTransaction(node) from error
                return None

        return call.rounds(checked)

    def _node(self, transaction: str) -> str:
        return f"{self._path}/{transaction}"

    def _decision_node(self, transaction: str) -> str:
        return f"{self._node(transaction)}/{DECISION}"


class PeerCommit(TwoPhaseCommit):
    """Every participant watches all votes, and whoever sees the last one decides.

    One round trip less than with a collector; each vote wakes everybody: n squared messages.
    """

    def _stands_by(self, call: RetryingCall, progress: Progress, parties: Parties) -> bool:  # noqa: ARG002 - the base's
        return False


class CoordinatedCommit(TwoPhaseCommit):
    """The coordinator collects the votes; the others watch the decision, and the coordinator.

    Each vote wakes one, the decision everybody. When the coordinator's session ends, or its
    patience with it, a participant collects.
    """

    def _stands_by(self, call: RetryingCall, progress: Progress, parties: Parties) -> bool:
        if parties.coordinator == self._name or progress.patience.passed:
            return False
        node = f"{self._node(progress.transaction)}/{COORDINATOR}"
        return call.read(self._client.exists_async, node, call.news) is not None


def read_ballot(data: bytes) -> tuple[bool, str]:
    """What a vote's node says: whether it is a yes, and the name of the site that cast it."""
    told = json.loads(data)
    return told["ballot"] == "yes", told["author"]


def _ballot(*, ballot: bool, author: str) -> bytes:
    return json.dumps({"ballot": "yes" if ballot else "no", "author": author}).encode()
