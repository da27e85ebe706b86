"""Latches: ``count_down`` {key, count}; ``wait`` {key, count}; ``leave`` ends the session.

A ``wait`` returns once as many clients as the count have counted down.
"""

from collections import Counter
from functools import partial
from typing import Any, Final

from rumpus.checker.every_run.final_answers import check_final_answers
from rumpus.checker.every_run.timeouts import TIMED_OUT, check_timeouts
from rumpus.checker.families.latch_entries import check_entries
from rumpus.harness.clients.client_body import ClientContext, Leaves
from rumpus.harness.generators.generator import SECOND
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, until_ok
from rumpus.recipes.latch.catalogue import LATCHES
from rumpus.recipes.latch.tally_latch import Latch
from rumpus.workloads.framework.operation import Failed, operation
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.own_barriers import OwnLatch

LEAVERS: Final = 4
"""One count in this many is followed by a ``leave``: a count must outlive its session."""

LAST_KEY: Final = 0
"""The latch that all clients pass once every fault is healed; those of the load begin with 1."""

LONG_REST_S: Final = 5.0
"""How long half of the rests last at most; where clients rest before each call, too, a quarter of
the load if that is shorter."""

PATIENCE_S: Final = 15.0
"""Most waits' timeout. It is longer than a latch is held up by faults and slow clients together, so
that a waiter that has missed its event is still waiting when the latch opens."""


class LatchWorkload(Workload):
    """All clients, or all but one, count a latch down and wait for it; then comes the next."""

    name, catalogue, model, main, requests = "latch", LATCHES, "latch", "wait", ("create", "read")
    adapter = OwnLatch
    checks = (
        check_entries,
        check_timeouts,
        partial(
            check_final_answers,
            most_tries=5,
            asked=lambda _, value: (value or {}).get("key") == LAST_KEY,
        ),
    )

    def open(self, recipe: type, context: ClientContext) -> partial[Latch]:
        """A function that makes a latch from its path and count."""
        return partial(recipe, context.kazoo, name=f"c{context.client}")

    @operation(timeout=1.5, overdue=3.0)
    def count_down(self, latch: partial[Latch], key: int, count: int, timeout: float) -> None:
        """Count a latch down, at most once for each client."""
        latch(f"{self.path}/{key}", count).count_down(timeout)

    @operation(timeout=10.0, overdue=3.0)
    def wait(self, latch: partial[Latch], key: int, count: int, timeout: float) -> None:
        """Wait until a latch is open."""
        if not latch(f"{self.path}/{key}", count).wait(timeout):
            raise Failed(TIMED_OUT)

    @operation()
    def leave(self, _latch: partial[Latch]) -> None:
        """End the session; the client comes back in another one."""
        raise Leaves

    def least_clients(self, recipe: Any) -> int:  # noqa: ARG002 - the same for all
        """Of two, one alone opens every other latch, and nobody waits for it."""
        return 3

    def shared(self) -> Counter[int]:
        """Client -> how many latches it knows to have counted down, the latest one's key."""
        return Counter()

    def load(self, client: Client) -> Steps:
        """Wait for the latest latch, some briefly; count the next down, some after a long rest.

        Some clients leave after they have counted: the others wait for a latch that counts a
        session that has ended.
        """
        thinks = client.context.usage.think > 0
        longest = min(LONG_REST_S, client.context.until / SECOND / 4) if thinks else LONG_REST_S
        while not client.is_over:
            if key := client.shared[client.number]:
                patience = client.draws.weighted((3, PATIENCE_S), (1, 0.3))
                yield self.wait(key=key, count=client.clients - key % 2, timeout=patience)
            yield client.rest(0.0, client.draws.weighted((1, 0.5), (1, longest)))
            done = yield self.count_down(key=key + 1, count=client.clients - (key + 1) % 2)
            client.shared[client.number] += done.type == "ok"
            if done.type == "ok" and not client.is_over and client.draws.one_in(LEAVERS):
                yield self.leave()

    def final(self) -> list[ScriptFunction]:
        """Every client counts one more latch down and passes it."""
        counts = until_ok(lambda client: self.count_down(key=LAST_KEY, count=client.clients), 5)
        waits = until_ok(lambda client: self.wait(key=LAST_KEY, count=client.clients), 5)
        return [counts, waits]


LATCH = LatchWorkload()
