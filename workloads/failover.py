"""A database with a primary and replicas: clients write and read while roles change hands.

Every client's process is a member of the database, and a user of it. Operations: ``append`` a
value -> {epoch, at}, at the primary, once a majority has it; ``read`` -> all values in order;
``step-down``: the member ends its term, if it is the primary; ``hand-back``: it gives the
appointment back and serves on, cut off from the others for ``seconds``, as one that does not know
that it was deposed; ``isolate``: it is cut off from the other members for ``seconds``; ``leave``:
the member's session ends, and it comes back in another one, which is an ``info`` like that of any
client that has to be started anew;
``converge`` {patience}: wait until the own copy is what a read returns -> {values}.
"""

import time
from collections.abc import Callable
from math import inf
from typing import Any

import msgspec

from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.exclusion.mutual_exclusion import check_exclusion
from rumpus.checker.exclusion.unasked_holds import unasked_holds
from rumpus.checker.families.replication import check_recovery, check_replication
from rumpus.checker.history import Op
from rumpus.checker.holds import Words
from rumpus.checker.verdict import Requirement, Verdict
from rumpus.harness.clients.client_body import ClientContext, Leaves, Outcome
from rumpus.harness.generators.combinators import (
    each_process,
    each_thread,
    limit,
    phases,
    repeat,
    stagger,
    time_limit,
    until_ok,
)
from rumpus.harness.generators.generator import PENDING, Answer, Context, Generator, Invocation
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.failover.catalogue import FAILOVER
from rumpus.recipes.failover.client import FailoverClient
from rumpus.recipes.failover.database import FailoverDatabase
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.workloads.framework.judgement import Evidence, judge_exercised, view_of_servers
from rumpus.workloads.framework.workload import Workload

WORDS = Words(acquire="", work="", release="", thing="role of the primary")
"""Nobody asks for the role: whoever believes that it is the primary plays the holder."""

PATIENCE_S = 0.5
"""How long a user waits for its write or read: not so long that everybody waits for a primary that
is cut off, and nobody writes at its successor."""

FINAL_PATIENCE_S = 2.0
"""How long, to see at the end what the primary has."""

PERIOD_S = 0.02
"""Mean time between two operations of the load, all clients together."""

MIX = 40
"""Of so many operations of the load, those in ``OTHERS`` are no writes."""

OTHERS = {
    **dict.fromkeys(range(10), "read"),
    **dict.fromkeys(range(10, 14), "isolate"),
    **dict.fromkeys(range(14, 19), "hand-back"),
    19: "step-down",
    20: "leave",
}
"""Of ``hand-back`` and ``step-down`` some meet the primary. Members are cut off from the
others, so that the role passes from those who have the latest writes to those who have not; and
those who wait for it leave the line, from its middle mostly."""

NEXT_S = 1.0
"""How long who is to hand the role back waits until it has it."""

TERM_S = 0.1
"""How long it has it then: long enough to acknowledge something, and not much."""

ISOLATED_S = (0.2, 0.6, 1.0)
"""For how long a member is cut off from the others."""

AFTER_S = (0.0, 0.4)
"""How long a primary is cut off before it hands the role back: not at all, so that users whom it
answered just now ask it again; or so long that it has writes that nobody else has."""

FINAL_BOUND_S = 15.0
"""How long it may take until everybody can write once more, and until every copy is the same."""

LEAST_WRITES = 50
"""How many acknowledged writes make a run meaningful."""

_VALUES = 100_000
"""Values of one process at most, of which the later half is for the final phase."""


class Writes(msgspec.Struct, frozen=True):
    """One process's requests: values that nobody else writes, and now and then something else.

    Args:
        seed: decides what is no write; None: everything is one.
        until: when it ends (nanoseconds on the run's clock); None: never.
        number: of the next value.
    """

    seed: Seed | None
    until: int | None
    number: int = 0

    def op(self, ctx: Context) -> Answer:
        """The next request, when the process is free."""
        process = ctx.next_free()
        if self.until is not None and ctx.time >= self.until:
            return None
        if process is None:
            return PENDING, self
        dice, seed = self.seed.below(MIX) if self.seed else (MIX, None)
        after = Writes(seed, self.until, self.number + 1)
        f = OTHERS.get(dice, "append")
        if f != "append":
            value = {
                "isolate": {"seconds": ISOLATED_S[self.number % 3]},
                "hand-back": {"after": AFTER_S[self.number % 2], "seconds": ISOLATED_S[-1]},
            }.get(f)
            return Invocation(f, value, process, ctx.time), after
        return Invocation("append", int(process) * _VALUES + self.number, process, ctx.time), after

    def update(self, _ctx: Context, _event: Op) -> Generator:
        """What comes next does not depend on what came of it."""
        return self


def load(setting: WorkloadContext) -> Generator:
    """Everybody writes, and reads now and then."""
    return stagger(
        PERIOD_S,
        each_process(lambda process: Writes(setting.seed.child(process), setting.until)),
        seed=setting.seed,
    )


def final(_setting: WorkloadContext) -> Generator:
    """Everybody writes once more; then looks at its own copy."""
    converge = Invocation("converge", {"patience": FINAL_BOUND_S})
    return phases(
        each_thread(time_limit(FINAL_BOUND_S, until_ok(Writes(None, None, _VALUES // 2)))),
        each_thread(until_ok(limit(2, repeat(converge)))),
    )


class Isolation:
    """For how long nothing passes between a member and the others."""

    def __init__(self) -> None:
        self._until = -inf

    def begin(self, seconds: float) -> None:
        """It lasts so long from now, or as long as it lasts already. Returns at once."""
        self._until = max(self._until, time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds to its end; 0 when there is none."""
        return max(0.0, self._until - time.monotonic())


class FailoverMember:
    """One client: a member of the database, and a user of it."""

    grants = ends = ""

    def __init__(
        self, context: ClientContext, database: FailoverDatabase, isolation: Isolation, path: str
    ) -> None:
        self._database = database
        self._isolation = isolation
        self._user = FailoverClient(context.kazoo, path)

    def believes(self) -> bool | float:
        """For how long this member believes that it is the primary."""
        return self._database.remaining() or False

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation."""
        try:
            if f == "append":
                answer = self._user.write(value, PATIENCE_S)
                return Outcome("ok", {"epoch": answer["epoch"], "at": answer["at"]})
            if f == "read":
                return Outcome("ok", self._user.read(PATIENCE_S))
            if f == "isolate":
                self._isolation.begin(value["seconds"])
                return Outcome("ok")
            if f == "hand-back":
                handed = self._hand_back(value["after"], value["seconds"])
                return Outcome("ok") if handed else Outcome("fail", error="not the primary")
            if f == "step-down":
                stepped = self._database.step_down()
                return Outcome("ok") if stepped else Outcome("fail", error="not the primary")
            if f == "leave":
                raise Leaves
            if f == "converge":
                return self._converge(value["patience"])
        except NotDone as error:
            return Outcome("fail", error=str(error))
        except OutcomeUnknown as error:
            return Outcome("info" if f == "append" else "fail", error=str(error))
        raise ValueError(f"a client of this workload knows no operation {f!r}")

    def _hand_back(self, after: float, isolated: float) -> bool:
        """As when a primary is cut off from everybody, and its session expires meanwhile."""
        deadline = time.monotonic() + NEXT_S
        while not self._database.remaining() and time.monotonic() < deadline:
            time.sleep(TERM_S / 10)
        if not self._database.remaining():
            return False
        time.sleep(TERM_S)
        self._isolation.begin(isolated)
        time.sleep(after)
        return self._database.hand_back()

    def _converge(self, patience: float) -> Outcome:
        """Wait until the own copy is the primary's."""
        deadline = time.monotonic() + patience
        while True:
            read = self._user.read(FINAL_PATIENCE_S)
            own = self._database.values()
            if own == read:
                return Outcome("ok", {"values": own})
            if time.monotonic() > deadline:
                return Outcome("fail", error=f"{len(own)} values here, {len(read)} at the primary")
            time.sleep(0.1)


def client(recipe: str, path: str, clients: int) -> Callable[[ClientContext], FailoverMember]:
    """Makes the client's side for one recipe."""
    kind = FAILOVER[recipe].recipe
    former: list[FailoverDatabase] = []

    def build(context: ClientContext) -> FailoverMember:
        while former:  # its session was given up, not its process
            former.pop().close()
        isolation = Isolation()
        database = kind(
            context.kazoo,
            path,
            name=f"c{context.client}",
            members=clients,
            host=context.host,
            files=context.home,
            role_changed=context.look_at_belief,
            isolated=isolation.left,
        )
        former.append(database)
        return FailoverMember(context, database, isolation, path)

    return build


def judge_failover(evidence: Evidence) -> Verdict:
    """Judge a run: the writes, the reads, the role, and the final phase."""
    history, promises = evidence.history, evidence.promises
    replication = check_replication(history)
    checks = [
        check_exclusion(
            history,
            unasked_holds(history),
            view_of_servers(evidence),
            WORDS,
            lateness_matters="unaware-holder" in promises.prevents,
        ),
        replication,
        check_model(history, MODELS["append"], "not-linearizable", functions=("append", "read")),
    ]
    checks.append(check_recovery(history))
    return judge_exercised(
        evidence,
        checks,
        happened=[
            Requirement("acknowledged writes", LEAST_WRITES, replication.stats["acknowledged"])
        ],
        expiries=replication.stats["primaries"] - 1,
        expired="fail-overs",
    )


FAILOVER_WORKLOAD = Workload(
    name="failover",
    summary="a database of all clients elects its primary, and loses no acknowledged write",
    catalogue=FAILOVER,
    path="/rumpus/failover",
    build="rumpus.workloads.failover:client",
    model="append",
    words=WORDS,
    load=load,
    final=final,
    cleanup={},
    judge=judge_failover,
    requests=("write", "read"),
    sized=True,
)
