"""A database with a primary and replicas: clients write and read while roles change hands.

Every client's process is a member of the database, and a user of it. ``append`` writes a value at
the primary, which acknowledges it once a majority of members has it; ``read`` reads all values in
order.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from math import inf
from typing import Any, TypedDict

from rumpus.checker.every_run.model_check import NOT_LINEARIZABLE
from rumpus.checker.exclusion.mutual_exclusion import check_primary
from rumpus.checker.families.replication import check_recovery, check_replication
from rumpus.checker.timeline.holds import Words
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult
from rumpus.harness.clients.client_body import ClientContext, Leaves
from rumpus.harness.clients.leftovers import look_until
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, until_ok
from rumpus.recipes.failover.catalogue import FAILOVER
from rumpus.recipes.failover.client import FailoverClient
from rumpus.recipes.failover.database import FailoverDatabase
from rumpus.recipes.outcomes import NotDone
from rumpus.workloads.framework.checks import follows, stats_of
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.framework.workload import FINAL_BOUND_S, Workload
from rumpus.workloads.own.own_interfaces import OwnDatabase

PATIENCE_S, FINAL_PATIENCE_S = 0.5, 2.0
"""How long a user waits for its write or read: short, or all users would wait for a primary that is
cut off, and none would write at its successor. In the final phase reads may take longer."""

NEXT_S, TERM_S = 1.0, 0.1
"""In a ``hand-back``: how long the member waits to become primary, and how long it stays primary
then: long enough to acknowledge some writes, but not many."""

ISOLATED_S = (0.2, 0.6, 1.0)
"""For how long a member is cut off from the others."""

AFTER_S = (0.0, 0.4)
"""How many seconds a primary is cut off before it hands the role back: none, so that users which it
has just answered ask it again; or so many that it has writes that no other member has."""

FINAL_TRIES = 30
"""In the final phase: tries, of ``PATIENCE_S`` each, that a client has to write once more."""

FINAL_VALUES = 1_000_000
"""The first value of the final phase: the load does not reach it."""


class Written(TypedDict):
    """The epoch of the primary that took a write, and the write's position."""

    epoch: int
    at: int


class Copy(TypedDict):
    """A member's own copy."""

    values: list[int]


class Member:
    """A member of the database, and a user of it."""

    def __init__(self, recipe: Any, context: ClientContext, path: str, members: int) -> None:
        self._isolated_until = -inf
        self.user = FailoverClient(context.kazoo, path)
        self.database: FailoverDatabase = recipe(
            context.kazoo,
            path,
            name=f"c{context.client}",
            members=members,
            host=context.host,
            files=context.home,
            role_changed=context.look_at_belief,
            isolated=lambda: max(0.0, self._isolated_until - time.monotonic()),
        )

    def isolate(self, seconds: float) -> None:
        """Cut the member off from the other members for ``seconds``. Returns at once."""
        self._isolated_until = max(self._isolated_until, time.monotonic() + seconds)


class FailoverWorkload(Workload):
    """A database of all clients elects its primary, and loses no acknowledged write."""

    name = "failover"
    catalogue = FAILOVER
    adapter = OwnDatabase
    model = "append"
    rate = 0.02
    requests = ("write", "read")
    _former: Member | None = None

    def open(self, recipe: type[FailoverDatabase], context: ClientContext) -> Member:
        """The client's member; closes the one of this process's former session, if any."""
        if self._former is not None:
            self._former.database.close()
        self._former = Member(recipe, context, self.path, self.clients)
        return self._former

    def prepare(self, member: Member) -> None:
        """Call the member's database: one of another repository is made by its first call.

        From then on it takes part. No other operation need call it: users ask the primary.
        """
        member.database.values()

    def believes(self, member: Member) -> bool | float:
        """For how long the member believes that it is the primary."""
        return member.database.remaining() or False

    def shared(self) -> Iterator[int]:
        """Values that nobody has written yet."""
        return count()

    @operation()
    def append(self, member: Member, value: int, /) -> Written:
        """Write a value."""
        answer = member.user.write(value, PATIENCE_S)
        return {"epoch": answer["epoch"], "at": answer["at"]}

    @operation(changes=False)
    def read(self, member: Member) -> list[int]:
        """Read all values, in order."""
        return member.user.read(PATIENCE_S)

    @operation()
    def isolate(self, member: Member, seconds: float) -> None:
        """Cut the member off from the others."""
        member.isolate(seconds)

    @operation(name="hand-back")
    def hand_back(self, member: Member, after: float, seconds: float) -> None:
        """Give the appointment back, but serve on, cut off from the other members.

        A primary acts like this if it is cut off from all and does not know that it was deposed.
        """
        if not look_until(bool, member.database.remaining, NEXT_S, TERM_S / 10):
            raise NotDone("not the primary")
        time.sleep(TERM_S)
        member.isolate(seconds)
        time.sleep(after)
        if not member.database.hand_back():
            raise NotDone("not the primary")

    @operation(name="step-down")
    def step_down(self, member: Member) -> None:
        """End the member's term, if it is the primary."""
        if not member.database.step_down():
            raise NotDone("not the primary")

    @operation()
    def leave(self, _member: Member) -> None:
        """End the member's session: it comes back in another one."""
        raise Leaves

    @operation(changes=False)
    def converge(self, member: Member, patience: float) -> Copy:
        """Wait until the member's own copy is what a read returns."""
        read, own = look_until(
            lambda both: both[0] == both[1],
            lambda: (member.user.read(FINAL_PATIENCE_S), member.database.values()),
            patience,
        )
        if own != read:
            raise NotDone(f"{len(own)} values here, {len(read)} at the primary")
        return {"values": own}

    def least_clients(self, recipe: Any) -> int:  # noqa: ARG002 - the same for all
        """As many as have a majority without one of them."""
        return 3

    def load(self, client: Client) -> Steps:
        """Half of the operations are writes.

        Some ``hand-back`` and ``step-down`` are called at the primary. Members are cut off from the
        others, so that the role passes from members with the latest writes to members without them.
        By ``leave`` members leave the queue for the role, mostly from its middle.
        """
        draws = client.draws
        while not client.is_over:
            yield draws.choose(
                [
                    *19 * [self.append(next(client.shared))],
                    *10 * [self.read()],
                    *4 * [self.isolate(seconds=draws.choose(ISOLATED_S))],
                    *5 * [self.hand_back(after=draws.choose(AFTER_S), seconds=ISOLATED_S[-1])],
                    self.step_down(),
                    self.leave(),
                ]
            )

    def final(self) -> list[ScriptFunction]:
        """Every client writes once more, a new value with each try; then checks its own copy."""
        write = until_ok(
            lambda client: self.append(FINAL_VALUES + next(client.shared)), FINAL_TRIES, pause=0.1
        )
        return [write, until_ok(self.converge(patience=FINAL_BOUND_S), 2)]

    checks = (
        check_primary,
        check_replication,
        follows("append", NOT_LINEARIZABLE, "append", "read"),
        check_recovery,
    )
    expired = "fail-overs"

    def lay_out(self, timeline: Timeline) -> Timeline:
        """A run's timeline: a client that believes to be the primary holds the role."""
        return replace(
            super().lay_out(timeline), unasked=True, words=Words(thing="role of the primary")
        )

    def expiries(self, _: Timeline, results: Sequence[CheckResult]) -> int:
        """How many primaries there were after the first one."""
        return int(stats_of(results, "replication")["primaries"]) - 1


FAILOVER_WORKLOAD = FailoverWorkload()
