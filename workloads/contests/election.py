"""Elections: clients campaign, act as leader on what only a leader may touch, and resign.

Operations: ``campaign`` {timeout} -> {session, token, node}; ``lead`` {acts, pause}: the leader
acknowledges that it leads (``acknowledged`` -> the epoch, if that was confirmed), then some
actions on the witness, each after a look whether it still leads; ``resign``; and by one client
that does not campaign while there are faults, ``observe`` -> {epoch, name, acknowledged}: who
leads, null if nobody does; that one's ``reconnect`` drops its connection, so that it looks at
other servers too, and one that is behind among them.
"""

from collections.abc import Callable
from typing import Any, Final

from rumpus.checker.deciders.agreement.leader_election import LEADER_ELECTION
from rumpus.checker.exclusion.acknowledgements import (
    acknowledgements_of,
    check_acknowledgements,
    check_observations,
)
from rumpus.checker.exclusion.leader_sights import check_leader_sights
from rumpus.checker.holds import Words
from rumpus.checker.servers.server_view import server_view
from rumpus.checker.verdict import Requirement, Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import any_of, delay, on_threads, unfold
from rumpus.harness.generators.generator import Context, Generator, Invocation
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.election.catalogue import ELECTIONS
from rumpus.recipes.election.contest_election import ContestElection
from rumpus.recipes.promises import Line
from rumpus.recipes.znodes.znode_access import NotAsked, ZnodeAccess
from rumpus.workloads.contests.contention import ContentionClient, final, load
from rumpus.workloads.framework.judgement import Evidence, judge_contention
from rumpus.workloads.framework.workload import Workload

WORDS = Words(acquire="campaign", work="lead", release="resign", thing="leadership", counted=False)

OBSERVATION_PERIOD_S: Final = 0.05

LOOKS_A_CONNECTION: Final = 8

OBSERVATION_PATIENCE_S: Final = 3.0

LEAST_OBSERVATIONS: Final = 10
"""How often a leader that had acknowledged must have been seen."""


class ElectionClient(ContentionClient):
    """A candidate, a leader that says that it leads, or an observer."""

    def __init__(self, context: ClientContext, election: ContestElection, line: Line) -> None:
        super().__init__(
            context,
            WORDS,
            acquire=election.campaign,
            release=election.resign,
            held=lambda: election.leading,
            grant=election,
            line=line,
        )
        self._election = election
        self._access = ZnodeAccess(context.kazoo, line.path)

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation; what escapes is an unknown outcome."""
        if f == "observe":
            return self._do_observe()
        if f == "reconnect":
            return self._reconnect()
        if f == WORDS.work:
            acknowledged = self._acknowledge()
            outcome = super().invoke(f, value)
            told = {**outcome.value, "acknowledged": acknowledged}
            return Outcome(outcome.type, told, outcome.error)
        return super().invoke(f, value)

    def _reconnect(self) -> Outcome:
        try:
            self._access.reconnect()
        except NotAsked as error:
            return Outcome("fail", error=str(error))
        return Outcome("ok")

    def _contenders(self) -> list[dict[str, Any]]:
        """What is left of the line, and of acknowledgements."""
        line, nodes = self._line, super()._contenders()
        self._line = Line(kind="pool", path=f"{line.path}-acknowledged")
        try:
            return nodes + super()._contenders()
        finally:
            self._line = line

    def _acknowledge(self) -> int | None:
        epoch = self._election.token
        try:
            self._election.acknowledge()
        except (LockUnknown, NotHeld):
            return None
        return epoch

    def _do_observe(self) -> Outcome:
        try:
            leader = self._election.leader(OBSERVATION_PATIENCE_S)
        except LockUnknown as error:
            return Outcome("fail", error=str(error))
        if leader is None:
            return Outcome("ok")
        return Outcome(
            "ok",
            {"epoch": leader.epoch, "name": leader.name, "acknowledged": leader.acknowledged},
        )


def client(recipe: str, path: str) -> Callable[[ClientContext], ElectionClient]:
    """Makes the client's side for one recipe."""
    kind = ELECTIONS[recipe].recipe

    def build(context: ClientContext) -> ElectionClient:
        election = kind(context.kazoo, path, name=f"c{context.client}")
        return ElectionClient(context, election, kind.line(path))

    return build


def load_with_observer(setting: WorkloadContext) -> Generator:
    """All clients campaign but the last, which observes."""
    observer = max(1, setting.clients - 1)

    def look(count: int, ctx: Context) -> tuple[Invocation, int] | None:
        f = "observe" if (count + 1) % LOOKS_A_CONNECTION else "reconnect"
        return (Invocation(f), count + 1) if ctx.time < setting.until else None

    return any_of(
        on_threads(range(observer), load(WORDS, setting)),
        on_threads([observer], delay(OBSERVATION_PERIOD_S, unfold(look, 0))),
    )


def judge(evidence: Evidence) -> Verdict:
    """As for every contest; besides, whether followers were told the truth."""
    history = evidence.history
    seen = check_observations(history, campaign=WORDS.acquire, lead=WORDS.work, observe="observe")
    more = [seen]
    line = evidence.line
    if evidence.truth is not None and evidence.clock is not None and line is not None:
        view = server_view(
            evidence.truth, evidence.clock, kind=line.kind, path=line.path, mark=line.mark
        )
        below = f"{line.path}-acknowledged"
        known = (history, evidence.truth, evidence.clock, view.owners)
        said = acknowledgements_of(evidence.truth, below)
        more.append(check_acknowledgements(*known, below, lead=WORDS.work))
        more.append(check_leader_sights(*known, said, observe="observe"))
    observed = Requirement(
        "acknowledged leaders observed",
        LEAST_OBSERVATIONS,
        seen.stats["of one that had acknowledged"],
    )
    return judge_contention(
        evidence, WORDS, nobody="leaderless", more=more, happened=[observed], model=LEADER_ELECTION
    )


ELECTION = Workload(
    name="election",
    summary="clients campaign, act as leader, and resign; another one observes who leads",
    catalogue=ELECTIONS,
    path="/rumpus/election",
    build="rumpus.workloads.contests.election:client",
    model="leader-election",
    words=WORDS,
    load=load_with_observer,
    final=lambda setting: final(WORDS, setting),
    cleanup={WORDS.acquire: WORDS.release},
    judge=judge,
    contended=True,
    timed_actions=True,
)
