"""The load of breakable locks: holders that hang or die, and those who break their locks.

The last clients do not contend while there are faults: one operator for locks that are broken by
session, two supervisors (who may get in each other's way) for those that are freed by identity.
"""

from typing import Any, Final

import msgspec

from rumpus.checker.history import Op
from rumpus.checker.holds import Words
from rumpus.harness.clients.workers import CLIENT_KILLED
from rumpus.harness.generators.combinators import any_of, delay, each_process, on_threads, unfold
from rumpus.harness.generators.generator import (
    PENDING,
    SECOND,
    Answer,
    Context,
    Generator,
    Invocation,
    Pending,
)
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.workloads.contests.contention import LONG_PATIENCE_S, REENTRY_PATIENCE_S

HANG_S: Final = (3.0, 3.0, 8.0)
"""How long a hung holder hangs, by turns of chance: its client goes on renewing the session."""

LOOK_PAUSE_S: Final = 0.1
"""From one look of an operator to the next at least: it fails at once while no server answers."""

LOOKS: Final = 12
"""How often a supervisor looks for a dead process before it gives up: it may hold nothing."""


class Mishaps(msgspec.Struct, frozen=True):
    """What befalls holders: one hold in so many (0: none)."""

    hang: int = 0
    die: int = 0


class MortalCycle(msgspec.Struct, frozen=True):
    """One process's load: acquire, work (and perhaps hang), release (or die); and again.

    One attempt in six has little patience; one hold in eight is entered twice.
    """

    words: Words
    seed: Seed
    mishaps: Mishaps
    until: int
    stage: str = "acquire"
    depth: int = 0

    def op(self, ctx: Context) -> Answer:
        """The next step, when the process is free."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        value: dict[str, Any] | None = None
        if self.stage == self.words.acquire:
            if ctx.time >= self.until and not self.depth:
                return None
            patience = min(self._patience(), REENTRY_PATIENCE_S if self.depth else LONG_PATIENCE_S)
            value = {"timeout": patience}
        elif self.stage == self.words.work:
            value = {"acts": 3, "pause": round(0.001 + 0.009 * self.seed.uniform()[0], 4)}
            if self._befalls("hang", self.mishaps.hang):
                value["hang"] = self.seed.child("hang for").choose(HANG_S)[0]
        return Invocation(self.stage, value, process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """What comes next depends on what came of this."""
        if event.type == "invoke":
            return self
        stage, depth = self.words.acquire, 0
        if event.f == self.words.acquire and event.type == "ok":
            again = not self.depth and self.seed.child("again").below(8)[0] == 0
            stage, depth = self.words.acquire if again else self.words.work, self.depth + 1
        elif event.f == self.words.acquire and self.depth:
            stage, depth = self.words.release, self.depth
        elif event.f == self.words.work:
            dies = self._befalls("die", self.mishaps.die)
            stage, depth = "die" if dies else self.words.release, self.depth
        elif event.f == self.words.release and self.depth > 1 and event.type == "ok":
            stage, depth = self.words.release, self.depth - 1
        return MortalCycle(self.words, self.seed.next()[1], self.mishaps, self.until, stage, depth)

    def _patience(self) -> float:
        dice, seed = self.seed.below(6)
        return round(0.02 + 0.3 * seed.uniform()[0], 3) if dice == 0 else LONG_PATIENCE_S

    def _befalls(self, what: str, one_in: int) -> bool:
        return one_in > 0 and self.seed.child(what).below(one_in)[0] == 0


class Supervision(msgspec.Struct, frozen=True):
    """Supervisors that learn which processes are dead, and free what these hold.

    They learn it from what the run itself knows for certain: a client's declaration that it is
    dead, or that its process was killed. Who is dead is known by the identity that the client
    told when it worked.

    Args:
        seed: of pauses.
        supervisors: their clients' numbers.
        until: when to stop (nanoseconds on the run's clock).
        living: client -> the identity it told last.
        dead: supervisor -> identities of the dead to look for, and how often it has looked.
        rests: supervisor -> when to look again.
    """

    seed: Seed
    supervisors: tuple[int, ...]
    until: int
    living: dict[int, str] = {}
    dead: dict[int, dict[str, int]] = {}
    rests: dict[int, int] = {}

    def op(self, ctx: Context) -> Answer:
        """A look by a supervisor that is free and knows of somebody dead."""
        if ctx.time >= self.until:
            return None
        sooner = Pending(self.until)
        for supervisor in self.supervisors:
            dead = self.dead.get(supervisor)
            if not dead or not ctx.free & ctx.bit(supervisor):
                continue
            rest = self.rests.get(supervisor, 0)
            if rest > ctx.time:
                sooner = Pending(min(rest, sooner.until or rest))
                continue
            value = {"dead": sorted(dead), "confirm": round(0.4 * self.seed.uniform()[0], 3)}
            return Invocation("free", value, ctx.process_of(supervisor), ctx.time), self
        return sooner, self

    def update(self, ctx: Context, event: Op) -> Generator:
        """Learn who lives, who is dead, and whose node is gone."""
        client = ctx.thread_of(event.process)
        if event.type == "invoke" or not isinstance(client, int):
            return self
        value = event.value if isinstance(event.value, dict) else {}
        if client in self.supervisors:
            return self._looked(client, ctx.time, value) if event.f == "free" else self
        if event.type == "info" and event.error == CLIENT_KILLED:
            return self._died(client, self.living.get(client))
        if event.f == "die" and event.type == "ok":
            return self._died(client, value["identity"])
        identity = value.get("identity")
        if identity is None or identity == self.living.get(client):
            return self
        return msgspec.structs.replace(self, living={**self.living, client: identity})

    def _died(self, client: int, identity: str | None) -> "Supervision":
        living = {other: who for other, who in self.living.items() if other != client}
        dead = self.dead
        if identity is not None:
            dead = {s: {**dead.get(s, {}), identity: 0} for s in self.supervisors}
        return msgspec.structs.replace(self, living=living, dead=dead)

    def _looked(self, supervisor: int, now: int, value: dict[str, Any]) -> "Supervision":
        dead = {
            identity: looks + 1
            for identity, looks in self.dead.get(supervisor, {}).items()
            if identity != value.get("freed") and looks < LOOKS
        }
        dice, seed = self.seed.uniform()
        rest = now + int((0.05 + 0.8 * dice) * SECOND)
        return msgspec.structs.replace(
            self,
            seed=seed,
            dead={**self.dead, supervisor: dead},
            rests={**self.rests, supervisor: rest},
        )


def hanging_load(words: Words, setting: WorkloadContext) -> Generator:
    """Holders hang; the last client breaks the lock of whoever has held it too long."""
    operator = max(0, setting.clients - 1)
    mishaps = Mishaps(hang=8)

    def look(seed: Seed, ctx: Context) -> tuple[Invocation, Seed] | None:
        if ctx.time >= setting.until:
            return None
        dice, seed = seed.uniform()
        return Invocation("break", {"patience": round(0.2 + 0.4 * dice, 3)}), seed

    looks = delay(LOOK_PAUSE_S, unfold(look, setting.seed.child("operator")))
    return any_of(
        on_threads(range(operator), _contenders(words, setting, mishaps)),
        on_threads([operator], looks),
    )


def dying_load(words: Words, setting: WorkloadContext) -> Generator:
    """Holders die; two supervisors that know it free their locks."""
    first = max(1, setting.clients - 2)
    return any_of(
        on_threads(range(first), _contenders(words, setting, Mishaps(die=30))),
        Supervision(
            setting.seed.child("supervision"), tuple(range(first, setting.clients)), setting.until
        ),
    )


def _contenders(words: Words, setting: WorkloadContext, mishaps: Mishaps) -> Generator:
    return each_process(
        lambda process: MortalCycle(words, setting.seed.child(process), mishaps, setting.until)
    )
