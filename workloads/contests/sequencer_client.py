"""Clients that hand their sequencers to one who verifies them (``recipes.lock.sequencer``)."""

from typing import Any, Final

import msgspec

from rumpus.checker.history import Op
from rumpus.checker.holds import Words
from rumpus.harness.clients.client_body import Outcome
from rumpus.harness.generators.generator import Answer, Context, Generator, Invocation, Pending
from rumpus.harness.generators.seed import Seed
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.lock.sequencer import SequencerLock
from rumpus.workloads.contests.contention import ContentionClient

VERIFY_PATIENCE_S: Final = 2.0
BETWEEN_NS: Final = 20_000_000
"""How long after one question the next one is asked, at least."""
REMEMBERED: Final = 4
"""How many of the latest sequencers are asked about: some stand, some have just ended."""


class Verifying(msgspec.Struct, frozen=True):
    """The others contend; the last client verifies what they were granted.

    Args:
        contention: what the others do.
        seed: which sequencer is asked about.
        words: names of the operations.
        until: when no new question may be asked (nanoseconds on the run's clock).
        recent: the latest sequencers.
        next: when to ask again.
    """

    contention: Generator
    seed: Seed
    words: Words
    until: int
    recent: tuple[str, ...] = ()
    next: int = 0

    def op(self, ctx: Context) -> Answer:
        """A question if it is time for one, else what the others do next."""
        verifier = 1 << ctx.clients - 1
        asking = ctx.time < self.until and ctx.clients > 1
        if asking and ctx.free & verifier and self.recent and ctx.time >= self.next:
            sequencer, seed = self.seed.choose(self.recent)
            process = ctx.process_of(ctx.clients - 1)
            question = Invocation("verify", {"sequencer": sequencer}, process, ctx.time)
            after = msgspec.structs.replace(self, seed=seed, next=ctx.time + BETWEEN_NS)
            return question, after
        others = ctx.narrow(~verifier) if ctx.clients > 1 else ctx
        answer = self.contention.op(others)
        if answer is None:
            return None
        what, contention = answer
        if isinstance(what, Pending) and asking and self.recent and ctx.time < self.next:
            what = what.sooner(Pending(self.next))
        return what, msgspec.structs.replace(self, contention=contention)

    def update(self, ctx: Context, event: Op) -> Generator:
        """Remember what was granted."""
        contention = self.contention.update(ctx, event)
        recent = self.recent
        if event.f == self.words.acquire and event.type == "ok" and "sequencer" in event.value:
            recent = (*recent, event.value["sequencer"])[-REMEMBERED:]
        return msgspec.structs.replace(self, contention=contention, recent=recent)


class SequencerClient(ContentionClient):
    """Tells its sequencer with each grant, and verifies others'.

    Args:
        lock: the recipe object.
        contention: arguments of ``ContentionClient``.
    """

    def __init__(self, *arguments: Any, lock: SequencerLock, **contention: Any) -> None:
        super().__init__(*arguments, **contention)
        self._lock = lock
        self._verifier = lock.verifier(self._context.kazoo)

    def invoke(self, f: str, value: Any) -> Outcome:
        """As every holder's, and ``verify``."""
        return self._verify(value["sequencer"]) if f == "verify" else super().invoke(f, value)

    def _do_acquire(self, timeout: float) -> Outcome:
        outcome = super()._do_acquire(timeout)
        if outcome.type != "ok":
            return outcome
        try:
            return Outcome("ok", {**outcome.value, "sequencer": self._lock.sequencer()})
        except NotHeld:  # lost since; it may still be granted by the servers
            return outcome

    def _verify(self, sequencer: str) -> Outcome:
        try:
            return Outcome("ok", {"valid": self._verifier.verify(sequencer, VERIFY_PATIENCE_S)})
        except LockUnknown as error:
            return Outcome("fail", error=str(error))
