"""The load and the final phase that workloads on plain znodes have in common."""

from collections.abc import Callable, Sequence
from typing import Any

from rumpus.harness.generators.combinators import (
    delay,
    each_thread,
    limit,
    phases,
    repeat,
    stagger,
    unfold,
    until_ok,
)
from rumpus.harness.generators.generator import Context, Generator, Invocation
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext

PAUSE_S = 0.01
"""From one operation to the next, of all clients together, on average."""

TRIES = 12
TRY_PAUSE_S = 1.0
"""How often, and how far apart, a client asks in the final phase before it counts as stuck."""

Draw = Callable[[int, Seed], tuple[str, Any]]
"""From the number of an operation and a seed of its own to its name and value."""


def load(setting: WorkloadContext, draw: Draw) -> Generator:
    """Operations drawn one by one, until the time is up."""

    def step(number: int, ctx: Context) -> tuple[Invocation, int] | None:
        if ctx.time >= setting.until:
            return None
        f, value = draw(number, setting.seed.child(number))
        return Invocation(f, value), number + 1

    return stagger(PAUSE_S, unfold(step, 0), seed=setting.seed.child("pauses"))


def final(*operations: tuple[str, Any]) -> Generator:
    """Every client asks for each of these until it is answered, or has tried often enough."""
    return phases(*(each_thread(_asked(f, value)) for f, value in operations))


def _asked(f: str, value: Any) -> Generator:
    return until_ok(limit(TRIES, delay(TRY_PAUSE_S, repeat(Invocation(f, value)))))


def pick(seed: Seed, shares: Sequence[tuple[int, str]]) -> str:
    """One of some names, by how many parts of the whole each has."""
    at, _ = seed.below(sum(share for share, _ in shares))
    for share, name in shares:
        if at < share:
            return name
        at -= share
    raise AssertionError("the shares add up to the whole")
