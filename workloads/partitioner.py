"""A set shared out among members that come and go.

Operations: ``acquire`` {timeout} -> {session, parts}: join and take a share, ``parts`` is name ->
{node, token, session}; ``work`` {seconds}: look, over and over, whether the share is still held,
until the members change; ``release``: let go and stay a member; ``leave`` {timeout, away}: and
stay away for so long; ``own`` {round} -> {parts}: what is owned now; ``inspect``: what is left in
the lines.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec
from kazoo.exceptions import KazooException

from rumpus.checker.every_run.liveness import check_liveness
from rumpus.checker.every_run.timeouts import TIMED_OUT, check_timeouts
from rumpus.checker.exclusion.entitlement import check_entitlement
from rumpus.checker.exclusion.mutual_exclusion import ServerView
from rumpus.checker.exclusion.partitions import (
    check_ownership,
    check_shares,
    check_sizes,
    members_at_once,
)
from rumpus.checker.history import Op
from rumpus.checker.holds import Words
from rumpus.checker.servers.server_view import server_view
from rumpus.checker.verdict import Requirement, Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import (
    any_of,
    each_process,
    each_thread,
    limit,
    on_threads,
    phases,
    repeat,
    until_ok,
)
from rumpus.harness.generators.generator import (
    PENDING,
    Answer,
    Context,
    Generator,
    Invocation,
    Pending,
)
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.partitioner.catalogue import PARTITIONERS
from rumpus.workloads.contests.partition_client_base import (
    LINGER_S,
    ContentionClient,
    accepted_actions,
)
from rumpus.workloads.framework.judgement import (
    LEAST_HANDOVERS,
    Evidence,
    judge_exercised,
)
from rumpus.workloads.framework.workload import Workload

WORDS: Final = Words(acquire="acquire", work="work", release="release", thing="share")

PARTS: Final = ("a", "b", "c", "d", "e", "f", "g")

LISTS_STALE: Final = 2
"""How many session timeouts old a list of members may be at most."""

HURRIED_S: Final = 0.4
"""The timeout of one acquire in four: often too short for others to let go."""

PATIENCE_S: Final = 5.0

SETTLING_S: Final = 12.0
"""How long members may take to share out the set when every fault is healed."""

LATE_S: Final = 3.0
"""How much later in the final phase those come who have left: the others have their shares then."""

GLANCE_S: Final = 0.02


class Membership(msgspec.Struct, frozen=True):
    """One process's load: acquire, work, release, and now and then leave.

    In the final phase (``stays``) nobody leaves, and shares are let go of only when the members
    have changed; it begins ``late`` seconds after it was first asked, and ends ``SETTLING_S`` after
    that.
    """

    seed: Seed
    until: int | None
    stays: bool = False
    stage: str = "acquire"
    late: float = 0.0

    def op(self, ctx: Context) -> Answer:
        """The next step, when the process is free."""
        settled = int(SETTLING_S * 1e9)
        until = self.until or ctx.time + int(self.late * 1e9) + settled
        here = msgspec.structs.replace(self, until=until)
        if self.stays and ctx.time < until - settled:
            return Pending(until - settled), here
        process = ctx.next_free()
        if process is None:
            return PENDING, here
        over = ctx.time >= until
        if over and (self.stays or self.stage == "acquire"):
            return None
        share, _ = self.seed.uniform()
        value: dict[str, Any] | None = None
        if self.stage == "acquire":
            left = (until - ctx.time) / 1e9
            hurried = not self.stays and self.seed.child("hurried").below(4)[0] == 0
            patience = HURRIED_S if hurried else PATIENCE_S
            value = {"timeout": round(min(patience, max(HURRIED_S, left)), 3)}
        elif self.stage == "work":
            value = {"seconds": 0.5 if self.stays else 0.0 if over else round(0.2 + share, 3)}
        elif self.stage == "leave":
            value = {"timeout": PATIENCE_S, "away": 0.0 if over else round(0.3 + share, 3)}
        return Invocation(self.stage, value, process, ctx.time), here

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """What comes next depends on what came of this."""
        if event.type == "invoke":
            return self
        dice, seed = self.seed.next()[1].below(4)
        stage = "acquire"
        if event.f == "acquire":
            stage = "work" if event.type == "ok" else "acquire"
        elif event.f == "work":
            calm = self.stays and event.type == "ok" and not event.value.get("changed")
            stage = "work" if calm else "release"
        elif event.f == "release" and dice == 0 and not self.stays:
            stage = "leave"
        return msgspec.structs.replace(self, seed=seed, stage=stage)


def load(setting: WorkloadContext) -> Generator:
    """Members come, work and go until the time is up."""
    return each_process(lambda process: Membership(setting.seed.child(process), setting.until))


def final(setting: WorkloadContext) -> Generator:
    """Half of the members leave, and come back when the others have shared out the set.

    When it is shared out among all, all tell what they own; then half of them leave for good. When
    the others have shared it out among themselves all tell again; then they leave too, and one
    looks.
    """

    def stay(number: int, members: Sequence[int], late: float = 0.0) -> Generator:
        seed = setting.seed.child(f"final {number}")
        return on_threads(members, each_thread(Membership(seed, None, stays=True, late=late)))

    def tell(number: int) -> Generator:
        return each_thread(until_ok(limit(3, repeat(Invocation("own", {"round": number})))))

    leave = until_ok(limit(6, repeat(Invocation("leave", {"timeout": PATIENCE_S, "away": 0.0}))))
    inspect = Invocation("inspect", {"patience": round(setting.session_timeout + 3.0, 3)})
    clients = range(setting.clients)
    return phases(
        on_threads(clients[1::2], each_thread(leave)),
        any_of(stay(0, clients[::2]), stay(0, clients[1::2], late=LATE_S)),
        tell(0),
        on_threads(clients[1::2], each_thread(leave)),
        stay(1, clients[::2]),
        tell(1),
        on_threads(clients[::2], each_thread(leave)),
        on_threads([0], until_ok(limit(5, repeat(inspect)))),
    )


class PartitionClient(ContentionClient):
    """The client's side: drives one partitioner."""

    def __init__(self, context: ClientContext, partitioner: Any, line: Any) -> None:
        super().__init__(
            context,
            WORDS,
            acquire=partitioner.acquire,
            release=partitioner.release,
            held=lambda: partitioner.held,
            grant=partitioner,
            line=line,
        )
        self._partitioner = partitioner

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation; what escapes is an unknown outcome."""
        try:
            if f == "work":
                return self._watch_over(value["seconds"])
            if f == "leave":
                self._partitioner.leave(value["timeout"])
                time.sleep(value["away"])  # long enough for others to share out the set
                return Outcome("ok")
            if f == "own":
                owned = self._partitioner.held and not self._partitioner.changed
                return Outcome("ok", {"parts": sorted(self._parts()) if owned else []})
            return super().invoke(f, value)
        except (LockUnknown, KazooException) as error:
            return Outcome("info", value, f"{type(error).__name__}: {error}")

    def _parts(self) -> dict[str, dict[str, Any]]:
        return {
            name: {
                "node": part.node,
                "token": part.token,
                "session": None
                if part.session is None
                else f"0x{part.session & 0xFFFFFFFFFFFFFFFF:x}",
            }
            for name, part in self._partitioner.parts.items()
        }

    def _do_acquire(self, timeout: float) -> Outcome:
        try:
            if not self._acquire(timeout):
                return Outcome("fail", error=TIMED_OUT)
        except NotHeld as error:
            return Outcome("fail", error=str(error))
        return Outcome("ok", {"session": self._context.session(), "parts": self._parts()})

    def _watch_over(self, seconds: float) -> Outcome:
        """Act on the share for so long; longer, for ``LINGER_S``, behind a broken link."""
        until = time.monotonic() + seconds
        linger = False
        while True:
            if not self._partitioner.held:
                return Outcome("fail", error="no longer held")
            if not linger and self._context.act(None).linger:
                linger, until = True, time.monotonic() + LINGER_S
            changed = self._partitioner.changed and not linger
            if changed or time.monotonic() >= until:
                return Outcome("ok", {"changed": self._partitioner.changed})
            time.sleep(GLANCE_S)

    def _contenders(self) -> list[dict[str, Any]]:
        whole = self._line
        nodes = []
        for part in PARTS:
            self._line = replace(whole, path=f"{whole.path}/{part}")
            try:
                nodes += super()._contenders()
            finally:
                self._line = whole
        return nodes


def client(recipe: str, path: str) -> Callable[[ClientContext], PartitionClient]:
    """Makes the client's side for one recipe."""
    kind = PARTITIONERS[recipe].recipe

    def build(context: ClientContext) -> PartitionClient:
        partitioner = kind(context.kazoo, path, PARTS, name=f"c{context.client}")
        return PartitionClient(context, partitioner, kind.line(path))

    return build


def judge_partitioner(evidence: Evidence) -> Verdict:
    """Has every part one owner?"""
    history, promises, line = evidence.history, evidence.promises, evidence.line

    def server(part: str) -> ServerView | None:
        if evidence.truth is None or evidence.clock is None or line is None:
            return None
        return server_view(
            evidence.truth,
            evidence.clock,
            kind=line.kind,
            path=f"{line.path}/{part}",
            mark=line.mark,
        )

    checks = check_shares(
        history,
        PARTS,
        server,
        WORDS,
        tokens=promises.tokens,
        lateness_matters="unaware-holder" in promises.prevents,
    )
    shares = checks[0]
    holds = evidence.holds(WORDS)
    checks += [check_entitlement(history, holds, None, WORDS), check_timeouts(history)]
    checks.append(check_liveness(history, WORDS))
    checks.append(check_ownership(history, PARTS))
    members = None
    if evidence.truth is not None and evidence.clock is not None and line is not None:
        stale = int(LISTS_STALE * evidence.session_timeout * 1e9)
        members = members_at_once(evidence.truth, evidence.clock, evidence.path, line.path, stale)
    checks.append(check_sizes(history, PARTS, members, WORDS))
    return judge_exercised(
        evidence,
        checks,
        happened=[
            Requirement("parts that got another owner", LEAST_HANDOVERS, shares.stats["handovers"]),
            accepted_actions(history),
        ],
        expiries=shares.stats["expiries_while_holding"] if evidence.truth else None,
    )


PARTITIONER = Workload(
    name="partitioner",
    summary="members that come and go share out a set",
    catalogue=PARTITIONERS,
    path="/rumpus/partitioner",
    build="rumpus.workloads.partitioner:client",
    model="mutex for each part",
    words=WORDS,
    load=load,
    final=final,
    cleanup={},
    judge=judge_partitioner,
    requests=("create", "delete", "get-children"),
)
