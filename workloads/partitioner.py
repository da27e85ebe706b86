"""A set of parts shared out among members that come and go.

``acquire`` joins and takes a share; ``work`` goes on until the members change; ``release`` gives up
the share but not the membership, ``leave`` the membership; ``own`` tells which parts are owned now;
``inspect`` tells which znodes are left under the parts' locks.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NotRequired, TypedDict, get_args

from rumpus.checker.check import Check
from rumpus.checker.every_run.liveness import check_liveness
from rumpus.checker.every_run.timeouts import TIMED_OUT, check_timeouts
from rumpus.checker.exclusion.disconnection import check_disconnection
from rumpus.checker.exclusion.entitlement import check_entitlement
from rumpus.checker.history import session_hex
from rumpus.checker.timeline.holds import Words
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.leftovers import (
    Leftovers,
    Node,
    children_of,
    nodes_at,
    until_nothing_is_left,
)
from rumpus.harness.generators.generator import SECOND, Invocation
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, only, until_ok
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.partitioner.catalogue import PARTITIONERS
from rumpus.workloads.framework.checks import accepted_actions, stats_of
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.own_groups import OwnPartitioner

Part = Literal["a", "b", "c", "d", "e", "f", "g"]
PARTS: tuple[Part, ...] = get_args(Part)


HURRIED_S, PATIENCE_S = 0.4, 5.0
"""The timeouts of acquires: of one in four, often too short for others to release; of the rest."""

SETTLING_S = 12.0
"""How long members may take to share out the set when every fault is healed."""

STAYING, LEAVING = range(0, 10_000, 2), range(1, 10_000, 2)
"""The clients that stay members in the final phase, and those that leave and come back."""

LATE_S = 3.0
"""How many seconds later the leaving ones come back: the others have their shares then."""

SWAP_S = 2.0
"""How many seconds later one member takes another's place: the others work on their shares then."""

GLANCE_S = 0.02
"""Seconds from one action of an owner to the next."""

STAY_S = 10.0
"""How long an owner whose links are cut goes on acting: beyond its session's expiry and the time by
which it should have noticed that."""

PART_S = 0.5
"""Seconds of each ``work`` operation of such an owner."""


class PartGrant(TypedDict):
    """By which node, with which fencing token and in which session a part is owned."""

    node: str | None
    token: int | None
    session: str | None


class Share(TypedDict):
    """The parts that are owned, and the session in which the share was acquired."""

    session: NotRequired[str | None]
    parts: dict[Part, PartGrant]


class Owned(TypedDict):
    """The parts that are owned now."""

    parts: list[Part]


@dataclass
class Member:
    """A client with its partitioner; ``lines`` is the parent znode of the parts' locks."""

    context: ClientContext
    partitioner: Any
    lines: str

    def parts(self) -> dict[Part, PartGrant]:
        """The parts that it owns."""
        owned = {}
        for name, part in self.partitioner.parts.items():
            session = None if part.session is None else session_hex(part.session)
            owned[name] = PartGrant(node=part.node, token=part.token, session=session)
        return owned

    def left(self) -> list[Node]:
        """The znodes that are there under the parts' locks."""
        kazoo, lines = self.context.kazoo, [f"{self.lines}/{part}" for part in PARTS]
        paths = [path for line in lines for path in children_of(kazoo, line)]
        return nodes_at(kazoo, paths)


LEAST_TO_SWAP = 4
"""How many clients it takes that one takes another's place, and the order of the others changes."""


def _successor(client: Client) -> int:
    """Who takes the place of client 0: the last of those that had left, or -1 if they are few."""
    return max(LEAVING[: client.clients // 2]) if client.clients >= LEAST_TO_SWAP else -1


class PartitionerWorkload(Workload):
    """Members that come and go share out a set."""

    name = "partitioner"
    catalogue = PARTITIONERS
    adapter = OwnPartitioner
    of_kazoo = ("kazoo.recipe.partitioner:SetPartitioner",)
    model = "mutex for each part"
    main = "acquire"
    holding = Words(thing="share")
    requests = ("create", "delete", "get-children")

    def open(self, recipe: Any, context: ClientContext) -> Member:
        """The client, which is not yet a member."""
        partitioner = recipe(context.kazoo, self.path, PARTS, name=context.name)
        return Member(context, partitioner, recipe.line(self.path).path)

    def believes(self, member: Member) -> bool:
        """Whether the client believes that it owns its share."""
        return bool(member.partitioner.held)

    @operation(timeout=PATIENCE_S, goes_on=True)
    def acquire(self, member: Member, timeout: float) -> Share:
        """Join, unless a member already, and take a share."""
        if not member.partitioner.acquire(timeout):
            raise NotDone(TIMED_OUT)
        return {"session": member.context.session(), "parts": member.parts()}

    @operation(goes_on=True)
    def work(self, member: Member, seconds: float, heeds: bool = True) -> dict[str, bool]:
        """Act on the share for ``seconds``; who ``heeds`` it stops when the members change."""
        until = time.monotonic() + seconds
        while True:
            if not member.partitioner.held:
                raise NotDone("no longer held")
            member.context.act(None)
            changed = member.partitioner.changed
            if (changed and heeds) or time.monotonic() >= until:
                return {"changed": changed}
            time.sleep(GLANCE_S)

    @operation(goes_on=True)
    def release(self, member: Member) -> None:
        """Give up the share, and stay a member."""
        member.partitioner.release()

    @operation(timeout=PATIENCE_S, goes_on=True)
    def leave(self, member: Member, timeout: float) -> None:
        """Give up the membership."""
        member.partitioner.leave(timeout)

    @operation(changes=False)
    def own(self, member: Member, round: int = 0) -> Owned:  # noqa: A002, ARG002 - for the checker
        """Tell which parts are owned now; none if the members have changed since the acquire."""
        owned = member.partitioner.held and not member.partitioner.changed
        return {"parts": sorted(member.parts()) if owned else []}

    @operation(changes=False)
    def inspect(self, member: Member, patience: float) -> Leftovers:
        """Tell which znodes are left under the parts' locks."""
        return {"nodes": until_nothing_is_left(member.left, patience)}

    def load(self, client: Client) -> Steps:
        """Members come, work and go."""
        draws = client.draws
        while not client.is_over:
            patience = HURRIED_S if draws.one_in(4) else PATIENCE_S
            came = yield self._acquire(client, patience, client.context.until)
            if came.type == "ok":
                yield self.work(seconds=draws.uniform(0.2, 1.2))
                yield from self._stay(client)
                yield self.release()
                if draws.one_in(4):
                    yield self.leave()
                    yield client.rest(0.3, 1.3)  # long enough for others to share out the set

    def _stay(self, client: Client) -> Steps:
        """Go on acting for ``STAY_S`` if the client's links are cut, even if the members change.

        Only actions show a belief that is wrong.
        """
        if not client.cut_off:
            return
        end = client.after(STAY_S)
        while client.time < end:
            worked = yield self.work(seconds=PART_S, heeds=False)
            if worked.type != "ok":
                return

    def _acquire(self, client: Client, patience: float, until: int) -> Invocation:
        """An acquire that ends by ``until``; its timeout is ``HURRIED_S`` at least."""
        left = max(HURRIED_S, (until - client.time) / SECOND)
        return self.acquire(timeout=min(patience, left))

    def final(self) -> list[ScriptFunction]:
        """Half of the members leave, and come back when the others have shared out the set.

        When it is shared out among all members, every client tells what it owns. Then the same half
        leaves, and every client tells again when the others have shared out the set. Then one of
        these leaves and one of the others comes at once, so that there are as many members as
        before, and every client tells once more. Then all leave, and one client looks what is left.
        """
        inspect = until_ok(lambda client: self.inspect(patience=client.expiry_s), 5)
        leave = until_ok(self.leave(), 6)
        tell = [until_ok(self.own(round=number), 3) for number in range(2)]
        return [
            *(only(LEAVING, leave), self._settle, tell[0]),
            *(only(LEAVING, leave), only(STAYING, self._settle), tell[1]),
            *(self._swap, self._tell_after_swap),
            *(leave, only([0], inspect)),
        ]

    def _swap(self, client: Client) -> Steps:
        """Client 0 leaves, and another that had left comes at the same time; the others stay."""
        successor = _successor(client)
        if successor < 0:
            return
        if client.number == 0:
            yield client.rest(SWAP_S)
            yield from until_ok(self.leave(), 6)(client)
        elif client.number == successor:
            yield from self._settle(client, SWAP_S)
        elif client.number in STAYING:
            yield from self._settle(client)

    def _tell_after_swap(self, client: Client) -> Steps:
        if _successor(client) >= 0:
            yield from until_ok(self.own(round=2), 3)(client)

    def _settle(self, client: Client, late: float = LATE_S) -> Steps:
        """Take a share, and another one whenever the members change."""
        yield client.rest(late if client.number in LEAVING else 0.0)
        until = client.time + int(SETTLING_S * SECOND)
        while client.time < until:
            came = yield self._acquire(client, PATIENCE_S, until)
            if came.type != "ok":
                continue
            while client.time < until and came.type == "ok" and not came.value.get("changed"):
                came = yield self.work(seconds=0.5)
            if client.time < until:
                yield self.release()

    def judged_by(self) -> Sequence[Check]:
        """Whether every part has one owner, and the checks of timeouts and shares."""
        from rumpus.checker.exclusion import partitions, stability  # noqa: PLC0415 - heavy

        return [
            partial(partitions.check_shares, parts=PARTS),
            check_entitlement,
            check_disconnection,
            check_timeouts,
            check_liveness,
            partial(partitions.check_ownership, parts=PARTS),
            partial(partitions.check_sizes, parts=PARTS),
            stability.check_stability,
        ]

    needs = (accepted_actions,)
    expired = "expiries while holding"

    def expiries(self, timeline: Timeline, results: Sequence[CheckResult]) -> int | None:
        """How many sessions expired while their clients had a share; None without servers' logs."""
        stats = stats_of(results, "shares")
        return int(stats["expiries_while_holding"]) if timeline.truth is not None else None


PARTITIONER = PartitionerWorkload()
