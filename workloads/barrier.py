"""Barriers: each keeper sets up and removes one, round after round; the other clients wait at them.

``create`` {key}; ``remove`` {key}; ``wait`` {key, value}: pass once the barrier is not there. The
recipe's call has no timeout in a wait with the value ``endless``: the client abandons the call
after ``timeout`` seconds, and it goes on in the background. ``left-over`` {patience} -> {waiting}:
how many abandoned calls still wait.
"""

from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec

from rumpus.checker.every_run.timeouts import TIMED_OUT, check_timeouts
from rumpus.checker.every_run.waiters import check_waiters
from rumpus.checker.families.held_up_waiters import count_held_up
from rumpus.checker.families.latch_entries import EARLY_ENTRY
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.leftovers import until_nothing_is_left
from rumpus.harness.clients.patient_call import PatientCall, StillRunning
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, once, until_ok
from rumpus.recipes.barrier.catalogue import BARRIERS
from rumpus.recipes.barrier.node_barrier import Barrier
from rumpus.recipes.curator.catalogue import CURATOR_BARRIERS
from rumpus.workloads.framework.checks import at_least, follows
from rumpus.workloads.framework.operation import Failed, operation
from rumpus.workloads.framework.workload import FINAL_BOUND_S, Workload
from rumpus.workloads.own.own_barriers import OwnBarrier

KEEPERS = 2
"""How many barriers there are. Each has one client at a time as its keeper, which sets it up and
removes it."""

SHIFT_NS = 2_000_000_000
"""How long a client keeps a barrier before the next one does.

A server that is behind answers a create of its own client only when it has caught up. So it can
only let in too early those clients whose barrier was set up through another server.
"""

WAIT_S = (0.5, 3.0)
"""The shortest and the longest timeout of a wait that is not short (usage ``patience``: another
longest one)."""

PATIENCE_S = 5.0
"""How long it may take to set a barrier up or to remove it."""

TRIES = 5
"""How often a client tries to set a barrier up, or to remove it, in the final phase."""

OVERDUE_S = 3.0
"""By how much a call may run over its timeout before its client gives it up."""

LEFT_OVER_S = 3.0
"""How long abandoned calls may take to return once the barriers are open for good."""

Key = Annotated[int, msgspec.Meta(ge=0, lt=KEEPERS)]
Endless = Literal["endless"] | None


class LeftOver(TypedDict):
    """How many abandoned calls still wait."""

    waiting: int


class Opened(NamedTuple):
    """A client's barriers, and the calls of ``wait`` that it has abandoned."""

    barriers: list[Barrier]
    left: list[PatientCall[bool]]


class BarrierWorkload(Workload):
    """Some clients set a barrier up and remove it each, all others wait at them."""

    name = "barrier"
    catalogue = BARRIERS
    elsewhere = CURATOR_BARRIERS
    adapter = OwnBarrier
    of_kazoo = ("kazoo.recipe.barrier:Barrier",)
    model = "gate"
    main = "wait"
    requests = ("write", "read")

    def open(self, recipe: type[Barrier], context: ClientContext) -> Opened:
        """A recipe object for each barrier."""
        return Opened([recipe(context.kazoo, f"{self.path}/{key}") for key in range(KEEPERS)], [])

    @operation(timeout=PATIENCE_S, overdue=OVERDUE_S)
    def create(self, opened: Opened, key: Key, timeout: float) -> None:
        """Set a barrier up; it may be there already."""
        opened.barriers[key].create(timeout)

    @operation(timeout=PATIENCE_S, overdue=OVERDUE_S)
    def remove(self, opened: Opened, key: Key, timeout: float) -> None:
        """Open a barrier; it may be open already."""
        opened.barriers[key].remove(timeout)

    @operation(changes=False)
    def wait(self, opened: Opened, key: Key, timeout: float, value: Endless = None) -> None:
        """Pass a barrier once it is open."""
        call = PatientCall(lambda: opened.barriers[key].wait(None if value else timeout))
        try:
            passed = call.result(timeout if value else timeout + OVERDUE_S)
        except StillRunning:
            opened.left.append(call)
            raise Failed("still waiting, left to itself") from None
        if not passed:
            raise Failed(TIMED_OUT)

    @operation(name="left-over", changes=False)
    def left_over(self, opened: Opened, patience: float) -> LeftOver:
        """Give abandoned calls ``patience`` seconds to pass, and count those that still wait."""
        asleep = until_nothing_is_left(
            lambda: [call for call in opened.left if call.running], patience
        )
        return {"waiting": len(asleep)}

    def least_clients(self, recipe: Any) -> int:  # noqa: ARG002 - the same for all
        """The keepers, and one that only waits."""
        return KEEPERS + 1

    def load(self, client: Client) -> Steps:
        """Keep one barrier after the other, a shift each, and then wait at any for a while.

        A keeper leaves its barrier to the next keeper as it is, there or not.
        """
        while not client.is_over:
            shift = client.time // SHIFT_NS
            end = min((shift + 1) * SHIFT_NS, client.context.until)
            key = (client.number - shift) % client.clients
            yield from self._keep(client, key, end) if key < KEEPERS else self._pass(client, end)

    def _keep(self, client: Client, key: int, end: int) -> Steps:
        """Close the barrier, then open it, for a while each; meanwhile wait at the next keeper's.

        One time in five it is closed so long that faults come and go meanwhile. The keepers' waits
        are short. With them there is a waiter at every server, whichever is behind.
        """
        while client.time < end:
            closed = (1.5, 4.0) if client.draws.one_in(5) else (0.1, 0.7)
            for step, rest in ((self.create, closed), (self.remove, (0.05, 0.35))):
                yield step(key=key)
                until = min(client.after(client.draws.uniform(*rest)), end)
                while client.time < until:
                    yield self.wait(key=(key + 1) % KEEPERS, timeout=client.seconds_to(until) / 2)
                    yield client.rest(0.02, 0.12, end=until)
                if client.time >= end:
                    return

    def _pass(self, client: Client, end: int) -> Steps:
        """Wait at any barrier; one wait in six has a short timeout, one in four is endless."""
        longest = max(WAIT_S[0], client.context.usage.patience or WAIT_S[1])
        while client.time < end:
            dice, key = client.draws.below(12), client.draws.below(KEEPERS)
            bounds = (0.02, 0.32) if dice < 2 else (WAIT_S[0], longest)
            timeout = round(client.draws.uniform(*bounds), 3)
            yield self.wait(key=key, timeout=timeout, value="endless" if dice > 8 else None)
            yield client.rest(0.02, 0.12)  # or an open barrier would be passed without end

    def final(self) -> list[ScriptFunction]:
        """All clients wait at barriers; these are opened; all must pass, abandoned calls too."""
        return [self._close, self._pass_once, once(self.left_over(patience=LEFT_OVER_S))]

    def _close(self, client: Client) -> Steps:
        if client.number < KEEPERS:
            yield from until_ok(self.create(key=client.number), TRIES)(client)

    def _pass_once(self, client: Client) -> Steps:
        key = client.number % KEEPERS
        if client.number < KEEPERS:
            yield client.rest(1.0)
            yield from until_ok(self.remove(key=key), TRIES)(client)
        end = client.after(FINAL_BOUND_S)
        while client.time < end:
            came = yield self.wait(key=key, timeout=client.seconds_to(end), value="endless")
            if came.type == "ok":
                return

    checks = (
        follows("gate", EARLY_ENTRY),
        check_timeouts,
        partial(check_waiters, functions=["wait"], opened="remove", left_over="left-over"),
    )
    needs = (at_least(10, count_held_up, "waiters that were held up and passed"),)


BARRIER = BarrierWorkload()
