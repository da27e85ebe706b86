"""Clients that contend for one thing: their load, their final phase, and their judgement.

Shared by locks, semaphores and elections, which differ mostly in the names of their operations.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from rumpus.checker.check import Check
from rumpus.checker.every_run.liveness import check_liveness
from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.exclusion.answers import UNHELD_RELEASE, check_answers
from rumpus.checker.exclusion.disconnection import check_disconnection
from rumpus.checker.exclusion.entitlement import check_entitlement
from rumpus.checker.exclusion.grants import check_grants_told, check_order, check_tokens
from rumpus.checker.exclusion.herd import check_herd
from rumpus.checker.exclusion.mutual_exclusion import TOLERANCE_NS, check_exclusion
from rumpus.checker.exclusion.overdue import check_overdue
from rumpus.checker.exclusion.trespass import check_trespass
from rumpus.checker.families.censuses import check_censuses
from rumpus.checker.history import Op
from rumpus.checker.timeline.holds import Words
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.leftovers import Leftovers, until_nothing_is_left
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import (
    Answered,
    Client,
    ScriptFunction,
    Steps,
    once,
    only,
    until_ok,
)
from rumpus.recipes.servers import ZOOKEEPER
from rumpus.workloads.contests.contender import Census, Contender, Grant, Trespass, Work
from rumpus.workloads.framework.checks import Need, accepted_actions, stats_of
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.framework.workload import FINAL_BOUND_S, Workload
from rumpus.workloads.own.cancelled_attempt import CancelledWay

LONG_PATIENCE_S: Final = 5.0
"""How many seconds most attempts to acquire wait."""

REENTRY_PATIENCE_S: Final = 1.0
"""How long a holder waits that acquires again: nobody else needs to release first."""

SHORT_PATIENCE_S: Final = 0.2
"""How long attempts wait in the last part of the final phase, while others hold it."""

HELD_S: Final = 4.0
"""How long those others hold it: longer than an attempt may last, overrun included."""

HELD_PAUSE_S: Final = 0.1

PART_PAUSE_S: Final = 0.05
PART_ACTS: Final = 5
"""How many actions each ``work`` operation in a long hold has: few, so that some end in each fault.
Between them are ``PART_PAUSE_S`` seconds."""

PART_S: Final = (PART_ACTS - 1) * PART_PAUSE_S

STAY_S: Final = 10.0
"""How long a client goes on acting whose links are cut: beyond its session's expiry and the time
that it may take to notice that, even where ``CUT_OFF_NS`` is allowed."""

CUT_OFF_NS: Final = 5_000_000_000
"""How long after its session's end a client may believe that it holds, where holds last seconds.

A follower that is cut off from its leader still answers its clients' heartbeats until its
``syncLimit`` is over. Meanwhile the leader expires their sessions. So a client that counts the time
since its last answered heartbeat cannot notice before the follower gives up.
"""


class ContentionWorkload(Workload):
    """Clients acquire one thing, act while they hold it, and release it.

    Attributes:
        contender: the class of the client's side.
        permits: how many clients may hold it at the same time.
        modes: the modes in which it can be acquired (``read``, ``write``), each as often as
            attempts are to draw it; empty where there is only one.
        one_long_in: one hold in so many lasts up to ``longest_hold`` seconds.
        nobody: the anomaly that is reported if no client can acquire it in the final phase.
        by_thread: whether what is re-entrant is so by thread, so that the threads of one client
            exclude each other, too.
        prompt: whether a client that has come to own it by the servers' logs must be granted it
            soon.
        decider: the model by which all holds are checked once more if no other check finds an
            anomaly; empty where a hold may end while its session lives and its client believes
            that it holds.
        fenced_decider: the same for recipes whose grants have tokens, if it is another model.
        tolerance: nanoseconds that a client may take to notice that its session has ended.
    """

    main = "acquire"
    holding = Words()
    contended = True
    exchangeable = True
    cleanup: ClassVar = {"acquire": "release"}
    timed_actions = True
    expired = "expiries while holding"
    contender: ClassVar[type[Contender]] = Contender
    permits: ClassVar[int] = 1
    modes: ClassVar[Sequence[str]] = ()
    one_long_in: ClassVar[int] = 60
    nobody: ClassVar[str] = "deadlock"
    by_thread: ClassVar[bool] = False
    prompt: ClassVar[bool] = False
    tolerance: ClassVar[int] = TOLERANCE_NS
    decider: ClassVar[str] = ""
    fenced_decider: ClassVar[str] = ""
    needs: ClassVar[Sequence[Need]] = (accepted_actions,)

    def open(self, recipe: Any, context: ClientContext) -> Contender:
        """One recipe object."""
        lock = recipe(context.reached, self.path, name=context.name)
        return self.contender(context, lock, recipe.line(self.path))

    def close(self, opened: Contender) -> None:
        """End the session of a recipe that has its own."""
        opened.close()

    def believes(self, opened: Contender) -> bool | float:
        """Whether the recipe says that the client holds it, or for how long."""
        return opened.held()

    @operation()
    def acquire(
        self, contender: Contender, timeout: float, cancelled: CancelledWay | None = None
    ) -> Grant | None:
        """Wait for the grant; if ``cancelled``, until another thread cancels that."""
        if cancelled is None:
            return contender.acquire(timeout)
        return contender.acquire(timeout, cancelled)

    @operation()
    def cancel(self, contender: Contender) -> None:
        """Cancel, although no call waits."""
        contender.recipe.cancel()

    @operation(changes=False)
    def trespass(self, contender: Contender, timeout: float) -> Trespass:
        """While a thread holds, another thread of the program tries, too."""
        return contender.trespass(timeout)

    @operation(changes=False)
    def contenders(self, contender: Contender) -> Census:
        """Ask who contends, or who holds."""
        told: Census = contender.recipe.census()
        return told

    def question(self, recipe: Any) -> Invocation | None:
        """Who contends, or who holds."""
        tells = getattr(recipe, "tells", False) and recipe.system == ZOOKEEPER
        return self.contenders() if tells else None

    @operation()
    def work(
        self,
        contender: Contender,
        acts: int = 3,
        pause: float = 0.0,
        seconds: float = 0.0,
        guard: float = 0.0,
    ) -> Work | None:
        """Act ``acts`` times on the protected resource, each after a look whether it holds."""
        return contender.work(acts, pause, seconds, guard)

    @operation()
    def release(self, contender: Contender) -> None:
        """Release."""
        contender.leave()

    @operation(changes=False)
    def inspect(self, contender: Contender, patience: float) -> Leftovers:
        """Look which contenders' nodes are left, once dead clients' sessions had time to expire."""
        return {"nodes": until_nothing_is_left(contender.left, patience)}

    # The load.

    def load(self, client: Client) -> Steps:
        """Acquire; if granted, work and release; and again until the time is up.

        A hold that goes on then is still released, so that nothing blocks the final phase. One
        attempt in six has a short timeout, so that waiters leave from the middle of the queue. With
        a re-entrant recipe one holder in eight acquires twice, and so does each that has lost it.
        """
        while not client.is_over:
            granted = yield self.attempt(client)
            if granted.type != "ok":
                continue
            depth = 1
            if self._is_trespassed(client):
                yield self.trespass(timeout=SHORT_PATIENCE_S)
            if client.context.recipe.promises.reentrant and client.draws.one_in(8):
                again = yield self.attempt(client, REENTRY_PATIENCE_S)
                if again.type == "ok":
                    depth = 2 if self.words.counted else 1
                    yield from self.hold(client, again)
            else:
                worked = yield from self.hold(client, granted)
                if worked.type == "fail" and client.context.recipe.promises.reentrant:
                    again = yield self.acquiring(REENTRY_PATIENCE_S)
                    depth += again.type == "ok" and self.words.counted
            yield from self.stay(client)
            if self._cancels(client):
                yield self.cancel()
            yield from self.let_go(client, depth)

    def _is_trespassed(self, client: Client) -> bool:
        """Whether another thread tries now (usage ``threads``)."""
        share = client.context.usage.threads if self.by_thread else 0.0
        reentrant = client.context.recipe.promises.reentrant
        return share > 0 and reentrant and client.draws.uniform() < share

    @staticmethod
    def _cancels(client: Client) -> bool:
        """Whether the client cancels now (usage ``cancels``)."""
        share = client.context.usage.cancels
        cancellable = share and getattr(client.context.recipe, "cancellable", False)
        return bool(cancellable) and client.draws.uniform() < share

    def attempt(self, client: Client, longest: float = LONG_PATIENCE_S) -> Invocation:
        """An acquire, at times with a short timeout; in one of the modes if there are any."""
        usage = client.context.usage
        timeout = longest
        if usage.tries and client.draws.uniform() < usage.tries:
            timeout = 0.0
        elif usage.patience and longest == LONG_PATIENCE_S:
            timeout = round(client.draws.uniform(0.0, usage.patience), 3)
        elif client.draws.one_in(6):
            timeout = round(client.draws.uniform(0.02, 0.32), 3)
        if not self.modes and self._cancels(client):
            way = client.draws.choose(("acquire", "with"))
            return self.acquire(timeout=timeout, cancelled=way)
        return self.acquiring(timeout, client.draws.choose(self.modes) if self.modes else None)

    def acquiring(self, timeout: float, mode: str | None = None) -> Invocation:
        """An acquire, in a mode if there is one."""
        more = {} if mode is None else {"mode": mode}
        return self.acquire(timeout=timeout, **more)

    def longest_hold(self, client: Client) -> float:  # noqa: ARG002 - for subclasses
        """How many seconds a long hold may last, so that faults strike while something is held."""
        return 0.0

    def hold(self, client: Client, granted: Op) -> Answered:  # noqa: ARG002 - for subclasses
        """What a holder does until it releases; returns how the last of it ended."""
        longest, least = self.longest_hold(client), 0.0
        chance = self.one_long_in
        if holding := client.context.usage.holding:
            longest, least, chance = holding, holding / 2, 2
        if longest and client.draws.one_in(chance):
            for _ in range(int(client.draws.uniform(least, longest) / PART_S)):
                worked = yield self.work(acts=PART_ACTS, pause=PART_PAUSE_S)
                if worked.type != "ok":
                    return worked
        action = client.context.action
        if action.seconds:
            length = action.seconds if client.draws.one_in(2) else 0.0
            worked = yield self.work(acts=1, pause=0.0, seconds=length, guard=action.guard)
        else:
            worked = yield self.work(acts=3, pause=round(client.draws.uniform(0.001, 0.01), 4))
        return worked

    def stay(self, client: Client) -> Steps:
        """Go on acting for ``STAY_S``, if the client's links are cut and as long as it believes.

        That is when its belief may be wrong, and only actions show it. A sound recipe's belief ends
        soon.
        """
        if not client.cut_off:
            return
        end = client.after(STAY_S)
        action = client.context.action
        while client.time < end:
            worked = yield (
                self.work(acts=1, pause=0.0, seconds=action.seconds, guard=action.guard)
                if action.seconds
                else self.work(acts=PART_ACTS, pause=PART_PAUSE_S)
            )
            if worked.type != "ok":
                return

    def let_go(self, client: Client, depth: int) -> Steps:  # noqa: ARG002 - for subclasses
        """Release as often as it was acquired."""
        for _ in range(depth):
            released = yield self.release()
            if released.type != "ok":
                return

    # The final phase.

    def final(self) -> list[ScriptFunction]:
        """Each client is granted once more; then some hold it for long, and the others time out.

        In the end one client looks which contenders' nodes are left.
        """
        mode = "write" if self.modes else None
        return [
            self._granted_once,
            only(range(self.permits), once(self.acquiring(LONG_PATIENCE_S, mode))),
            self._hold_or_lose_patience,
            only({0}, until_ok(lambda client: self.inspect(patience=client.expiry_s), 5)),
        ]

    def _granted_once(self, client: Client) -> Steps:
        end = client.after(FINAL_BOUND_S)
        mode = self.modes[client.number % len(self.modes)] if self.modes else None
        while client.time < end:
            left = max(0.1, min(LONG_PATIENCE_S, client.seconds_to(end)))
            granted = yield self.acquiring(left, mode)
            if granted.type == "ok":
                yield from self.give_back(client)
                yield from self._release_nothing(client)
                return

    def give_back(self, client: Client) -> Steps:  # noqa: ARG002 - for subclasses
        """What a client does in the final phase once it has been granted."""
        yield self.release()

    def _release_nothing(self, client: Client) -> Steps:
        """Release once too often, if the recipe promises to say so."""
        if UNHELD_RELEASE.name in client.context.recipe.promises.prevents:
            yield self.release()

    def _hold_or_lose_patience(self, client: Client) -> Steps:
        """``permits`` clients hold it, for longer than any attempt of the others may last."""
        if client.number < self.permits:
            yield self.work(acts=round(HELD_S / HELD_PAUSE_S), pause=HELD_PAUSE_S)
            yield self.release()
            return
        granted = yield self.acquiring(SHORT_PATIENCE_S, "write" if self.modes else None)
        if granted.type == "ok":
            yield self.release()
        else:
            yield from self._release_nothing(client)

    # The judgement.

    def dismissed(self, timeline: Timeline) -> Collection[str]:  # noqa: ARG002 - for subclasses
        """Sessions whose clients were asked to release."""
        return ()

    def judged_by(self) -> Sequence[Check]:
        """The checks of every contest, and among them the workload's own ``checks``."""
        from rumpus.checker.exclusion.holds_by_model import (  # noqa: PLC0415 - heavy
            check_holds_by_model,
        )

        by_model = partial(check_holds_by_model, model=self.decider, fenced=self.fenced_decider)
        return [
            partial(check_exclusion, tolerance=self.tolerance),
            check_tokens,
            *([by_model] if self.decider else []),
            check_order,
            check_herd,
            partial(check_entitlement, dismissed=self.dismissed),
            check_disconnection,
            check_trespass,
            check_answers,
            check_timeouts,
            *self.checks,
            check_censuses,
            check_grants_told,
            *([check_overdue] if self.prompt else []),
            partial(check_liveness, nobody=self.nobody),
        ]

    def lay_out(self, timeline: Timeline) -> Timeline:
        """A run's timeline, with how many may hold at once, and in which modes."""
        return replace(super().lay_out(timeline), permits=self.permits, modes=self.modes)

    def expiries(
        self,
        timeline: Timeline,  # noqa: ARG002 - the check knows
        results: Sequence[CheckResult],
    ) -> int | None:
        """How many sessions expired while their clients were holders."""
        found: int | None = stats_of(results, "exclusion")["expiries_while_holding"]
        return found
