"""A double barrier: nobody is in before N have come, nobody is out before all have left.

The published recipe ("ZooKeeper Recipes and Solutions, Double Barriers") makes a node ``ready``
when enough children stand under the barrier, and says nothing of the next round, nor of members
that die. Here what ``ready`` said is the barrier's own data, **the roll**: the number of the latest
round, and the names of its members.

**Entering.** Each comer creates an ephemeral node with a name of its own, looks at the roll, and
lists the nodes. Once none of the roll's members is left and N others wait, one request opens the
next round: it writes the new roll if the roll is still the one that was seen, *and* all N nodes
are there. So a round opens once, with N members that were alive together at that moment; others
wait for the next. Who finds itself on the roll is in. The node that was created last among those
that live stands in a list with all of them: so at least one comer knows that N have come, and the
others need no more than a watch on the roll.

**Leaving.** Each removes its node, and waits until none of the roll's members is left, watching
one of them. A member's session that ends takes its node along: the dead hold nobody up. Names are
used once, so who is gone stays gone, however stale the list.

**A session that is over may not be over.** A leader that is about to be deposed tells a client that
its session has expired, and the ensemble never hears of it: the node stays until the next leader
has lost patience too. So a client whose session was lost removes its node in its next one before it
comes again; else it would count twice.

**Giving up.** Who no longer wants to enter removes its node if the roll is still the one that was
seen, in one request; else it may have been let in meanwhile, and looks. So ``enter`` that says no
has opened the barrier for nobody.
"""

import json
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, ConnectionClosedError, NodeExistsError, NoNodeError

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.promises import HOLDING, Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import RetryingCall


class NotInside(NotDone):
    """There was nothing to leave: never entered, or the session has ended inside.

    In the latter case the others may have left already.
    """


@dataclass(frozen=True)
class Roll:
    """The latest round: its number (0: there was none yet), its members, the data's version."""

    number: int
    members: frozenset[str]
    version: int


class Stay:
    """A client's way through one round in one session, from before its node is created.

    ``call`` asks for it; ``before`` is the number of the latest round before its node was
    created, ``round`` that of the round it is in; ``gone`` is set once the node is known to be.
    """

    def __init__(self, call: RetryingCall) -> None:
        self.call = call
        self.gone = threading.Event()
        self.begin()

    def begin(self, before: int | None = None) -> None:
        """Begin in the call's present session, under a name of its own."""
        self.session = self.call.session
        self.session_id: int | None = None
        self.name = uuid.uuid4().hex
        self.before = before
        self.tried = self.created = False
        self.round = 0

    @property
    def lost(self) -> bool:
        """Whether its session is known to have ended, and its node with it."""
        return self.session.lost or self.session is not self.call.session

    def strike(self) -> None:
        """Nothing of it is left on the server."""
        self.session.close()
        self.call.session.close()
        self.gone.set()


class DoubleBarrier(Recipe):
    """A double barrier for ``parties`` members at ``path``, round after round. See the module.

    One thread at a time may use it.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode of the barrier; made as needed.
        parties: how many go in together.
        grace: seconds by which a call may run over its timeout: half of it for answers that are
            on their way, half for taking the own node away.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=HOLDING
        | {"early-entry", "early-exit", "false-exit", "unaware-holder", "stuck-waiter"},
        notes=(
            "Members are sessions: one that ends, even that of a client that is only paused or cut "
            "off, has left, and the others go on without it; its client is told when it leaves. "
            "All N lived at the moment when their round opened; some may have died before the last "
            "has learned of it. Who comes while a round is open waits for the next."
        ),
    )
    _call_class: ClassVar[type[RetryingCall]] = RetryingCall

    def __init__(self, client: KazooClient, path: str, parties: int, *, grace: float = 2.0) -> None:
        if not path.startswith("/") or path.endswith("/"):
            raise ValueError(f"{path!r} is not an absolute znode path such as /barriers/start")
        if parties < 1:
            raise ValueError(f"a double barrier is for at least one, not for {parties}")
        self._client = client
        self._path = path
        self._parties = parties
        self._grace = grace
        self._stay: Stay | None = None
        self._removing: list[Stay] = []

    @property
    def inside(self) -> bool:
        """Whether we may believe, right now, that we are a member that is in."""
        stay = self._stay
        return stay is not None and not stay.gone.is_set() and stay.session.connected

    @property
    def session(self) -> int | None:
        """Session id, as kazoo gives it (signed 64 bits), of the stay; None without one."""
        return None if self._stay is None else self._stay.session_id

    def enter(self, timeout: float | None = None) -> bool:
        """Wait until N have come, for ever or for ``timeout`` seconds (plus ``grace``).

        Returns:
            True: in. False: timed out, and nobody was let in on account of this call.

        Raises:
            OutcomeUnknown: timed out, or the session was lost, and others may have been let in with
                us. Our node is being removed; enter again when you like.
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
        """Leave, and wait until all have left: for ever, or ``timeout`` seconds (plus ``grace``).

        Returns:
            True: all have left. False: we have left, not yet all others; call again to go on
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
        with self._call_class(self._client, deadline.left(), self._grace) as call:
            left = call.rounds(lambda: self._await_others(stay, call) or None)
        if left:
            self._stay = None
        return bool(left)

    def _settled(self, deadline: Deadline) -> bool:
        """Whether nothing is left of earlier stays, for it would be counted beside the new one."""
        stay = self._stay
        if stay is not None:
            if not stay.gone.is_set():
                if not stay.lost:
                    raise ValueError(f"{self._path}: inside already; leave first")
                self._remove_in_background(stay)
            self._stay = None
        return all(each.gone.wait(deadline.left()) for each in list(self._removing))

    def _come(self, stay: Stay) -> bool:
        """Look, do what is to be done, and wait for news, until in or the time is over.

        Raises what ``Session.ask`` does, and OutcomeUnknown.
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
                stay.created = False  # removed by somebody's hand
            elif self._have_come(len(waiting), roll) and not there:
                self._open(roll, waiting[: self._parties], call)
            elif call.deadline.passed:
                return False
            elif not self._have_come(len(waiting), roll) or self._is_there(there[0], call):
                call.wait()

    def _is_in(self, stay: Stay, roll: Roll) -> bool:
        return stay.name in roll.members

    def _have_come(self, waiting: int, roll: Roll) -> bool:  # noqa: ARG002 - for those who differ
        return waiting >= self._parties

    def _all_gone(self, there: list[str], roll: Roll, stay: Stay) -> bool:
        return not there or roll.number != stay.round  # no later round opens before

    def _begin_again(self, stay: Stay) -> None:
        """In the next session, if nobody was let in on account of the one that was lost.

        The answer to the delete says besides that the look that follows is not stale.
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
        with suppress(NodeExistsError):  # ours: an earlier answer was lost
            stay.call.write(self._client.create_async, self._node(stay.name), ephemeral=True)
        stay.created = True

    def _open(self, roll: Roll, members: list[str], call: RetryingCall) -> None:
        """Open the next round, unless somebody has, or one of its members is gone."""
        document = {"round": roll.number + 1, "members": members}
        transaction = self._client.transaction()
        for member in members:
            transaction.check(self._node(member), -1)
        transaction.set_data(self._path, json.dumps(document).encode(), roll.version)
        with suppress(BadVersionError, NoNodeError):
            call.commit(transaction, self._path)

    @staticmethod
    def _let_in(stay: Stay, roll: Roll) -> bool:
        """Whether we may act as a member that is in: not while there is no connection."""
        stay.round, stay.session_id = roll.number, stay.session.id
        return stay.session_id is not None

    def _give_up(self, stay: Stay) -> bool:
        """Withdraw; True if we were let in meanwhile.

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
            return "outside"  # an earlier try has removed it, or it never was
        return "outside"

    def _go(self, stay: Stay) -> None:
        """Remove the own node, in its own session: else it was not we who left."""
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
        """Go on removing the node, in whatever session, until that is confirmed."""

        def remove() -> bool:
            with suppress(NoNodeError):
                stay.call.write(self._client.delete_async, self._node(stay.name))
            return True

        def go_on() -> None:
            stay.call.deadline = Deadline(None)
            try:
                with suppress(ConnectionClosedError):  # the session goes with its client
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
        """Whether a node is there; if so there will be news when it is gone."""
        try:
            call.read(self._client.get_async, self._node(name), call.news)
        except NoNodeError:
            return False
        return True
