"""Double barriers: N clients go in together and out together, round after round.

``enter`` {value, parties} -> {session}: returns once ``parties`` clients have come, all of them
where that is not given; ``leave`` -> {session}: returns once those have left. ``stay`` {patience}:
a client without its connection stays inside until it has it again or the recipe says that it is
out. The recipe's call has no timeout in an enter with the value ``endless``: the client abandons
the call after ``timeout`` seconds. The call goes on, and the client's next enter waits for it.
``drain`` {patience}: leave, if an abandoned call got in.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import msgspec

from rumpus.checker.every_run.timeouts import TIMED_OUT, check_timeouts
from rumpus.checker.every_run.waiters import check_waiters
from rumpus.checker.exclusion.disconnection import check_disconnection
from rumpus.checker.exclusion.entitlement import check_entitlement
from rumpus.checker.exclusion.mutual_exclusion import check_lateness
from rumpus.checker.families.barrier_rounds import (
    check_barrier_rounds,
    check_rounds_by_model,
    count_rounds,
)
from rumpus.checker.history import session_hex
from rumpus.checker.timeline.holds import Words
from rumpus.checker.timeline.timeline import Place, Timeline
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.patient_call import PatientCall, StillRunning
from rumpus.harness.generators.generator import SECOND
from rumpus.harness.generators.script import Client, Draws, ScriptFunction, Steps, once
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.curator.catalogue import CURATOR_DOUBLE_BARRIERS
from rumpus.recipes.double_barrier.catalogue import DOUBLE_BARRIERS
from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier, NotInside
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.workloads.framework.checks import at_least
from rumpus.workloads.framework.operation import Failed, Unknown, operation
from rumpus.workloads.framework.workload import FINAL_BOUND_S, Workload
from rumpus.workloads.own.own_barriers import OwnDoubleBarrier

PATIENCE_S = 1.5
"""How long calls may take: less than most faults, so that some come back while one lasts."""

DRAIN_S = 5.0
"""How long clients that are still inside may take to leave before the last round."""

GRACE_S = 0.5
"""By how much a recipe may run over its timeouts."""

LINGER_S = 9.0
"""How long a member without its connection stays, for the recipe to say that it is out.

Longer than its session lives, and than it may then go on believing that it is inside
(``checker.exclusion.mutual_exclusion``).
"""

OVERDUE_S = 3.0
"""By how much a call may run over its timeout before its client gives it up."""

FEWEST_PARTIES = 2
"""Of one party there is nothing to wait for."""

LAST_STAYS = 8
"""How many stays in the last rounds there are for each party, where more clients than parties are
there: whether a member is let out while the next round is on is a race."""

ALL_IN = 4
"""In one run of so many all clients are parties."""

COMES_LATE = 4
"""One time in so many the last to come waits until the call of another times out, ..."""

LATE_S = -0.003, 0.001
"""... and so long after it calls: who gives up looks once more, and who comes looks before it opens
the round; ..."""

WAITS_S = 0.3
"""... if that will be so soon, ..."""

QUIET_S = 0.02
"""... and nobody else comes until so long after it."""

LAST_STAY_S = 0.005, 0.02
"""How long members stay in the last rounds: long enough that all of a round are inside at once."""

LOOKS_EACH_S = 0.02
"""How often a member looks whether others wait to be let out."""

HELPS_S = 1.0
"""How long a client that has passed waits for others that have not, before it looks again."""

Endless = Literal["endless"] | None
Parties = Annotated[int, msgspec.Meta(ge=1)]


def takes_more_clients(recipe: Any) -> bool:
    """Whether a recipe's class says that more clients than parties may use it."""
    return bool(getattr(recipe, "more_clients", False))


class Member(TypedDict):
    """In which session a client is a member; histories of others may lack it."""

    session: NotRequired[str | None]


@dataclass
class Party:
    """A client's barrier, and its calls (enter, leave), which go on when it abandons them.

    Attributes:
        made: makes the barrier, for so many parties.
        context: the client's.
        barrier: the barrier, since the first ``enter``: that one says how many parties there are.
        calls: the calls that go on.
    """

    made: Callable[[int], DoubleBarrier]
    context: ClientContext
    barrier: DoubleBarrier | None = None
    calls: dict[str, PatientCall[bool]] = field(default_factory=dict)

    @property
    def inside(self) -> bool:
        """Whether the recipe says that we are inside."""
        return self.barrier is not None and self.barrier.inside

    def member(self) -> Member:
        """The session in which the recipe says that we are inside, if any."""
        session = None if self.barrier is None else self.barrier.session
        return {"session": None if session is None else session_hex(session)}

    def enters(self, parties: int, timeout: float | None) -> None:
        """Begin to enter."""
        barrier = self.barrier = self.barrier or self.made(parties)
        self.calls["enter"] = PatientCall(lambda: barrier.enter(timeout))

    def leaves(self, timeout: float) -> None:
        """Begin to leave.

        Raises:
            NotInside: this client's process never entered.
        """
        barrier = self.barrier
        if barrier is None:
            raise NotInside("not entered")
        self.calls["leave"] = PatientCall(lambda: barrier.leave(timeout))

    def result(self, f: str, patience: float) -> bool:
        """The result of the call that runs; after ``StillRunning`` this can be asked again."""
        call = self.calls.pop(f)
        try:
            return call.result(patience)
        except StillRunning:
            self.calls[f] = call
            raise


class Stay(NamedTuple):
    """From when to when a client was certainly a member: let in, and called ``leave``."""

    let_in: int
    leaves: int

    def shared_a_round(self, other: "Stay") -> bool:
        """Whether both were members at one moment."""
        return self.let_in < other.leaves and other.let_in < self.leaves


@dataclass
class Known:
    """What the clients know of each other.

    Attributes:
        ends: client -> when the ``enter`` that it has called times out; 0 if it does not.
        quiet: until when nobody may come, as somebody means to be the last.
        leaving: client -> its stay, while its ``leave`` has not returned; this and what follows
            is known in the last rounds only.
        left: the stays of those that have left, with when they were told so.
        asked: the clients that were let in and have called ``leave``, however that ended.
    """

    ends: dict[int, int] = field(default_factory=dict)
    quiet: int = 0
    leaving: dict[int, Stay] = field(default_factory=dict)
    left: list[tuple[Stay, int]] = field(default_factory=list)
    asked: set[int] = field(default_factory=set)

    def is_over(self, clients: int, parties: int) -> bool:
        """Whether all have come in and asked to be let out, and there were rounds enough."""
        enough = LAST_STAYS * parties if parties < clients else 0
        return len(self.asked) == clients and len(self.left) >= enough

    def waits_of_others(self, called: int, let_in: int) -> bool:
        """Whether a member of an earlier round still waits to be let out, for certain.

        It was let in before we called ``enter``, or was in a round with somebody who had left
        before we were let in.

        Args:
            called: when our ``enter`` was called; 0 if an earlier call may have gone on.
            let_in: when it returned.
        """
        before = [stay for stay, told in self.left if told < let_in]
        return any(
            stay.let_in < called or any(map(stay.shared_a_round, before))
            for stay in self.leaving.values()
        )


class DoubleBarrierWorkload(Workload):
    """Clients go into a barrier together and out together, round after round."""

    name = "double-barrier"
    catalogue = DOUBLE_BARRIERS
    elsewhere = CURATOR_DOUBLE_BARRIERS
    adapter = OwnDoubleBarrier
    of_kazoo = ("kazoo.recipe.barrier:DoubleBarrier",)
    model = "double-barrier"
    main = "enter"
    holding = Words(acquire="enter", work="stay", release="leave", thing="barrier", counted=False)
    requests = ("write", "read")

    def open(self, recipe: type[DoubleBarrier], context: ClientContext) -> Party:
        """What the client's barrier is made with."""
        return Party(lambda n: recipe(context.kazoo, self.path, n, grace=GRACE_S), context)

    def least_clients(self, recipe: Any) -> int:
        """One more than the fewest parties, if the recipe takes more clients than parties."""
        return FEWEST_PARTIES + takes_more_clients(recipe)

    @staticmethod
    def parties(context: WorkloadContext) -> int | None:
        """How many are in each round of a run: all clients in a part of the runs, else fewer.

        None if the recipe takes no other number than that of the clients.
        """
        if not takes_more_clients(context.recipe):
            return None
        draws = Draws(context.seed.child("parties"))
        fewer = range(FEWEST_PARTIES, context.clients)
        every = not fewer or draws.one_in(ALL_IN)
        return context.clients if every else draws.choose(fewer)

    def believes(self, opened: Party) -> bool:
        """Whether the recipe says that we are inside."""
        return opened.inside

    @operation()
    def enter(
        self,
        party: Party,
        timeout: float,
        value: Endless = None,
        parties: Parties | None = None,
    ) -> Member | None:
        """Go in once ``parties`` have come; if there is an abandoned call, wait for that one."""
        if "leave" in party.calls:
            began = time.monotonic()
            try:
                with suppress(NotDone, OutcomeUnknown):
                    party.result("leave", timeout)
            except StillRunning:
                raise Failed("an earlier leave has not returned yet") from None
            timeout = max(0.0, timeout - (time.monotonic() - began))
        earlier = "enter" in party.calls  # it may be endless, and is of unknown outcome
        if not earlier:
            party.enters(parties or self.clients, None if value else timeout)
        if not party.result("enter", timeout if value or earlier else timeout + OVERDUE_S):
            raise Failed("an earlier call timed out" if earlier else TIMED_OUT)
        if earlier and not party.inside:
            party.leaves(timeout)
            raise Unknown("was let in, but the connection has been lost since")
        return party.member()

    @operation()
    def stay(self, party: Party, patience: float) -> None:
        """Stay while the connection is lost and the recipe says that we are inside all the same."""
        end, session, context = time.monotonic() + patience, party.member(), party.context
        while party.inside and time.monotonic() < end:
            if context.kazoo.connected and context.session() == session.get("session"):
                return
            time.sleep(0.1)

    @operation(timeout=PATIENCE_S)
    def leave(self, party: Party, timeout: float) -> Member | None:
        """Leave, and wait until all have left."""
        told = party.member()
        party.leaves(timeout)
        if not party.result("leave", timeout + OVERDUE_S):
            raise Unknown("has left, but others have not yet")
        return told

    @operation()
    def drain(self, party: Party, patience: float) -> None:
        """Leave, if an abandoned enter got in; and wait for an abandoned leave."""
        with suppress(StillRunning, NotDone, OutcomeUnknown):
            if "enter" in party.calls and party.result("enter", patience):
                party.leaves(patience)
            if "leave" in party.calls:
                party.result("leave", patience + OVERDUE_S)

    def load(self, client: Client) -> Steps:
        """Enter, stay a little, leave; clients that are inside when the time is up leave at once.

        One enter in eight has a short timeout, one in four is endless. One stay in 25 is long, so
        that meanwhile others die inside and their sessions end. Where some wait for others' rounds,
        half of the stays and rests are very short, or there would be few rounds. Some come just
        when another is about to give up.
        """
        more, ends = self._told(client), client.shared.ends
        ends.pop(client.number, None)
        brisk = more.get("parties", client.clients) < client.clients
        while not client.is_over:
            dice = client.draws.below(8)
            timeout = round(client.draws.uniform(*(0.02, 0.32) if dice == 0 else (0.5, 1.5)), 3)
            if more:
                yield from self._until_one_gives_up(client, more["parties"])
                if client.is_over:
                    return
                ends[client.number] = 0 if dice > 5 else client.after(timeout)
            came = yield self.enter(timeout=timeout, value="endless" if dice > 5 else None, **more)
            ends.pop(client.number, None)
            if came.type == "ok":
                stay = (1.5, 4.5) if client.draws.one_in(25) else (0.0, 0.2)
                if brisk and client.draws.one_in(2):
                    stay = (0.0, 0.02)
                yield client.rest(*stay, end=client.context.until)
                yield self.stay(patience=LINGER_S)
                yield self.leave()
            yield client.rest(0.0, 0.02 if brisk and client.draws.one_in(2) else 0.2)

    @staticmethod
    def _until_one_gives_up(client: Client, parties: int) -> Steps:
        """Wait, now and then, until the call of another client times out, if we are the last.

        Then we open the round while one of its members goes. Who comes meanwhile waits, too.
        """
        known = client.shared
        if client.time < known.quiet:
            yield client.rest((known.quiet - client.time) / SECOND)
        elif len(known.ends) == parties - 1 and client.draws.one_in(COMES_LATE):
            latest = client.after(WAITS_S)
            ends = [end for end in known.ends.values() if client.time < end < latest]
            late = client.draws.uniform(*LATE_S)
            if ends:
                known.quiet = min(ends) + round(QUIET_S * SECOND)
                yield client.rest(max(0.0, (min(ends) - client.time) / SECOND + late))

    def final(self) -> Sequence[ScriptFunction]:
        """Clients that are still inside leave; then all enter and leave once more.

        Those that have passed enter again until all have: the last ones may be too few.
        """
        return once(self.drain(patience=DRAIN_S)), self._last_rounds

    def shared(self) -> Known:
        """What the clients know of each other."""
        return Known()

    def _told(self, client: Client) -> dict[str, int]:
        """What an ``enter`` says of the parties."""
        parties = self.parties(client.context)
        return {} if parties is None else {"parties": parties}

    def _last_rounds(self, client: Client) -> Steps:
        rounds, number, more = client.shared, client.number, self._told(client)
        parties, end = more.get("parties", client.clients), client.after(FINAL_BOUND_S)
        goes_on = True
        while client.time < end and not rounds.is_over(client.clients, parties):
            called, left = client.time, client.seconds_to(end)
            passed = number in rounds.asked
            came = yield self.enter(timeout=min(HELPS_S, left) if passed else left, **more)
            if came.type == "ok":
                if parties < client.clients:
                    yield from self._lets_out(client, 0 if goes_on else called, came.time)
                goes_on = False
                stay = rounds.leaving[number] = Stay(came.time, client.time)
                came = yield self.leave(timeout=FINAL_BOUND_S)
                del rounds.leaving[number]
                rounds.asked.add(number)
                if came.type != "ok" or parties == client.clients:
                    return
                rounds.left.append((stay, came.time))
            goes_on = goes_on or came.type == "info"

    def _lets_out(self, client: Client, called: int, let_in: int) -> Steps:
        """Stay inside while members of an earlier round wait to be let out.

        The next round has nothing to do with them, so they are let out at once: or never, if they
        wait for us. We wait longer than their calls may take.
        """
        yield client.rest(*LAST_STAY_S)
        end = client.after(FINAL_BOUND_S + OVERDUE_S)
        while client.time < end and client.shared.waits_of_others(called, let_in):
            yield client.rest(LOOKS_EACH_S)

    checks = (
        check_barrier_rounds,
        check_rounds_by_model,
        check_lateness,
        check_entitlement,
        check_disconnection,
        partial(check_timeouts, grace=GRACE_S),
        partial(check_waiters, functions=["enter", "leave"], each={"leave": FINAL_BOUND_S}),
    )
    needs = (at_least(5, count_rounds, "rounds that were passed"),)

    def lay_out(self, timeline: Timeline) -> Timeline:
        """A run's timeline; every znode below the barrier is a member's."""
        return replace(super().lay_out(timeline), line=Place("pool", timeline.path))


DOUBLE_BARRIER = DoubleBarrierWorkload()
