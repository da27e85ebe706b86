"""A set of parts shared out among members that come and go.

``acquire`` joins and takes a share; ``work`` goes on until the members change; ``release`` lets go
and stays a member; ``own`` tells what is owned now; ``inspect`` what is left in the lines.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NotRequired, TypedDict, get_args

from rumpus.checker.every_run.liveness import check_liveness
from rumpus.checker.every_run.timeouts import TIMED_OUT, check_timeouts
from rumpus.checker.exclusion.entitlement import check_entitlement
from rumpus.checker.exclusion.mutual_exclusion import ServerView
from rumpus.checker.holds import Words
from rumpus.checker.verdict import CheckResult
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.leftovers import (
    Leftovers,
    Node,
    children_of,
    hexadecimal,
    nodes_at,
    until_nothing_is_left,
)
from rumpus.harness.generators.generator import SECOND, Invocation
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, only, until_ok
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.partitioner.catalogue import PARTITIONERS
from rumpus.workloads.framework.checks import accepted_actions, counted, stats_of
from rumpus.workloads.framework.judgement import Evidence, view_of_servers
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.framework.workload import Workload

Part = Literal["a", "b", "c", "d", "e", "f", "g"]
PARTS: tuple[Part, ...] = get_args(Part)

LISTS_STALE = 2
"""How many session timeouts old a list of members may be at most."""

HURRIED_S, PATIENCE_S = 0.4, 5.0
"""The timeouts of one acquire in four, often too short for others to let go, and of the others."""

SETTLING_S = 12.0
"""How long members may take to share out the set when every fault is healed."""

STAYING, LEAVING = range(0, 10_000, 2), range(1, 10_000, 2)
"""Who stays a member in the final phase, and who leaves and comes back."""

LATE_S = 3.0
"""How much later those come back: the others have their shares then."""

GLANCE_S = 0.02
"""From one action of an owner to the next."""

LINGER_S = 10.0
"""How long an owner with broken links goes on acting: past its session's expiry, and past the
time by which it should have known."""


class Grant(TypedDict):
    """How a part is owned."""

    node: str | None
    token: int | None
    session: str | None


class Share(TypedDict):
    """What is owned, and in which session it was acquired."""

    session: NotRequired[str | None]
    parts: dict[Part, Grant]


class Owned(TypedDict):
    """What is owned now."""

    parts: list[Part]


@dataclass
class Member:
    """A client, and its part in sharing out the set."""

    context: ClientContext
    partitioner: Any
    lines: str

    def parts(self) -> dict[Part, Grant]:
        """What it owns."""
        owned = {}
        for name, part in self.partitioner.parts.items():
            session = None if part.session is None else hexadecimal(part.session)
            owned[name] = Grant(node=part.node, token=part.token, session=session)
        return owned

    def left(self) -> list[Node]:
        """What stands in the lines for the parts."""
        kazoo, lines = self.context.kazoo, [f"{self.lines}/{part}" for part in PARTS]
        paths = [path for line in lines for path in children_of(kazoo, line)]
        return nodes_at(kazoo, paths)


class PartitionerWorkload(Workload):
    """Members that come and go share out a set."""

    name = "partitioner"
    catalogue = PARTITIONERS
    model = "mutex for each part"
    main = "acquire"
    holding = Words(thing="share")
    contended = False  # many have a share at once
    requests = ("create", "delete", "get-children")

    def open(self, recipe: Any, context: ClientContext) -> Member:
        """No member yet."""
        partitioner = recipe(context.kazoo, self.path, PARTS, name=f"c{context.client}")
        return Member(context, partitioner, recipe.line(self.path).path)

    def believes(self, member: Member) -> bool:
        """Whether it believes that its share is its own."""
        return bool(member.partitioner.held)

    @operation(timeout=PATIENCE_S, goes_on=True)
    def acquire(self, member: Member, timeout: float) -> Share:
        """Join, if need be, and take a share."""
        if not member.partitioner.acquire(timeout):
            raise NotDone(TIMED_OUT)
        return {"session": member.context.session(), "parts": member.parts()}

    @operation(goes_on=True)
    def work(self, member: Member, seconds: float) -> dict[str, bool]:
        """Act on the share for so long, or until the members change.

        Behind a broken link, for ``LINGER_S`` in any case.
        """
        until, lingers = time.monotonic() + seconds, False
        while True:
            if not member.partitioner.held:
                raise NotDone("no longer held")
            if not lingers and member.context.act(None).linger:
                until, lingers = time.monotonic() + LINGER_S, True
            changed = member.partitioner.changed
            if (changed and not lingers) or time.monotonic() >= until:
                return {"changed": changed}
            time.sleep(GLANCE_S)

    @operation(goes_on=True)
    def release(self, member: Member) -> None:
        """Let go of the share, and stay a member."""
        member.partitioner.release()

    @operation(timeout=PATIENCE_S, goes_on=True)
    def leave(self, member: Member, timeout: float) -> None:
        """Be a member no longer."""
        member.partitioner.leave(timeout)

    @operation(changes=False)
    def own(self, member: Member, round: int = 0) -> Owned:  # noqa: A002, ARG002 - for the checker
        """Tell what is owned now; nothing that is to be shared out anew."""
        owned = member.partitioner.held and not member.partitioner.changed
        return {"parts": sorted(member.parts()) if owned else []}

    @operation(changes=False)
    def inspect(self, member: Member, patience: float) -> Leftovers:
        """Tell what is left in the lines."""
        return {"nodes": until_nothing_is_left(member.left, patience)}

    def load(self, client: Client) -> Steps:
        """Members come, work and go."""
        draws = client.draws
        while not client.is_over:
            patience = HURRIED_S if draws.one_in(4) else PATIENCE_S
            came = yield self._acquire(client, patience, client.context.until)
            if came.type == "ok":
                yield self.work(seconds=draws.uniform(0.2, 1.2))
                yield self.release()
                if draws.one_in(4):
                    yield self.leave()
                    yield client.rest(0.3, 1.3)  # long enough for others to share out the set

    def _acquire(self, client: Client, patience: float, until: int) -> Invocation:
        """With no more patience than there is time left, as far as that makes sense."""
        left = max(HURRIED_S, (until - client.time) / SECOND)
        return self.acquire(timeout=min(patience, left))

    def final(self) -> list[ScriptFunction]:
        """Half of the members leave, and come back when the others have shared out the set.

        When it is shared out among all, all tell what they own; then half of them leave for good.
        When the others have shared it out among themselves all tell again; then they leave too,
        and one looks.
        """
        inspect = until_ok(
            lambda client: self.inspect(patience=client.context.session_timeout + 3.0), 5
        )
        leave = until_ok(self.leave(), 6)
        tell = [until_ok(self.own(round=number), 3) for number in range(2)]
        return [
            *(only(LEAVING, leave), self._settle, tell[0]),
            *(only(LEAVING, leave), only(STAYING, self._settle), tell[1]),
            *(only(STAYING, leave), only([0], inspect)),
        ]

    def _settle(self, client: Client) -> Steps:
        """Take a share, and another one whenever the members change."""
        yield client.rest(LATE_S if client.number in LEAVING else 0.0)
        until = client.time + int(SETTLING_S * SECOND)
        while client.time < until:
            came = yield self._acquire(client, PATIENCE_S, until)
            if came.type != "ok":
                continue
            while client.time < until and came.type == "ok" and not came.value.get("changed"):
                came = yield self.work(seconds=0.5)
            if client.time < until:
                yield self.release()

    def results(self, evidence: Evidence) -> list[CheckResult]:
        """Has every part one owner?"""
        from rumpus.checker.exclusion import partitions  # noqa: PLC0415 - see framework.checks

        history, words, line = evidence.history, self.words, evidence.line
        promises, lines = evidence.promises, line.path if line else ""
        stale = int(LISTS_STALE * evidence.session_timeout * SECOND)
        members = partitions.members_at_once(
            evidence.truth, evidence.clock, evidence.path, lines, stale
        )

        def server(part: str) -> ServerView | None:
            its = line and replace(line, path=f"{line.path}/{part}")
            return view_of_servers(replace(evidence, line=its))

        aware = "unaware-holder" in promises.prevents
        return [
            *partitions.check_shares(
                history, PARTS, server, words, tokens=promises.tokens, lateness_matters=aware
            ),
            check_entitlement(history, evidence.holds(words), None, words),
            check_timeouts(history),
            check_liveness(history, words),
            partitions.check_ownership(history, PARTS),
            partitions.check_sizes(history, PARTS, members, words),
        ]

    needs = (
        counted(10, "handovers", "shares", "parts that got another owner"),
        accepted_actions,
    )
    expired = "expiries while holding"

    def expiries(self, evidence: Evidence, results: Sequence[CheckResult]) -> int | None:
        """Those that only the servers' logs tell."""
        stats = stats_of(results, "shares")
        return int(stats["expiries_while_holding"]) if evidence.truth is not None else None


PARTITIONER = PartitionerWorkload()
