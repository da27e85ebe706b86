"""Double barriers: all clients go in together and out together, round after round.

``enter`` {value} -> {session}: returns once all clients have come; ``leave`` -> {session}: returns
once all have left. ``stay`` {patience}: a client without its connection stays inside until it has
it again or the recipe says that it is out. The recipe's call has no timeout in an enter with the
value ``endless``: the client abandons the call after ``timeout`` seconds. The call goes on, and the
client's next enter waits for it. ``drain`` {patience}: leave, if an abandoned call got in.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple, NotRequired, TypedDict

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
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, once
from rumpus.recipes.curator.catalogue import CURATOR_DOUBLE_BARRIERS
from rumpus.recipes.double_barrier.catalogue import DOUBLE_BARRIERS
from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier
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

Endless = Literal["endless"] | None


class Member(TypedDict):
    """In which session a client is a member; histories of others may lack it."""

    session: NotRequired[str | None]


class Party(NamedTuple):
    """A client's barrier, and its calls (enter, leave), which go on when it abandons them."""

    barrier: DoubleBarrier
    context: ClientContext
    calls: dict[str, PatientCall[bool]]

    def member(self) -> Member:
        """The session in which the recipe says that we are inside, if any."""
        session = self.barrier.session
        return {"session": None if session is None else session_hex(session)}

    def leaves(self, timeout: float) -> None:
        """Begin to leave."""
        self.calls["leave"] = PatientCall(lambda: self.barrier.leave(timeout))

    def result(self, f: str, patience: float) -> bool:
        """The result of the call that runs; after ``StillRunning`` this can be asked again."""
        call = self.calls.pop(f)
        try:
            return call.result(patience)
        except StillRunning:
            self.calls[f] = call
            raise


class DoubleBarrierWorkload(Workload):
    """All clients go into a barrier together and out together, round after round."""

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
        """The client's barrier, which all clients have to enter."""
        return Party(recipe(context.kazoo, self.path, self.clients, grace=GRACE_S), context, {})

    def believes(self, opened: Party) -> bool:
        """Whether the recipe says that we are inside."""
        return opened.barrier.inside

    @operation()
    def enter(self, party: Party, timeout: float, value: Endless = None) -> Member | None:
        """Go in once all have come; if there is an abandoned call, wait for that one."""
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
            enter = PatientCall(lambda: party.barrier.enter(None if value else timeout))
            party.calls["enter"] = enter
        if not party.result("enter", timeout if value or earlier else timeout + OVERDUE_S):
            raise Failed("an earlier call timed out" if earlier else TIMED_OUT)
        if earlier and not party.barrier.inside:
            party.leaves(timeout)
            raise Unknown("was let in, but the connection has been lost since")
        return party.member()

    @operation()
    def stay(self, party: Party, patience: float) -> None:
        """Stay while the connection is lost and the recipe says that we are inside all the same."""
        end, session, context = time.monotonic() + patience, party.member(), party.context
        while party.barrier.inside and time.monotonic() < end:
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
        that meanwhile others die inside and their sessions end.
        """
        while not client.is_over:
            dice = client.draws.below(8)
            timeout = round(client.draws.uniform(*(0.02, 0.32) if dice == 0 else (0.5, 1.5)), 3)
            came = yield self.enter(timeout=timeout, value="endless" if dice > 5 else None)
            if came.type == "ok":
                stay = (1.5, 4.5) if client.draws.one_in(25) else (0.0, 0.2)
                yield client.rest(*stay, end=client.context.until)
                yield self.stay(patience=LINGER_S)
                yield self.leave()
            yield client.rest(0.0, 0.2)

    def final(self) -> Sequence[ScriptFunction]:
        """Clients that are still inside leave; then all enter and leave once more."""
        return once(self.drain(patience=DRAIN_S)), self._last_round

    def _last_round(self, client: Client) -> Steps:
        end = client.after(FINAL_BOUND_S)
        while client.time < end:
            came = yield self.enter(timeout=client.seconds_to(end))
            if came.type == "ok":
                yield self.leave(timeout=FINAL_BOUND_S)
                return

    checks = (
        check_barrier_rounds,
        check_rounds_by_model,
        check_lateness,
        check_entitlement,
        check_disconnection,
        partial(check_timeouts, grace=GRACE_S),
        partial(check_waiters, functions=["enter", "leave"]),
    )
    needs = (at_least(5, count_rounds, "rounds that were passed"),)

    def lay_out(self, timeline: Timeline) -> Timeline:
        """A run's timeline; every znode below the barrier is a member's."""
        return replace(super().lay_out(timeline), line=Place("pool", timeline.path))


DOUBLE_BARRIER = DoubleBarrierWorkload()
