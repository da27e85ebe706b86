"""A double barrier: no member enters before N have come, and none leaves before all have left.

The published recipe ("ZooKeeper Recipes and Solutions, Double Barriers") creates a node ``ready``
once the barrier has enough children. It says nothing of a second round, nor of members that die.
Here the barrier's own data takes the place of ``ready``. It is **the roll**: the number of the
latest round and the names of its members.

**Entering.** Each client creates an ephemeral node under a unique name, reads the roll, and lists
the nodes. Once none of the roll's members is left and N others wait, a client opens the next round
by one transaction: it writes the new roll on condition that the roll is still the one that was
read, *and* that all N nodes exist. So each round opens once, with N members that were all alive at
that moment; others wait for the next round. A client whose name is on the roll has entered. Of the
nodes that exist, the one that was created last is in a list with all the others: so at least one
client sees that N have come, and the others need only a watch on the roll.

**Leaving.** Each member removes its node, and waits until none of the roll's members is left,
watching one of them. When a member's session ends, its node is removed: members that have died
block nobody. Names are used once, so a member that is missing in a list has left for good, however
stale the list.

**Sessions that were lost.** A leader that is about to be deposed may tell a client that its session
has expired, although the ensemble never decides so: the node stays until the next leader expires
the session, too. So a client whose session was lost removes its old node in its next session before
it creates a new one. Otherwise it would count twice.

**Giving up.** A client that gives up entering removes its node on condition that the roll is still
the one that was read, in one transaction. Otherwise it may be on the new roll, and reads again. So
when ``enter`` returns False, this client has counted for no round.
"""

import json
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, ConnectionClosedError, NodeExistsError, NoNodeError

from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.promises import HOLDING, Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.retrying_recipe import RetryingRecipe


class NotInside(NotDone):
    """The client is not a member: it never entered, or its session has ended inside.

    In the latter case the others may have left already.
    """


@dataclass(frozen=True)
class Roll:
    """The latest round: its number (0 before the first), its members, the node's version."""

    number: int
    members: frozenset[str]
    version: int


class Stay:
    """A client's membership of one round in one session, from before its node is created.

    ``call`` makes its requests. ``before`` is the number of the latest round before its node was
    created, ``round`` that of its own round. ``gone`` is set once its node is known to be removed.
    """

    def __init__(self, call: RetryingCall) -> None:
        self.call = call
        self.gone = threading.Event()
        self.begin()

    def begin(self, before: int | None = None) -> None:
        """Begin in the call's present session, under a new unique name."""
        self.session = self.call.session
        self.session_id: int | None = None
        self.name = uuid.uuid4().hex
        self.before = before
        self.tried = self.created = False
        self.round = 0

    @property
    def lost(self) -> bool:
        """Whether its session is known to have ended."""
        return self.session.lost or self.session is not self.call.session

    def strike(self) -> None:
        """Note that nothing of it is left on the server."""
        self.session.close()
        self.call.session.close()
        self.gone.set()


class DoubleBarrier(RetryingRecipe):
    """A double barrier for ``parties`` members at ``path``, round after round. See the module.

    One thread at a time may use it.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode of the barrier; created as needed.
        parties: N, the number of members of each round.
        grace: seconds by which a call may exceed its timeout: half of them to await late answers,
            half to remove the client's own node.

    Raises:
        ValueError: ``path`` is not an absolute znode path, or ``parties`` is below 1.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=HOLDING
        | {"early-entry", "early-exit", "false-exit", "unaware-holder", "disconnected-belief"}
        | {"stuck-waiter"},
        notes=(
            "Members are sessions: a member whose session ends has left, even if its client is "
            "only paused or cut off. The others go on without it, and its client is told when it "
            "calls leave. All N members are alive when their round opens; some may have died "
            "before the last one enters. A client that comes while a round is open waits for the "
            "next."
        ),
    )

    more_clients: ClassVar[bool] = True
    """Whether more clients than ``parties`` may use it: those who find no room wait for a round."""

    def __init__(self, client: KazooClient, path: str, parties: int, *, grace: float = 2.0) -> None:
        super().__init__(client, path, grace=grace)
        if parties < 1:
            raise ValueError(f"a double barrier needs at least one member, not {parties}")
        self._parties = parties
        self._stay: Stay | None = None
        self._removing: list[Stay] = []

    @property
    def inside(self) -> bool:
        """Whether we may rely, right now, on being a member that has entered."""
        stay = self._stay
        return stay is not None and not stay.gone.is_set() and stay.session.reliable

    @property
    def session(self) -> int | None:
        """Session id (signed 64 bits) of the membership; None without one."""
        return None if self._stay is None else self._stay.session_id

    def enter(self, timeout: float | None = None) -> bool:
        """Wait until N have come, for ever or for ``timeout`` seconds (plus ``grace``).

        Returns:
            True: entered. False: timed out, and this call has counted for no round.

        Raises:
            OutcomeUnknown: timed out, or the session was lost, and a round may have opened with
                this client as a member. Its node is being removed; it may enter again.
            ValueError: it has entered already.
        """
        deadline = Deadline(timeout)
        if not self._settled(deadline):
            return False
        stay = Stay(self._call_class(self._client, deadline.left(), self._grace / 2))
        try:
            inside = stay.call.rounds(lambda: self._come(stay) or None) or self._give_up(stay)
        except BaseException:
            self._remove_in_background(stay)
            raise
        if inside:
            self._stay = stay
        else:
            stay.strike()
        return inside

    def leave(self, timeout: float | None = None) -> bool:
        """Leave, and wait until all have left, for ever or ``timeout`` seconds (plus ``grace``).

        Returns:
            True: all have left. False: we have left, but not all others; call again to go on
            waiting for them.

        Raises:
            NotInside: not a member: never entered, the session has ended, or somebody removed
                the node.
            OutcomeUnknown: no answer in time; our node is being removed.
        """
        stay = self._stay
        if stay is None:
            raise NotInside(f"{self._path}: not entered")
        deadline = Deadline(timeout, allowance=self._grace)
        if not stay.gone.is_set():
            stay.call.deadline = deadline
            self._go(stay)
        with self._call(deadline.left()) as call:
            left = call.rounds(lambda: self._await_others(stay, call) or None)
        if left:
            self._stay = None
        return bool(left)

    def _settled(self, deadline: Deadline) -> bool:
        """Wait until no earlier node of ours is left, as it would count twice; whether none is."""
        stay = self._stay
        if stay is not None:
            if not stay.gone.is_set():
                if not stay.lost:
                    raise ValueError(f"{self._path}: inside already; leave first")
                self._remove_in_background(stay)
            self._stay = None
        return all(each.gone.wait(deadline.left()) for each in list(self._removing))

    def _come(self, stay: Stay) -> bool:
        """Read, act, and wait for events, until we have entered or the time is over.

        Raises:
            OutcomeUnknown: the session was lost, and we may have been a member.
            SessionExpiredError, Unanswered, ZookeeperError: as ``Session.ask``.
        """
        call = stay.call
        if stay.lost:
            self._begin_again(stay)
        if stay.before is None:
            stay.before = self._roll(call).number
        while True:
            if not stay.created:
                self._create(stay)
            call.session.wake.clear()
            roll = self._roll(call, watch=True)
            if self._is_in(stay, roll):
                return self._let_in(stay, roll)
            names = self._names(call)
            there, waiting = sorted(names & roll.members), sorted(names - roll.members)
            if stay.name not in names:
                stay.created = False  # somebody else has removed it
            elif self._have_come(len(waiting), roll) and not there:
                self._open(roll, waiting[: self._parties], call)
            elif call.deadline.passed:
                return False
            elif not self._have_come(len(waiting), roll) or self._is_there(there[0], call):
                call.wait()

    def _is_in(self, stay: Stay, roll: Roll) -> bool:
        return stay.name in roll.members

    def _have_come(self, waiting: int, roll: Roll) -> bool:  # noqa: ARG002 - mutants use it
        return waiting >= self._parties

    def _all_gone(self, there: list[str], roll: Roll, stay: Stay) -> bool:
        return not there or roll.number != stay.round  # a later round opens only after that

    def _begin_again(self, stay: Stay) -> None:
        """Begin again in the next session, if the lost one was a member of no round.

        The delete is a write, so the read after its answer is not stale.

        Raises:
            OutcomeUnknown: a round has opened meanwhile.
        """
        call = stay.call
        with suppress(NoNodeError):
            call.write(self._client.delete_async, self._node(stay.name))
        number = self._roll(call).number
        if stay.tried and stay.before != number:
            raise OutcomeUnknown(
                f"{self._path}: the session was lost on the way in; others may be in with us"
            )
        stay.begin(number)

    def _create(self, stay: Stay) -> None:
        stay.tried = True
        with suppress(NodeExistsError):  # an earlier try has created it
            stay.call.write(self._client.create_async, self._node(stay.name), ephemeral=True)
        stay.created = True

    def _open(self, roll: Roll, members: list[str], call: RetryingCall) -> None:
        """Open the next round, unless another client has, or a member is gone."""
        document = {"round": roll.number + 1, "members": members}
        transaction = self._client.transaction()
        for member in self._checked(members):
            transaction.check(self._node(member), -1)
        transaction.set_data(self._path, json.dumps(document).encode(), self._expected(roll))
        with suppress(BadVersionError, NoNodeError):
            call.commit(transaction, self._path)

    def _checked(self, members: list[str]) -> list[str]:
        return members

    def _expected(self, roll: Roll) -> int:
        return roll.version

    @staticmethod
    def _let_in(stay: Stay, roll: Roll) -> bool:
        """Note the round that we are in; False while there is no connection."""
        stay.round, stay.session_id = roll.number, stay.session.id
        return stay.session_id is not None

    def _give_up(self, stay: Stay) -> bool:
        """Stop entering; True if we turn out to be a member.

        Raises:
            OutcomeUnknown: no answer in time.
        """
        stay.call.deadline = Deadline(self._grace / 2)
        told = stay.call.rounds(lambda: self._withdraw(stay))
        if told is None:
            raise OutcomeUnknown(f"{self._path}: no answer in time, others may be in with us")
        return told == "inside"

    def _withdraw(self, stay: Stay) -> Literal["inside", "outside"] | None:
        call = stay.call
        if not stay.tried:
            return "outside"
        if stay.lost:
            self._begin_again(stay)
            return "outside"
        roll = self._roll(call)
        if self._is_in(stay, roll):
            return "inside" if self._let_in(stay, roll) else None
        transaction = self._client.transaction()
        transaction.check(self._path, roll.version)
        transaction.delete(self._node(stay.name))
        try:
            call.commit(transaction, self._path)
        except BadVersionError:
            return None
        except NoNodeError:
            return "outside"  # an earlier try has removed it, or it was never created
        return "outside"

    def _go(self, stay: Stay) -> None:
        """Remove our node in its own session.

        Raises:
            NotInside: the session has ended, or somebody else has removed the node.
            OutcomeUnknown: no answer in time.
        """
        try:
            gone = stay.call.rounds(lambda: self._remove(stay))
        except NotInside:
            self._stay = None
            self._remove_in_background(stay)
            raise
        if gone is None:
            self._stay = None
            self._remove_in_background(stay)
            raise OutcomeUnknown(f"{self._path}: no answer in time, we may be inside still")
        stay.strike()

    def _remove(self, stay: Stay) -> bool:
        if stay.lost:
            raise NotInside(f"{self._path}: our session has ended; others may have left already")
        try:
            stay.call.write(self._client.delete_async, self._node(stay.name))
        except NoNodeError:
            if not stay.call.unsure:
                raise NotInside(f"{self._path}: our node was removed by somebody else") from None
        return True

    def _remove_in_background(self, stay: Stay) -> None:
        """Go on removing the node, in any session, until that is confirmed."""

        def remove() -> bool:
            with suppress(NoNodeError):
                stay.call.write(self._client.delete_async, self._node(stay.name))
            return True

        def go_on() -> None:
            stay.call.deadline = Deadline(None)
            try:
                with suppress(ConnectionClosedError):  # the session ends with its client
                    stay.call.rounds(remove)
            finally:
                stay.strike()
                self._removing.remove(stay)

        self._removing.append(stay)
        self._client.handler.spawn(go_on)

    def _await_others(self, stay: Stay, call: RetryingCall) -> bool:
        """Wait until no member of the round is left; False when the time is over."""
        call.settle(self._node(uuid.uuid4().hex))
        while True:
            call.session.wake.clear()
            roll = self._roll(call)
            there = sorted(self._names(call) & roll.members)
            if self._all_gone(there, roll, stay):
                return True
            if call.deadline.passed:
                return False
            if self._is_there(there[-1], call):
                call.wait()

    def _node(self, name: str) -> str:
        return f"{self._path}/{name}"

    def _roll(self, call: RetryingCall, *, watch: bool = False) -> Roll:
        news = call.news if watch else None
        try:
            data, stat = call.read(self._client.get_async, self._path, news)
        except NoNodeError:
            call.write(self._client.ensure_path_async, self._path)
            data, stat = call.read(self._client.get_async, self._path, news)
        document: dict[str, Any] = json.loads(data or b'{"round": 0, "members": []}')
        return Roll(document["round"], frozenset(document["members"]), stat.version)

    def _names(self, call: RetryingCall) -> frozenset[str]:
        return frozenset(call.read(self._client.get_children_async, self._path))

    def _is_there(self, name: str, call: RetryingCall) -> bool:
        """Whether a node exists; if so, sets a watch on it."""
        try:
            call.read(self._client.get_async, self._node(name), call.news)
        except NoNodeError:
            return False
        return True
