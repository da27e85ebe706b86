"""Counters: ``add`` {key, value} -> the total after it; ``read`` {key} -> the total.

An addition of unknown outcome is tried again, under the same idempotency key, until its outcome is
known or the time is over.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Annotated

import msgspec

from rumpus.checker.every_run.final_answers import check_final_answers
from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.families.counter_totals import MISCOUNT, check_totals
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.generator import SECOND
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, until_ok
from rumpus.recipes.counter.catalogue import COUNTERS
from rumpus.recipes.counter.receipt_counter import AdditionUnknown, Counter
from rumpus.recipes.curator.catalogue import CURATOR_COUNTERS
from rumpus.workloads.framework.checks import at_least, everybody_at_the_end, follows
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.own_counter import OwnCounter

AMOUNTS = (1, 2, -1, 5, 1, -3, 1, 7)
"""What is added to each counter. The amount for a counter never changes: then the model decides
exactly."""

TURN_S = 3.0
"""How long all clients use one counter before all go on to the next."""

PATIENCE_S = 1.5
"""How long calls may take: less than most faults, so that some come back while one lasts."""

OVERDUE_S = 1.5
"""By how much a call may run over its timeout before its client gives it up."""

TRY_S = 0.5
"""How long each try of an addition may take."""

GRACE_S = 0.5
"""By how much a recipe may run over its timeouts."""

TRIES = 8
"""How often a client asks in the final phase before it counts as stuck."""

Key = Annotated[int, msgspec.Meta(ge=0, lt=len(AMOUNTS))]


class CounterWorkload(Workload):
    """Clients add to counters and read them; at the end everybody reads all."""

    name = "counter"
    catalogue = COUNTERS
    elsewhere = CURATOR_COUNTERS
    adapter = OwnCounter
    of_kazoo = ("kazoo.recipe.counter:Counter",)
    model = "counter"
    main = "add"
    requests = ("write", "read")

    def open(self, recipe: type[Counter], context: ClientContext) -> list[Counter]:
        """A counter for each key."""
        name = f"c{context.client}"
        return [
            recipe(context.kazoo, f"{self.path}/{key}", name=name, grace=GRACE_S)
            for key in range(len(AMOUNTS))
        ]

    @operation(timeout=PATIENCE_S, overdue=OVERDUE_S)
    def add(self, counters: Sequence[Counter], key: Key, value: int, timeout: float) -> int | None:
        """Add; try again until the outcome is known or the time is over. Null: no total told."""
        deadline = time.monotonic() + timeout
        addition = ""
        while True:
            try:
                return counters[key].add(value, TRY_S, key=addition)
            except AdditionUnknown as unknown:
                addition = unknown.key
                if time.monotonic() >= deadline:
                    raise

    @operation(timeout=PATIENCE_S, overdue=OVERDUE_S)
    def read(self, counters: Sequence[Counter], key: Key, timeout: float) -> int:
        """Read the total."""
        return counters[key].read(timeout)

    def load(self, client: Client) -> Steps:
        """Three additions to one read, all at the counter whose turn it is."""
        while not client.is_over:
            key = client.time // int(TURN_S * SECOND) % len(AMOUNTS)
            if client.draws.one_in(4):
                yield self.read(key=key)
            else:
                yield self.add(key=key, value=AMOUNTS[key])
            yield client.rest(0.01, 0.16)

    def final(self) -> list[ScriptFunction]:
        """Every client reads every counter."""
        return [until_ok(self.read(key=key), TRIES) for key in range(len(AMOUNTS))]

    checks = (
        partial(check_timeouts, grace=GRACE_S),
        follows("counter", MISCOUNT, "add", "read"),
        partial(check_totals, add="add", read="read"),
        partial(check_final_answers, most_tries=TRIES),
    )
    needs = (
        at_least(100, "add", "additions"),
        everybody_at_the_end("read", len(AMOUNTS), "counters read by everybody at the end"),
    )


COUNTER = CounterWorkload()
