"""Two-phase commit: every client coordinates transactions of its own, and votes in those of others.

Operations:

- ``begin`` {key, participants, writes}: create a transaction; with ``writes`` the coordinator
  dies on purpose at that write (`workloads.mortal_client`), and the outcome is unknown;
- ``vote`` {key, value: yes or no}: a participant's vote; every other transaction is joined first;
- ``decide`` {key, timeout} -> {key, value: commit or abort}: the decision, learned or made;
- ``abandon`` {key, writes}: the coordinator sets out to decide and dies at that write;
- ``outcomes`` {patience} -> {outcomes: {key: decision}, blocked: [key]}: in the end, all of them.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import msgspec
from kazoo.exceptions import NodeExistsError

from checker.commitments import check_commitments, check_ends
from checker.exercise import check_exercise
from checker.history import Op
from checker.holds import Words
from checker.model_check import check_model
from checker.registry import MODELS
from checker.server_truth import ServerTruth
from checker.verdict import Requirement, Verdict, judge
from harness.client_body import ClientContext, Outcome
from harness.combinators import each_thread, limit, repeat, until_ok
from harness.generator import Answer, Context, Generator, Invocation, Pending
from harness.seed import Seed
from recipes.catalogue.two_phase_commits import TWO_PHASE_COMMITS
from recipes.two_phase_commit import InDoubt, NoTransaction, VotedAlready
from workloads.judgement import Evidence
from workloads.mortal_client import Died, MortalClient
from workloads.workload import Setting, Workload

WORDS = Words(acquire="begin", work="vote", release="decide", thing="transaction")

PARTICIPANTS: Final = 3
"""How many sites vote on each transaction, if there are so many clients."""

MOST_OPEN: Final = 3
"""How many transactions clients are at work on at a time: more would wait for each other."""

OPEN_S: Final = 4.0
"""Seconds after which a transaction whose sites are away no longer keeps others from beginning."""

VOTE_TIMEOUT_S: Final = 0.8
GRACE_S: Final = 0.3
"""Short, as are the timeouts, so that operations end while a fault that blocks them lasts."""

PATIENCE_S: Final = 1.0
"""How long those who decide wait for votes."""

DECIDE_TIMEOUT_S: Final = 2.0
FINAL_PATIENCE_S: Final = 0.2
FINAL_BOUND_S: Final = 15.0
"""How long a client may take to learn all outcomes once every fault is healed."""

LEAST_COMMITS: Final = 5
LEAST_ABORTS: Final = 5


class Task(msgspec.Struct, frozen=True):
    """Something that a client is to do, not before a time (ns)."""

    client: int
    f: str
    value: dict[str, Any]
    at: int


class Transactions(msgspec.Struct, frozen=True):
    """All clients' load: transactions are begun, voted on and decided until the time is up.

    Of eight coordinators one dies while it begins, and one while it decides; of eight votes one
    comes late, so that others lose their patience, and one is a no.

    Args:
        seed: of every choice.
        until: when the load ends (ns).
        number: of the next transaction.
        tasks: what is to be done, earliest first as it was found out.
        running: key -> when it began, while it keeps others from beginning.
        beginning: the ``begin`` of each client that has one open: who is killed tells no value.
    """

    seed: Seed
    until: int
    number: int = 0
    tasks: tuple[Task, ...] = ()
    running: tuple[tuple[str, int], ...] = ()
    beginning: tuple[tuple[int, dict[str, Any]], ...] = ()

    def op(self, ctx: Context) -> Answer:
        """A task that is due, votes first; else a new transaction."""
        if ctx.time >= self.until:
            return None
        free = list(ctx.in_turn(ctx.free))
        mine = [task for task in self.tasks if task.client in free]
        due = [task for task in mine if task.at <= ctx.time]
        if due:
            task = min(due, key=lambda task: task.f != "vote")
            left = tuple(other for other in self.tasks if other is not task)
            invocation = Invocation(task.f, task.value, ctx.processes[task.client], ctx.time)
            return invocation, msgspec.structs.replace(self, tasks=left)
        fresh = [each for each in self.running if ctx.time - each[1] < OPEN_S * 1e9]
        if free and len(fresh) < MOST_OPEN:
            return self._begin(ctx, free[0], fresh)
        # Whoever is away for long lets others begin again.
        times = [task.at for task in mine] + [began + int(OPEN_S * 1e9) for _, began in fresh]
        return Pending(min([self.until, *(at for at in times if at > ctx.time)])), self

    def update(self, ctx: Context, event: Op) -> Generator:
        """What a transaction that was begun asks of its sites; and that it has been decided."""
        if event.type == "invoke":
            return self
        if event.f == "begin":
            client = ctx.position_of(event.process)
            value = dict(self.beginning)[client]
            left = tuple(each for each in self.beginning if each[0] != client)
            after = msgspec.structs.replace(self, beginning=left)
            if event.type == "fail":
                return _without(after, value["key"])
            return _begun(after, ctx, value)
        if event.f == "decide" and event.type == "ok":
            return _without(self, event.value["key"])
        return self

    def _begin(self, ctx: Context, client: int, fresh: list[tuple[str, int]]) -> Answer:
        key = f"t{self.number:05d}"
        dice = self.seed.child(key)
        sites, _ = dice.child("sites").shuffle(range(ctx.clients))
        names = [f"c{site}" for site in sorted(sites[:PARTICIPANTS])]
        fate = dice.child("fate").below(8)[0]
        writes = dice.child("writes").below(PARTICIPANTS + 1)[0] if fate == 0 else None
        value = {"key": key, "participants": names, "writes": writes, "coordinator": f"c{client}"}
        running = (*fresh, (key, ctx.time))
        after = msgspec.structs.replace(
            self,
            number=self.number + 1,
            running=running,
            beginning=(*self.beginning, (client, value)),
        )
        return Invocation("begin", value, ctx.processes[client], ctx.time), after


def _without(load: Transactions, key: str) -> Transactions:
    running = tuple(each for each in load.running if each[0] != key)
    return msgspec.structs.replace(load, running=running)


def _begun(load: Transactions, ctx: Context, value: dict[str, Any]) -> Transactions:
    key = value["key"]
    dice = load.seed.child(key)
    coordinator = int(value["coordinator"].removeprefix("c"))
    fate = dice.child("fate").below(8)[0]
    votes, decides = [], []
    for name in value["participants"]:
        client = int(name.removeprefix("c"))
        own = dice.child(name)
        kind, own = own.below(8)
        late, own = own.uniform()
        at = ctx.time + (int(_lateness(late) * 1e9) if kind == 0 else 0)
        ballot = "no" if kind == 1 else "yes"
        votes.append(Task(client, "vote", {"key": key, "value": ballot}, at))
        decides.append(client)
    if coordinator not in decides:
        decides.append(coordinator)
    asked = []
    for client in decides:
        if client == coordinator and fate == 1:
            writes = dice.child("writes").below(PARTICIPANTS)[0]
            asked.append(Task(client, "abandon", {"key": key, "writes": writes}, ctx.time))
            continue
        short = dice.child(f"patience{client}").below(6)[0] == 0
        timeout = PATIENCE_S / 4 if short else DECIDE_TIMEOUT_S
        asked.append(Task(client, "decide", {"key": key, "timeout": timeout}, ctx.time))
    return msgspec.structs.replace(load, tasks=(*load.tasks, *votes, *asked))


def _lateness(share: float) -> float:
    """Seconds after the beginning for a late vote: half of them just as patience ends."""
    return PATIENCE_S * (1 + share / 50 if share < 0.5 else 0.5 + share)


class SiteClient:
    """One site: coordinator of its own transactions, participant in others."""

    grants = WORDS.acquire
    ends = WORDS.release

    def __init__(self, context: ClientContext, recipe: str, path: str) -> None:
        self._context = context
        self._kind = TWO_PHASE_COMMITS[recipe]
        self._path = path
        self._name = f"c{context.client}"
        self._site = self._kind(context.kazoo, path, name=self._name, grace=GRACE_S)

    def believes(self) -> bool:
        """Nothing is held."""
        return False

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation; what escapes is an unknown outcome."""
        try:
            if f == "begin":
                return self._begin(value)
            if f == "vote":
                return self._vote(value["key"], value["value"])
            if f == "decide":
                return self._decide(value["key"], value["timeout"])
            if f == "abandon":
                self._mortal(value["writes"]).decide(
                    value["key"], DECIDE_TIMEOUT_S, patience=PATIENCE_S
                )
                return Outcome("info", value, "lived to the end, and tells nobody")
            if f == "outcomes":
                return self._outcomes(value["patience"])
        except NoTransaction as error:
            return Outcome("fail", value, f"no transaction {error}")
        except (InDoubt, Died) as error:
            return Outcome("info", value, f"{type(error).__name__}: {error}")
        raise ValueError(f"a client of this workload knows no operation {f!r}")

    def _mortal(self, writes: int) -> Any:
        mortal = MortalClient(self._context.kazoo, writes)
        return self._kind(mortal, self._path, name=self._name, grace=GRACE_S)

    def _begin(self, value: Any) -> Outcome:
        site = self._site if value["writes"] is None else self._mortal(value["writes"])
        try:
            site.begin(value["participants"], transaction=value["key"], timeout=VOTE_TIMEOUT_S)
        except NodeExistsError as error:
            return Outcome("fail", value, f"there is another one of that name: {error}")
        return Outcome("ok", value)

    def _vote(self, key: str, ballot: str) -> Outcome:
        value = {"key": key, "value": ballot}
        if int(key.removeprefix("t")) % 2:
            with suppress(InDoubt):
                self._site.join(key, VOTE_TIMEOUT_S / 3)
        try:
            self._site.vote(key, ballot == "yes", VOTE_TIMEOUT_S)
        except VotedAlready as error:
            return Outcome("fail", value, str(error))
        return Outcome("ok", value)

    def _decide(self, key: str, timeout: float) -> Outcome:
        decision = self._site.decide(key, timeout, patience=PATIENCE_S)
        if decision is None:
            return Outcome("fail", {"key": key, "timeout": timeout}, "no decision yet")
        return Outcome("ok", {"key": key, "value": decision})

    def _outcomes(self, patience: float) -> Outcome:
        deadline = time.monotonic() + patience
        keys = self._site.transactions(patience)
        outcomes: dict[str, str] = {}
        blocked: list[str] = []
        for key in keys:
            left = max(0.1, deadline - time.monotonic())
            try:
                decision = self._site.decide(key, left, patience=FINAL_PATIENCE_S)
            except InDoubt:
                decision = None
            if decision is None:
                blocked.append(key)
            else:
                outcomes[key] = decision
        return Outcome("ok", {"outcomes": outcomes, "blocked": blocked})


def client(recipe: str, path: str) -> Callable[[ClientContext], SiteClient]:
    """Makes the client's side for one recipe."""
    return lambda context: SiteClient(context, recipe, path)


def final(setting: Setting) -> Generator:  # noqa: ARG001 - every workload's
    """Everybody learns how every transaction ended."""
    ask = Invocation("outcomes", {"patience": FINAL_BOUND_S})
    return each_thread(until_ok(limit(3, repeat(ask))))


def judge_commits(evidence: Evidence) -> Verdict:
    """Judge a run."""
    history = evidence.history
    logged = _decisions(evidence.truth, evidence.path) if evidence.truth else None
    commitments = check_commitments(history, logged)
    checks = [commitments]
    if not commitments.anomalies:
        parties = {
            len(operation.invoke.value["participants"])
            for operation in history.operations()
            if operation.invoke.f == "begin"
        }
        checks.append(
            check_model(
                history,
                MODELS["atomic-commitment"],
                "not-linearizable",
                initial=max(parties, default=None),
            )
        )
    if evidence.whole:
        checks.append(check_ends(history))
        stats = commitments.stats
        happened = [
            Requirement(name="commits", needed=LEAST_COMMITS, observed=stats["commits"]),
            Requirement(name="aborts", needed=LEAST_ABORTS, observed=stats["aborts"]),
            Requirement(
                name="decided without the coordinator",
                needed=1,
                observed=stats["decided without the coordinator"],
            ),
        ]
        checks.append(
            check_exercise(
                history,
                happened=happened,
                expiries=evidence.expiries,
                leader_changes=evidence.leader_changes,
                kinds=evidence.kinds,
                directed=evidence.directed,
                expired="expired sessions",
            )
        )
    return judge(checks, evidence.promises.prevents, strict=evidence.strict)


def _decisions(truth: ServerTruth, path: str) -> dict[str, list[str]]:
    """Key -> the different decisions that the servers committed for it, in their order."""
    found: dict[str, list[str]] = {}
    for txn in truth.committed:
        for effect in txn.effects:
            below = (effect.path or "").removeprefix(f"{path}/")
            key, _, node = below.partition("/")
            if below == effect.path or not node.startswith("decision"):
                continue
            decision = (effect.data or b"").decode()
            if decision in ("commit", "abort") and decision not in found.setdefault(key, []):
                found[key].append(decision)
    return found


TWO_PHASE_COMMIT = Workload(
    name="two-phase-commit",
    summary="clients coordinate transactions, vote on each other's, and decide",
    recipes=TWO_PHASE_COMMITS,
    path="/rumpus/two-phase-commit",
    build="workloads.two_phase_commit:client",
    model="atomic-commitment",
    words=WORDS,
    load=lambda setting: Transactions(setting.seed, setting.until),
    final=final,
    cleanup={},
    requests=("write", "create", "get-children", "read"),
    judge=judge_commits,
)
