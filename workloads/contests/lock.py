"""Locks: clients contend, act on a protected resource while they hold the lock, and release it.

Where the recipe gives sequencers (strings that prove a hold, as in Chubby), the last client
verifies those of the others. Where it has a fence, holders also write through it to a znode.
"""

from collections import deque
from contextlib import suppress
from typing import Any, ClassVar, Final, TypedDict

from rumpus.checker.exclusion.fence import check_fence
from rumpus.checker.exclusion.lock_delay import check_lock_delay
from rumpus.checker.exclusion.sequencers import check_sequencers
from rumpus.checker.history import Op
from rumpus.checker.timeline.holds import Words
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.script import Answered, Client, Steps
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.curator.catalogue import CURATOR_LOCKS
from rumpus.recipes.lock.catalogue import LOCKS
from rumpus.recipes.lock.fenced_lock import FencedLock
from rumpus.recipes.lock.on_other_systems import OTHER_LOCKS
from rumpus.recipes.lock.sequencer import SequencerLock
from rumpus.workloads.contests.contender import Contender, Grant
from rumpus.workloads.contests.contention import ContentionWorkload
from rumpus.workloads.contests.fenced_contender import FencedContender, data_path
from rumpus.workloads.framework.checks import counted
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.own.cancelled_attempt import CancelledWay
from rumpus.workloads.own.own_lock import OwnLock

LEAST_WRITES: Final = 20
"""How many writes through the fence a run must have for its verdict to mean anything."""

LEAST_ANSWERS: Final = 5
"""How many sequencers must have been found valid, and how many stale."""

VERIFY_PATIENCE_S: Final = 2.0

BETWEEN_S: Final = 0.02
"""Seconds from one verification to the next."""

WORDS: Final = Words()

REMEMBERED: Final = 4
"""How many of the latest sequencers are verified: some are valid, some have just become stale."""


class Validity(TypedDict):
    """Whether a sequencer was found valid."""

    valid: bool


class SequencerContender(Contender):
    """A client that publishes its sequencer with each grant, and can verify those of others."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.verifier = self.recipe.verifier(self.context.kazoo)

    def acquire(self, timeout: float, cancelled: CancelledWay | None = None) -> Grant:
        """Acquire as every contender; the grant includes the sequencer."""
        grant = super().acquire(timeout, cancelled)
        with suppress(NotHeld):  # lost already, but the acquire has succeeded
            grant["sequencer"] = self.recipe.sequencer()
        return grant


class LockWorkload(ContentionWorkload):
    """Clients contend for one lock and act on what it protects."""

    name = "lock"
    catalogue = LOCKS
    elsewhere: ClassVar = {**OTHER_LOCKS, **CURATOR_LOCKS}
    adapter = OwnLock
    of_kazoo = ("kazoo.recipe.lock:Lock",)
    model = "mutex"
    decider = "mutex"
    fenced_decider = "fenced-mutex"
    by_thread = True
    prompt = True

    def open(self, recipe: Any, context: ClientContext) -> Contender:
        """One lock object."""
        lock = recipe(context.reached, self.path, name=context.name)
        line = recipe.line(self.path)
        if isinstance(lock, FencedLock):
            return FencedContender(context, lock, line, data_path(self.path))
        kind = SequencerContender if isinstance(lock, SequencerLock) else Contender
        return kind(context, lock, line)

    @operation(changes=False)
    def verify(self, contender: SequencerContender, sequencer: str) -> Validity:
        """Ask whether a sequencer is valid, as a service does when a client presents one."""
        return {"valid": contender.verifier.verify(sequencer, VERIFY_PATIENCE_S)}

    def shared(self) -> deque[str]:
        """The latest sequencers of all holders."""
        return deque(maxlen=REMEMBERED)

    def least_clients(self, recipe: Any) -> int:
        """Two that contend; and one that verifies, if there are sequencers."""
        return 3 if "stale-sequencer" in recipe.promises.prevents else 2

    def load(self, client: Client) -> Steps:
        """All clients contend; if there are sequencers, the last client verifies them instead."""
        verifies = _promises(client, "stale-sequencer") and client.number == client.clients - 1
        if not verifies or client.clients == 1:
            yield from super().load(client)
        while not client.is_over:
            if client.shared:
                yield self.verify(sequencer=client.draws.choose(client.shared))
            yield client.rest(BETWEEN_S)

    def longest_hold(self, client: Client) -> float:
        """Long where a recipe promises no stale belief, so that some holds end by themselves."""
        return 2 * client.context.session_timeout if _promises(client, "stale-belief") else 0.0

    def hold(self, client: Client, granted: Op) -> Answered:
        """Hold as every contender; first publish the sequencer for the verifier."""
        if "sequencer" in (granted.value or {}):
            client.shared.append(granted.value["sequencer"])
        return (yield from super().hold(client, granted))

    checks = (check_fence, check_lock_delay, check_sequencers)
    needs = (
        *ContentionWorkload.needs,
        counted(LEAST_WRITES, "writes", "fence", "writes through the fence"),
        *(
            counted(LEAST_ANSWERS, f"called_{what}", "sequencers", f"sequencers called {what}")
            for what in ("valid", "stale")
        ),
    )


def _promises(client: Client, anomaly: str) -> bool:
    return anomaly in client.context.recipe.promises.prevents


LOCK = LockWorkload()
