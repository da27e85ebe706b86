"""Jobs: each submitted job is to be done once, and clients that ask for its result are to get it.

The effect of a job is a sequential node named after the job's key, created in one transaction with
the job's completion. So an effect that happens twice leaves two nodes.
"""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from operator import methodcaller
from typing import NotRequired, TypedDict

from kazoo.client import KazooClient

from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.families.job_effects import (
    check_freed_claims,
    check_job_effects,
    expired_claims,
)
from rumpus.checker.timeline.holds import Words
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.leftovers import names_in
from rumpus.harness.generators.generator import SECOND
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, only, until_ok
from rumpus.recipes.jobs.catalogue import BOARDS
from rumpus.recipes.jobs.job_queue import Claim, Jobs
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.framework.workload import FINAL_BOUND_S, Workload
from rumpus.workloads.own.own_interfaces import OwnJobs

TIMEOUT_S = 1.0
GRACE_S = 0.3
"""Both are short, so that operations end while a fault that blocks them lasts."""

LONG_WORK_S = 1.5
"""How long one job in four takes at most, so that faults strike workers during a job."""

QUIET_NS = 2 * SECOND
"""The load alternates between busy and quiet spells of this length. In a quiet one (almost) nobody
claims, so that jobs wait on the board when faults strike."""

BUSY = 4 * ("submit",) + 6 * ("claim",) + ("await", "ask", "forget")
QUIET = 4 * ("submit",) + 3 * ("glance",) + ("await",) + 4 * ("ask",) + ("forget",)
"""What clients do, by weight, in busy and in quiet spells. A ``glance`` is a short ``await``; what
they would ``forget``, their latest job, is done or not."""


class _Done(TypedDict):
    key: str
    result: NotRequired[str | None]


class _Known(TypedDict):
    key: str
    known: bool


class _Forgotten(TypedDict):
    key: str


class _Claimed(TypedDict):
    key: str
    token: int


class _Completed(_Claimed):
    undone: bool


class _Told(TypedDict):
    told: list[str]
    untold: list[str]


class _Audit(TypedDict):
    effects: dict[str, int]
    left: list[str]


@dataclass
class Worker:
    """One client.

    ``claim`` is the job that it works at; ``submitted`` maps each key to the recipe's job name.
    """

    name: str
    kazoo: KazooClient
    jobs: Jobs
    claim: Claim | None = None
    submitted: dict[str, str] = field(default_factory=dict)


class JobsWorkload(Workload):
    """Clients hand jobs in, do those of others, and wait to be told."""

    name = "jobs"
    catalogue = BOARDS
    adapter = OwnJobs
    model = "multiset-queue"
    requests = ("write", "multi", "get-children", "read")
    main = "claim"
    holding = Words(acquire="claim", release="complete", thing="job")

    def open(self, recipe: type[Jobs], context: ClientContext) -> Worker:
        """A worker with the job board."""
        jobs = recipe(context.kazoo, f"{self.path}/board", grace=GRACE_S)
        return Worker(f"c{context.client}", context.kazoo, jobs)

    @operation(timeout=TIMEOUT_S)
    def submit(self, worker: Worker, key: str, timeout: float) -> None:
        """Submit a job; the first time, create the parent node of the effects before."""
        if not worker.submitted:
            worker.kazoo.ensure_path_async(f"{self.path}/effects").get(timeout=timeout)
        worker.submitted[key] = worker.jobs.submit(key.encode(), job=key, timeout=timeout)

    @operation(timeout=0.8)
    def claim(self, worker: Worker, timeout: float) -> _Claimed:
        """Claim a job from the board."""
        worker.claim = worker.jobs.claim(timeout)
        if worker.claim is None:
            raise NotDone("nothing to do")
        return _Claimed(key=worker.claim.payload.decode(), token=worker.claim.token)

    @operation()
    def work(self, _: Worker, pause: float) -> None:
        """Work at the claimed job."""
        time.sleep(pause)

    @operation()
    def complete(self, worker: Worker, *, undone: bool) -> _Completed:
        """Complete the claimed job, or give it back undone."""
        claim, worker.claim = worker.claim, None
        assert claim is not None, "there is a claim before its completion"
        if undone:
            worker.jobs.give_back(claim, TIMEOUT_S)
        else:
            self._complete(worker, claim)
        return _Completed(key=claim.payload.decode(), token=claim.token, undone=undone)

    def _complete(self, worker: Worker, claim: Claim) -> None:
        effect = f"{self.path}/effects/{claim.payload.decode()}:"
        also = methodcaller("create", effect, sequence=True)
        worker.jobs.complete(claim, worker.name, also=also, timeout=TIMEOUT_S)

    @operation(name="await", timeout=TIMEOUT_S)
    def wait(self, worker: Worker, key: str, timeout: float) -> _Done:
        """Wait for the result of one's own job: who has done it."""
        return _Done(key=key, result=self._result(worker, key, timeout))

    @operation(timeout=0.05)
    def ask(self, worker: Worker, key: str, timeout: float) -> _Known:
        """Ask whether a job that any client submitted is known; do not wait for its end."""
        try:
            self._result(worker, key, timeout)
        except KeyError:
            return _Known(key=key, known=False)
        return _Known(key=key, known=True)

    @operation(timeout=TIMEOUT_S)
    def forget(self, worker: Worker, key: str, timeout: float) -> _Forgotten:
        """Forget one's own job, if it is done."""
        name = worker.submitted.pop(key)
        try:
            worker.jobs.forget(name, timeout)
        except ValueError as error:
            worker.submitted[key] = name
            raise NotDone("not done yet") from error
        return _Forgotten(key=key)

    def _result(self, worker: Worker, key: str, timeout: float) -> str:
        result = worker.jobs.result(worker.submitted.get(key, key), timeout)
        if result is None:
            raise NotDone("not done yet")
        return result

    @operation(changes=False)  # jobs that it fails to do are done by the next drain
    def drain(self, worker: Worker, patience: float) -> None:
        """Do jobs, one's own and others', until none is left."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            claim = None
            with suppress(OutcomeUnknown, NotDone):  # another client, or a later round, will do it
                if claim := worker.jobs.claim(0.2):
                    self._complete(worker, claim)
            if claim is None and not names_in(worker.kazoo, f"{self.path}/board/jobs"):
                return

    @operation()
    def collect(self, worker: Worker, patience: float) -> _Told:
        """Wait for the result of each job that the client has submitted."""
        deadline = time.monotonic() + patience
        found = _Told(told=[], untold=[])
        for key, name in worker.submitted.items():
            left = max(0.1, deadline - time.monotonic())
            done = worker.jobs.result(name, min(left, TIMEOUT_S)) is not None
            found["told" if done else "untold"].append(key)
        return found

    @operation(changes=False)
    def audit(self, worker: Worker) -> _Audit:
        """Count the effects by the jobs' keys, and list what is still on the board."""
        names = names_in(worker.kazoo, f"{self.path}/effects")
        effects = Counter(name.partition(":")[0] for name in names)
        return _Audit(effects=effects, left=names_in(worker.kazoo, f"{self.path}/board/jobs"))

    def shared(self) -> list[str]:
        """The keys of the jobs that were submitted: all clients ask for the latest."""
        return []

    def load(self, client: Client) -> Steps:
        """Submit jobs, wait for them and ask; in busy spells also do jobs of any client."""
        own, handed_in, draws = "", client.shared, client.draws
        forgets = hasattr(client.context.recipe, "forget")
        names = (f"p{client.process}-{number}" for number in count())
        while not client.is_over:
            quiet = client.time // QUIET_NS % 2 == 1
            choice = draws.choose(QUIET if quiet else BUSY)
            if choice == "submit":
                key = next(names)
                if (yield self.submit(key=key)).type == "ok":
                    own = key
                    handed_in.append(key)
            elif choice == "ask" and handed_in:
                yield self.ask(key=handed_in[-1])
            elif choice in ("await", "glance") and own:
                yield self.wait(key=own, timeout=TIMEOUT_S if choice == "await" else 0.2)
            elif choice == "forget":
                if own and forgets and (yield self.forget(key=own)).type == "ok":
                    own = ""
            elif (yield self.claim()).type == "ok":
                long = draws.one_in(4)
                pause = draws.uniform(0.005, LONG_WORK_S if long else 0.05)
                yield self.work(pause=round(pause, 4))
                # Who has worked for long may have lost the claim that it gives back.
                yield self.complete(undone=draws.one_in(4 if long else 16))

    def final(self) -> Sequence[ScriptFunction]:
        """Clients do the jobs that are left and get their results; then one audits the effects."""
        drain = until_ok(
            lambda client: self.drain(patience=FINAL_BOUND_S + client.context.session_timeout), 3
        )
        collect = until_ok(self.collect(patience=FINAL_BOUND_S), 3)
        return [drain, collect, only({0}, until_ok(self.audit(), 5))]

    checks = (
        check_job_effects,
        partial(check_timeouts, grace=GRACE_S),
        check_freed_claims,
    )
    expired = "expiries of workers at a job"

    def expiries(self, timeline: Timeline, _: Sequence[CheckResult]) -> int | None:
        """How many workers' sessions expired while they were at a job."""
        return expired_claims(timeline)


JOBS = JobsWorkload()
