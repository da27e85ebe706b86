"""Two-phase commit: every client coordinates transactions of its own, and votes in those of others.

Operations:

- ``begin`` {key, participants, coordinator, site, writes}: create a transaction as the site of
  that name; with ``writes`` the site dies on purpose at that write (`workloads.mortal_client`), and
  then the outcome is unknown;
- ``vote`` {key, value: yes or no}: a participant's vote; every other transaction is joined first;
- ``decide`` {key, timeout} -> {key, value: commit or abort}: the decision, learned or made;
- ``abandon`` {key, site, writes}: the coordinating site sets out to decide and dies at that write;
- ``outcomes`` {patience} -> {outcomes: {key: decision}, blocked: [key]}: in the end, all of them.

A site that died on purpose stays dead to the end: it is a site of its own, named after its client
and its transaction, and no operation is called under its name again. A site that waits for it waits
for ever.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import msgspec
from kazoo.exceptions import NodeExistsError

from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.families.commitments import (
    Decided,
    Standing,
    check_commitments,
    check_ends,
    check_votes,
)
from rumpus.checker.history import Op
from rumpus.checker.holds import Words
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.servers.txnlog import session_hex
from rumpus.checker.verdict import Requirement, Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import each_thread, limit, repeat, until_ok
from rumpus.harness.generators.generator import Answer, Context, Generator, Invocation, Pending
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.two_phase_commit.catalogue import TWO_PHASE_COMMITS
from rumpus.recipes.two_phase_commit.transaction_nodes import (
    VOTE,
    InDoubt,
    NoTransaction,
    VotedAlready,
    read_ballot,
)
from rumpus.workloads.framework.judgement import Evidence, judge_exercised
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.mortal_client import Died, MortalClient

WORDS = Words(acquire="begin", work="vote", release="decide", thing="transaction")

PARTICIPANTS: Final = 3
"""How many sites vote on each transaction at least, if there are so many clients. More than half of
the clients do, so that the cost of a transaction can be measured by the number of clients."""

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

DIES_BEGINNING: Final = 0
DIES_DECIDING: Final = 1
FATAL: Final = frozenset({DIES_BEGINNING, DIES_DECIDING})
"""Of eight fates of a transaction, those by which its coordinator dies and stays dead."""

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

    Of eight coordinators one dies while it begins or right after, and one while it decides, for
    good; of eight votes one comes late, so that others lose their patience, and one is a no. Of
    four transactions whose coordinator lives one is decided only when every vote was answered.

    Args:
        seed: of every choice.
        until: when the load ends (ns).
        number: of the next transaction.
        tasks: what is to be done, earliest first as it was found out.
        running: key -> when it began, while it keeps others from beginning.
        beginning: the ``begin`` of each client that has one open: who is killed tells no value.
        voting: the key of each client that has a vote open, likewise.
        held: key, votes that were not answered yet, what is asked once all were.
    """

    seed: Seed
    until: int
    number: int = 0
    tasks: tuple[Task, ...] = ()
    running: tuple[tuple[str, int], ...] = ()
    beginning: tuple[tuple[int, dict[str, Any]], ...] = ()
    voting: tuple[tuple[int, str], ...] = ()
    held: tuple[tuple[str, int, tuple[Task, ...]], ...] = ()

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
            voting = self.voting
            if task.f == "vote":
                voting = (*voting, (task.client, task.value["key"]))
            return invocation, msgspec.structs.replace(self, tasks=left, voting=voting)
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
        if event.f == "vote":
            return _voted(self, ctx.position_of(event.process))
        if event.f == "decide" and event.type == "ok":
            return _without(self, event.value["key"])
        return self

    def _begin(self, ctx: Context, client: int, fresh: list[tuple[str, int]]) -> Answer:
        key = f"t{self.number:05d}"
        dice = self.seed.child(key)
        sites, _ = dice.child("sites").shuffle(range(ctx.clients))
        parties = max(PARTICIPANTS, ctx.clients // 2 + 1)
        names = [f"c{site}" for site in sorted(sites[:parties])]
        fate = dice.child("fate").below(8)[0]
        dies = fate == DIES_BEGINNING
        writes = dice.child("writes").below(len(names) + 1)[0] if dies else None
        name = f"c{client}"
        value = {
            "key": key,
            "participants": names,
            "coordinator": name,
            "site": f"{name}-{key}" if fate in FATAL else name,
            "writes": writes,
        }
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
    in_step = fate not in FATAL and dice.child("in step").below(4)[0] == 0
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
    if coordinator not in decides and fate not in FATAL:
        decides.append(coordinator)
    asked = []
    if fate == DIES_DECIDING:
        writes = dice.child("writes").below(len(value["participants"]))[0]
        last = {"key": key, "site": value["site"], "writes": writes}
        asked.append(Task(coordinator, "abandon", last, ctx.time))
    for client in decides:
        short = dice.child(f"patience{client}").below(6)[0] == 0
        timeout = PATIENCE_S / 4 if short else DECIDE_TIMEOUT_S
        asked.append(Task(client, "decide", {"key": key, "timeout": timeout}, ctx.time))
    if in_step:
        held = (*load.held, (key, len(votes), tuple(asked)))
        return msgspec.structs.replace(load, tasks=(*load.tasks, *votes), held=held)
    return msgspec.structs.replace(load, tasks=(*load.tasks, *votes, *asked))


def _voted(load: Transactions, client: int) -> Transactions:
    """A client's vote was answered: the last one that was waited for releases what was held."""
    voted = dict(load.voting)[client]
    voting = tuple(each for each in load.voting if each[0] != client)
    held, tasks = [], load.tasks
    for key, missing, asked in load.held:
        left = missing - (key == voted)
        if left:
            held.append((key, left, asked))
        else:
            tasks = (*tasks, *asked)
    return msgspec.structs.replace(load, tasks=tasks, voting=voting, held=tuple(held))


def _lateness(share: float) -> float:
    """Seconds after the beginning for a late vote: most come just as patience ends."""
    return PATIENCE_S * (1 + share / 30 if share < 0.75 else 0.5 + share)


class SiteClient:
    """One site: coordinator of its own transactions, participant in others."""

    grants = WORDS.acquire
    ends = WORDS.release

    def __init__(self, context: ClientContext, recipe: str, path: str) -> None:
        self._context = context
        self._kind = TWO_PHASE_COMMITS[recipe].recipe
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
                self._at(value["site"], value["writes"]).decide(
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

    def _at(self, site: str, writes: int | None) -> Any:
        """The site of a name; it dies at a write if that is said."""
        kazoo: Any = self._context.kazoo
        if writes is not None:
            kazoo = MortalClient(kazoo, writes)
        return self._kind(kazoo, self._path, name=site, grace=GRACE_S)

    def _begin(self, value: Any) -> Outcome:
        site = self._at(value["site"], value["writes"])
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


def final(setting: WorkloadContext) -> Generator:  # noqa: ARG001 - every workload's
    """Everybody learns how every transaction ended."""
    ask = Invocation("outcomes", {"patience": FINAL_BOUND_S})
    return each_thread(until_ok(limit(3, repeat(ask))))


def judge_commits(evidence: Evidence) -> Verdict:
    """Judge a run."""
    history = evidence.history
    logged = _decisions(evidence.truth, evidence.path) if evidence.truth else None
    commitments = check_commitments(history, logged)
    standing = _standing(evidence.truth, evidence.path) if evidence.truth else None
    checks = [
        commitments,
        check_votes(history, standing),
        check_timeouts(history, grace=GRACE_S),
    ]
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
    checks.append(check_ends(history))
    stats = commitments.stats
    happened = [
        Requirement("commits", LEAST_COMMITS, stats["commits"]),
        Requirement("aborts", LEAST_ABORTS, stats["aborts"]),
        *(
            Requirement(name, 1, stats[name])
            for name in ("coordinators dead to the end", "decided without the coordinator")
            if stats[name] is not None
        ),
    ]
    if logged is None:
        commitments.unknown.append("without the servers' logs nobody can tell who decided")
    return judge_exercised(
        evidence, checks, happened=happened, expiries=evidence.expiries, expired="expired sessions"
    )


def _decisions(truth: ServerTruth, path: str) -> dict[str, list[Decided]]:
    """Key -> the different decisions that the servers committed for it, in their order."""
    found: dict[str, list[Decided]] = {}
    for txn in truth.committed:
        for effect in txn.effects:
            below = (effect.path or "").removeprefix(f"{path}/")
            key, _, node = below.partition("/")
            if below == effect.path or not node.startswith("decision"):
                continue
            decision = (effect.data or b"").decode()
            earlier = found.setdefault(key, [])
            if decision in ("commit", "abort") and all(e.decision != decision for e in earlier):
                earlier.append(Decided(decision, session_hex(txn.session)))
    return found


def _standing(truth: ServerTruth, path: str) -> dict[tuple[str, str], Standing]:
    """Key and site -> the vote that stands there; without what the logs leave open."""
    contested = truth.contested()
    found: dict[tuple[str, str], Standing] = {}
    for txn in truth.committed:
        for effect in txn.effects:
            below = (effect.path or "").removeprefix(f"{path}/")
            key, _, node = below.partition("/")
            if not node.startswith(VOTE) or effect.path in contested:
                continue
            vote = key, node.removeprefix(VOTE)
            if effect.name == "delete":
                found[vote] = Standing("", "")
            elif effect.data is not None:
                yes, author = read_ballot(effect.data)
                found[vote] = Standing("yes" if yes else "no", author)
    return found


TWO_PHASE_COMMIT = Workload(
    name="two-phase-commit",
    summary="clients coordinate transactions, vote on each other's, and decide",
    catalogue=TWO_PHASE_COMMITS,
    path="/rumpus/two-phase-commit",
    build="rumpus.workloads.two_phase_commit:client",
    model="atomic-commitment",
    words=WORDS,
    load=lambda setting: Transactions(setting.seed, setting.until),
    final=final,
    cleanup={},
    requests=("write", "create", "get-children", "read"),
    judge=judge_commits,
)
