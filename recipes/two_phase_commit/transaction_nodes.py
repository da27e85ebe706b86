"""Two-phase commit on nodes that are written once.

The recipe of ZooKeeper's documentation ("Recipes and Solutions", Two-phased Commit), with its gaps
closed. A transaction is the node ``<path>/<transaction>``. Its data names the participants, so it
is created whole or not at all. It has these children, each created once and never changed:

- ``vote-<site>``: the vote of a participant. It is persistent, because a vote is a promise: it must
  not vanish with a session.
- ``decision``: commit or abort. **The site that creates it has decided**, and any site may.
- ``at-<site>`` (ephemeral): a participant is working on its vote; ``coordinator`` (ephemeral): the
  coordinator is alive. These decide nothing; they only show early that a site has died.

*Commit* is created by a site that has read a yes of every participant; votes do not change, so
stale reads do no harm. *Abort* is created by a site that has read a no; or it is created in one
transaction with the missing vote of a participant, which it casts as a no. So a late yes and an
abort that takes its site for dead exclude each other on the server, and once all have voted yes
nobody can abort. Gray and Lamport's Paxos Commit ("Consensus on transaction commit", 2006, section
4) ends the transactions of dead sites in the same way: every vote is a register that is written
once, and other sites may write it.

Once the transaction exists, nothing depends on the coordinator: at whatever step it dies, a
participant finishes the transaction.
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

from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.retrying_recipe import RetryingRecipe

Decision = Literal["commit", "abort"]

DECISION: Final = "decision"
COORDINATOR: Final = "coordinator"
VOTE: Final = "vote-"
AT_WORK: Final = "at-"

_DECISIONS: Final[dict[bytes, Decision]] = {b"commit": "commit", b"abort": "abort"}

Found = TypeVar("Found")


class InDoubt(OutcomeUnknown):
    """No answer in time: a request may have taken effect, or may yet. Call again."""


class NoTransaction(NotDone):
    """There is no such transaction."""


class VotedAlready(NotDone):
    """This site's vote is the other one: its own, or a no that ``author`` cast in its name."""

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
    """What one call of ``decide`` has read so far; none of it changes on the server."""

    transaction: str
    patience: Deadline
    parties: Parties | None = None
    votes: dict[str, bool] = field(default_factory=dict)
    at_work: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Proposal:
    """What ``decide`` is about to decide; it casts a no for the site ``absent``, if any."""

    decision: Decision
    absent: str | None = None


class TwoPhaseCommit(RetryingRecipe):
    """One site's part in the transactions below ``path``.

    Args:
        client: a started client with kazoo's threading handler.
        path: the parent of the transactions' nodes, used by nothing else.
        name: the site's unique name, without slashes; the same after a restart.
        grace: seconds by which a call may exceed its timeout, to await late answers.

    Raises:
        ValueError: ``path`` is not an absolute znode path, or the name cannot be a znode's.
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
            "A site that does not vote within the patience of the site that decides is taken for "
            "dead, and the transaction is aborted, even if the site is only slow. A site that has "
            "voted yes and cannot reach the servers is in doubt until it can. The nodes of decided "
            "transactions stay until ``forget``."
        ),
    )

    def __init__(self, client: KazooClient, path: str, *, name: str, grace: float = 2.0) -> None:
        super().__init__(client, path, grace=grace)
        if not name or "/" in name:
            raise ValueError(f"{name!r} cannot be a site's name: znodes are named after it")
        self._name = name

    def begin(
        self,
        participants: Sequence[str],
        *,
        transaction: str | None = None,
        timeout: float | None = None,
    ) -> str:
        """Begin a transaction as its coordinator; returns its name.

        Args:
            participants: names of the sites that have to vote, with the coordinator's own if it
                votes.
            transaction: the name, never used before; a new unique one if None.
            timeout: seconds; None is for ever.

        Raises:
            InDoubt: it may have begun, or may yet. Call again with the same name, or ``decide``.
            NodeExistsError: another site's transaction has that name.
        """
        transaction = transaction or uuid.uuid4().hex
        node = self._node(transaction)
        parties = Parties(self._name, list(participants))
        data = json.dumps(asdict(parties)).encode()
        with self._call(timeout) as call:

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
        """Show that this site is working on its vote; returns the names of the participants.

        If the site dies before it votes, others see that when its session ends, not only after
        their patience. A site may vote without joining.

        Raises:
            NoTransaction: there is no such transaction.
            InDoubt: no answer in time.
        """
        node = self._node(transaction)
        with self._call(timeout) as call:

            def one() -> list[str]:
                here = f"{node}/{AT_WORK}{self._name}"
                # If it exists it is ours, perhaps of the session before. Then others may take this
                # site for dead too early, which aborts the transaction and does no other harm.
                with suppress(NodeExistsError):
                    call.read(self._client.create_async, here, ephemeral=True)
                return self._told(call, transaction).participants

            participants = self._asked(transaction, call, one)
            if participants is None:
                raise InDoubt(f"{node}: no answer")
            return participants

    def vote(self, transaction: str, ballot: bool, timeout: float | None = None) -> None:
        """Vote. After a yes the site must do what ``decide`` returns.

        Raises:
            VotedAlready: this site's vote is the other one: it has voted so before, or another
                site has aborted in its name.
            NoTransaction: as for ``join``.
            InDoubt: the vote may have been cast, or may be yet. Call again.
        """
        node = f"{self._node(transaction)}/{VOTE}{self._name}"
        mine = _ballot(ballot=ballot, author=self._name)
        with self._call(timeout) as call:

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
        """Wait for the decision, or make it if it falls to this site. All sites get the same one.

        Args:
            transaction: its name.
            timeout: seconds to wait; None is for ever.
            patience: seconds after which a missing vote is cast as a no.

        Returns:
            The decision; None if there was none in time (with a timeout below the patience).

        Raises:
            NoTransaction: as for ``join``.
            InDoubt: the servers did not answer, and this site may have decided.
        """
        with self._call(timeout) as call:
            progress = Progress(transaction, Deadline(patience))

            def one() -> Decision | None:
                return self._round(call, progress)

            found: Decision | None = self._asked(transaction, call, one)
            if found is None and call.unsure:
                raise InDoubt(f"{self._node(transaction)}: no answer, we may have decided")
            return found

    def transactions(self, timeout: float | None = None) -> list[str]:
        """The names of all transactions, decided or not, that have not been forgotten.

        Raises:
            InDoubt: no answer in time.
        """
        with self._call(timeout) as call:

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
        """Remove a transaction that is decided, once every participant has read the decision.

        Raises:
            InDoubt: no answer in time.
        """
        node = self._node(transaction)
        with self._call(timeout) as call:

            def one() -> bool | None:
                try:
                    children = call.read(self._client.get_children_async, node)
                    multi = self._client.transaction()
                    for child in children:
                        multi.delete(f"{node}/{child}")
                    multi.delete(node)
                    call.commit(multi, node)
                except NotEmptyError:
                    return None  # a child was created meanwhile: try again
                except NoNodeError:
                    # A child is gone, or the whole transaction.
                    return True if call.read(self._client.exists_async, node) is None else None
                return True

            if call.rounds(one) is None:
                raise InDoubt(f"{node}: no answer, it may still be there")

    @abstractmethod
    def _stands_by(self, call: RetryingCall, progress: Progress, parties: Parties) -> bool:
        """Whether another site collects the votes; if so, sets a watch on its node."""

    def _create_transaction(
        self,
        call: RetryingCall,
        node: str,
        data: bytes,
        parties: Parties,  # noqa: ARG002 - used by recipes with a node for each site
    ) -> None:
        multi = self._client.transaction()
        multi.create(node, data)
        multi.create(f"{node}/{COORDINATOR}", ephemeral=True)
        call.commit(multi, node)

    def _round(self, call: RetryingCall, progress: Progress) -> Decision | None:
        """Read the votes, and decide if that is possible; else wait for an event."""
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
        """Create the decision; None if the decision, or the missing vote, exists already."""
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
        """The decision; None if there is none, and then sets a watch if ``watch`` says so."""
        node = self._decision_node(transaction)
        if watch and call.read(self._client.exists_async, node, call.news) is None:
            return None
        return _DECISIONS.get(call.read(self._client.get_async, node)[0])

    def _read_vote(self, call: RetryingCall, transaction: str, site: str) -> tuple[bool, str]:
        """A vote that exists, and the name of the site that cast it."""
        node = f"{self._node(transaction)}/{VOTE}{site}"
        return read_ballot(call.read(self._client.get_async, node)[0])

    def _told(self, call: RetryingCall, transaction: str) -> Parties:
        """The parties, as the transaction's node says."""
        data = call.read(self._client.get_async, self._node(transaction))[0]
        return Parties(**json.loads(data))

    def _asked(
        self, transaction: str, call: RetryingCall, one: Callable[[], Found | None]
    ) -> Found | None:
        """The call's rounds.

        Raises:
            NoTransaction: there is no such transaction.
        """
        node = self._node(transaction)

        def checked() -> Found | None:
            try:
                return one()
            except NoNodeError as error:
                # Or the server lags: a new session may see less than the one before.
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
    """Every participant watches all votes, and the first one that has read all of them decides.

    It takes one round trip less than with a coordinator that collects the votes, but each vote
    wakes all participants: n squared messages.
    """

    def _stands_by(self, call: RetryingCall, progress: Progress, parties: Parties) -> bool:  # noqa: ARG002 - the base's
        return False


class CoordinatedCommit(TwoPhaseCommit):
    """The coordinator collects the votes; the others watch the decision and the coordinator.

    Each vote wakes one site, the decision wakes all. When the coordinator's session ends, or a
    participant's patience is over, that participant collects the votes.
    """

    def _stands_by(self, call: RetryingCall, progress: Progress, parties: Parties) -> bool:
        if parties.coordinator == self._name or progress.patience.passed:
            return False
        node = f"{self._node(progress.transaction)}/{COORDINATOR}"
        return call.read(self._client.exists_async, node, call.news) is not None


def read_ballot(data: bytes) -> tuple[bool, str]:
    """Whether a vote is a yes, and the name of the site that cast it, from its node's data."""
    told = json.loads(data)
    return told["ballot"] == "yes", told["author"]


def _ballot(*, ballot: bool, author: str) -> bytes:
    return json.dumps({"ballot": "yes" if ballot else "no", "author": author}).encode()
