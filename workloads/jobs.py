"""Jobs: every client hands jobs in, does those of others, and waits to be told.

Operations: ``submit`` {key, timeout}; ``claim`` {timeout} -> {key, token}; ``work`` {pause};
``complete`` {undone} -> {key, token, undone}: with the effect in the same multi, or the job given
back undone; ``await`` {key, timeout} -> {key, result: the worker's name}: the submitter waits to be
told; ``ask`` {key, timeout} -> {key, known}: a client to whom the name of the latest job was passed
on asks for it. In the end ``drain`` {patience} -> {left}: do whatever is still to be done;
``collect`` {patience} -> {told, untold}: each submitter; ``audit`` -> {effects: {key: how many},
left}.

The effect of a job is a sequential node named after its key, so that one that comes twice shows.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, Final

import msgspec
from kazoo.client import TransactionRequest
from kazoo.exceptions import KazooException, NoNodeError

from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.exclusion.removals import check_removals, removals
from rumpus.checker.families.job_effects import check_job_effects
from rumpus.checker.history import Op, Process
from rumpus.checker.holds import Words
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.verdict import Requirement, Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import (
    each_process,
    each_thread,
    limit,
    on_threads,
    phases,
    repeat,
    until_ok,
)
from rumpus.harness.generators.generator import PENDING, Answer, Context, Generator, Invocation
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.jobs.catalogue import BOARDS
from rumpus.recipes.jobs.job_queue import Claim
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.workloads.framework.judgement import Evidence, judge_exercised
from rumpus.workloads.framework.workload import Workload

WORDS = Words(acquire="claim", work="work", release="complete", thing="job")

BOARD: Final = "board"
EFFECTS: Final = "effects"

TIMEOUT_S: Final = 1.0
"""For whatever should not have to wait for anybody."""

GRACE_S: Final = 0.3
"""Short, as is the timeout, so that operations end while a fault that blocks them lasts."""

CLAIM_TIMEOUT_S: Final = 0.8
ASK_TIMEOUT_S: Final = 0.05
"""Who asks for a job wants to know whether there is one, and does not wait for its end."""

FINAL_BOUND_S: Final = 15.0
"""How long it may take to do all that is left, and to be told, once every fault is healed."""

LONG_WORK_S: Final = 1.5
"""How long one job in four takes at most, so that faults strike workers at it."""

QUIET_NS: Final = 2_000_000_000
"""How long nobody claims, every other time, so that jobs wait on the board when faults strike."""

LEAST_EFFECTS: Final = 20
LEAST_TOLD: Final = 5


class JobCycle(msgspec.Struct, frozen=True):
    """One process's load: hand in, wait to be told, ask, or claim, work and complete.

    For half of the time nobody claims, and a client that handed a job in waits for it instead.

    Args:
        seed: of every choice.
        process: names its jobs.
        until: when nothing new is begun (ns).
        number: of the next job.
        stage: what comes next: ``free``, ``work`` or ``complete``.
        latest: the job handed in last.
    """

    seed: Seed
    process: Process
    until: int
    number: int = 0
    stage: str = "free"
    latest: str | None = None

    def op(self, ctx: Context) -> Answer:
        """The next step, when the process is free."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        if self.stage == "free" and ctx.time >= self.until:
            return None
        f, value = self._next(quiet=ctx.time // QUIET_NS % 2 == 1)
        return Invocation(f, value, process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """What comes next depends on what came of this."""
        if event.type == "invoke":
            return self
        _, seed = self.seed.next()
        number, stage, latest = self.number, "free", self.latest
        if event.f == "submit":
            number += 1
            latest = event.value["key"] if event.type == "ok" else latest
        elif event.f == "claim" and event.type == "ok":
            stage = "work"
        elif event.f == "work":
            stage = "complete"
        return JobCycle(seed, self.process, self.until, number, stage, latest)

    def _next(self, *, quiet: bool) -> tuple[str, dict[str, Any]]:
        dice, seed = self.seed.below(12)
        share = seed.uniform()[0]
        if self.stage == "work":
            return "work", {"pause": round(0.005 + (LONG_WORK_S if dice < 3 else 0.05) * share, 4)}
        if self.stage == "complete":
            return "complete", {"undone": dice == 0}
        if dice < 4:
            return "submit", {"key": f"p{self.process}-{self.number}", "timeout": TIMEOUT_S}
        if dice == 5 or (quiet and dice > 8):
            return "ask", {"timeout": ASK_TIMEOUT_S}
        if self.latest is not None and (dice < 6 or quiet):
            return "await", {"key": self.latest, "timeout": TIMEOUT_S if dice == 4 else 0.2}
        return "claim", {"timeout": CLAIM_TIMEOUT_S}


class PassedOn(msgspec.Struct, frozen=True):
    """Whoever asks for a job asks for the one that was handed in last, by whomever.

    While there is none yet it looks for one to do.
    """

    clients: Generator
    latest: str | None = None

    def op(self, ctx: Context) -> Answer:
        """What a client does next, with the name of the job that it asks for."""
        answer = self.clients.op(ctx)
        if answer is None:
            return None
        what, clients = answer
        if isinstance(what, Invocation) and what.f == "ask":
            if self.latest is None:
                what = Invocation("claim", {"timeout": CLAIM_TIMEOUT_S}, what.process, what.time)
            else:
                value = {"key": self.latest, **what.value}
                what = Invocation("ask", value, what.process, what.time)
        return what, PassedOn(clients, self.latest)

    def update(self, ctx: Context, event: Op) -> Generator:
        """Note what was handed in."""
        handed_in = event.f == "submit" and event.type == "ok"
        latest = event.value["key"] if handed_in else self.latest
        return PassedOn(self.clients.update(ctx, event), latest)


class BoardClient:
    """One client: it submits, and it works."""

    grants = WORDS.acquire
    ends = WORDS.release

    def __init__(self, context: ClientContext, recipe: str, path: str) -> None:
        self._context = context
        self._path = path
        self._jobs = BOARDS[recipe].recipe(context.kazoo, f"{path}/{BOARD}", grace=GRACE_S)
        self._claim: Claim | None = None
        self._laid_out = False
        self._submitted: dict[str, str] = {}
        self._hindrances = (KazooException, context.kazoo.handler.timeout_exception)

    def believes(self) -> bool:
        """Nothing is held that anybody could touch."""
        return False

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation; what escapes is an unknown outcome."""
        try:
            if f == "submit":
                key = value["key"]
                name = self._jobs.submit(key.encode(), job=key, timeout=value["timeout"])
                self._submitted[key] = name
                return Outcome("ok", value)
            if f == "claim":
                return self._do_claim(value["timeout"])
            if f == "work":
                time.sleep(value["pause"])
                return Outcome("ok", value)
            if f == "complete":
                return self._do_complete(undone=value["undone"])
            if f == "await":
                result = self._jobs.result(self._submitted[value["key"]], value["timeout"])
                if result is None:
                    return Outcome("fail", value, "not done yet")
                return _ok({**value, "result": result})
            if f == "ask":
                return self._do_ask(value["key"], value["timeout"])
            if f == "drain":
                return self._do_drain(value["patience"])
            if f == "collect":
                return self._do_collect(value["patience"])
            if f == "audit":
                return self._do_audit()
        except OutcomeUnknown as error:
            return Outcome("info", value, str(error))
        except NotDone as error:
            return Outcome("fail", value, str(error))
        raise ValueError(f"a client of this workload knows no operation {f!r}")

    def _do_claim(self, timeout: float) -> Outcome:
        if not self._laid_out:  # the folder that effects go into
            try:
                kazoo = self._context.kazoo
                kazoo.ensure_path_async(f"{self._path}/{EFFECTS}").get(timeout=TIMEOUT_S)
            except self._hindrances as error:
                return Outcome("fail", error=f"{type(error).__name__}: {error}")
            self._laid_out = True
        self._claim = self._jobs.claim(timeout)
        if self._claim is None:
            return Outcome("fail", {"timeout": timeout}, "nothing to do")
        return _ok({"key": self._claim.payload.decode(), "token": self._claim.token})

    def _do_complete(self, *, undone: bool) -> Outcome:
        claim, self._claim = self._claim, None
        assert claim is not None, "there is a claim before its completion"
        if undone:
            self._jobs.give_back(claim, TIMEOUT_S)
        else:
            self._complete(claim, TIMEOUT_S)
        return _ok({"key": claim.payload.decode(), "token": claim.token, "undone": undone})

    def _complete(self, claim: Claim, timeout: float) -> None:
        effect = f"{self._path}/{EFFECTS}/{claim.payload.decode()}:"

        def also(multi: TransactionRequest) -> None:
            multi.create(effect, sequence=True)

        self._jobs.complete(claim, f"c{self._context.client}", also=also, timeout=timeout)

    def _do_ask(self, key: str, timeout: float) -> Outcome:
        try:
            result = self._jobs.result(self._submitted.get(key, key), timeout)
        except KeyError:
            return _ok({"key": key, "known": False})
        if result is None:
            return Outcome("fail", error="not done yet")
        return _ok({"key": key, "known": True})

    def _do_drain(self, patience: float) -> Outcome:
        """Do jobs until none is left, ours or another's."""
        deadline = time.monotonic() + patience
        while True:
            try:
                claim = self._jobs.claim(CLAIM_TIMEOUT_S / 4)
                if claim is not None:
                    self._complete(claim, TIMEOUT_S)
            except (OutcomeUnknown, NotDone):
                claim = None  # others, or a later round of ours, will have it
            try:
                left = [] if claim is not None else self._names(f"{BOARD}/jobs")
            except self._hindrances as error:
                return Outcome("fail", error=f"{type(error).__name__}: {error}")
            over = time.monotonic() > deadline
            if over or (claim is None and not left):
                return _ok({"left": left})

    def _do_collect(self, patience: float) -> Outcome:
        deadline = time.monotonic() + patience
        told: list[str] = []
        untold: list[str] = []
        for key, name in self._submitted.items():
            left = max(0.1, deadline - time.monotonic())
            found = self._jobs.result(name, min(left, TIMEOUT_S))
            (untold if found is None else told).append(key)
        return _ok({"told": told, "untold": untold})

    def _do_audit(self) -> Outcome:
        try:
            effects = self._names(EFFECTS)
            left = self._names(f"{BOARD}/jobs")
        except self._hindrances as error:
            return Outcome("fail", error=f"{type(error).__name__}: {error}")
        return _ok({"effects": Counter(name.partition(":")[0] for name in effects), "left": left})

    def _names(self, folder: str) -> list[str]:
        """What stands in a folder, by all that was written before."""
        kazoo, path = self._context.kazoo, f"{self._path}/{folder}"
        kazoo.sync_async(path).get(timeout=TIMEOUT_S)
        try:
            return sorted(kazoo.get_children_async(path).get(timeout=TIMEOUT_S))
        except NoNodeError:
            return []


def _ok(value: Any) -> Outcome:
    return Outcome("ok", value)


def client(recipe: str, path: str) -> Callable[[ClientContext], BoardClient]:
    """Makes the client's side for one recipe."""
    return lambda context: BoardClient(context, recipe, path)


def load(setting: WorkloadContext) -> Generator:
    """All clients submit and work until the time is up."""
    return PassedOn(
        each_process(lambda process: JobCycle(setting.seed.child(process), process, setting.until))
    )


def final(setting: WorkloadContext) -> Generator:
    """What is left is done, everybody is told, and somebody looks which effects there are."""
    patience = FINAL_BOUND_S + setting.session_timeout
    drain = Invocation("drain", {"patience": patience})
    collect = Invocation("collect", {"patience": FINAL_BOUND_S})
    return phases(
        each_thread(until_ok(limit(3, repeat(drain)))),
        each_thread(until_ok(limit(3, repeat(collect)))),
        on_threads([0], until_ok(limit(5, repeat(Invocation("audit"))))),
    )


def judge_jobs(evidence: Evidence) -> Verdict:
    """Judge a run."""
    truth = evidence.truth
    effects = check_job_effects(evidence.history, _makers(truth, evidence.path) if truth else None)
    checks = [effects, check_timeouts(evidence.history, grace=GRACE_S)]
    if truth is not None and evidence.clock is not None:
        taken = removals(truth, evidence.clock, f"{evidence.path}/{BOARD}/claims")
        checks.append(check_removals(evidence.history, taken, {}))
    happened = [
        Requirement("effects", LEAST_EFFECTS, effects.stats["effects"]),
        Requirement("told", LEAST_TOLD, effects.stats["told"]),
    ]
    return judge_exercised(
        evidence,
        checks,
        happened=happened,
        expiries=_expired_claims(truth, evidence.path),
        expired="expiries of workers at a job",
    )


def _makers(truth: ServerTruth, path: str) -> dict[str, list[str | None]]:
    """Key -> the session that made each effect that was committed."""
    found: dict[str, list[str | None]] = defaultdict(list)
    for life in truth.znodes(f"{path}/{EFFECTS}"):
        key, mark, _ = life.path.rpartition("/")[2].partition(":")
        if mark:
            found[key].append(life.created_by)
    return found


def _expired_claims(truth: ServerTruth | None, path: str) -> int | None:
    """How many claims, and so jobs, were taken from workers whose sessions had expired.

    Their folder, which is not ephemeral, is no claim though its maker's session may expire.
    """
    if truth is None:
        return None
    return sum(life.how == "expired" for life in truth.znodes(f"{path}/{BOARD}/claims"))


JOBS = Workload(
    name="jobs",
    summary="clients hand jobs in, do those of others, and wait to be told",
    catalogue=BOARDS,
    path="/rumpus/jobs",
    build="rumpus.workloads.jobs:client",
    model="multiset-queue",
    words=WORDS,
    load=load,
    final=final,
    cleanup={},
    requests=("write", "multi", "get-children", "read"),
    judge=judge_jobs,
)
