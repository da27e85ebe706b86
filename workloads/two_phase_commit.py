"""Two-phase commit: every client coordinates transactions of its own, and votes in those of others.

- ``begin`` {key, participants, coordinator, site, writes}: create a transaction as the site named
  ``site``; with ``writes`` this site dies on purpose at the write of that number, and the outcome
  is unknown (`harness.clients.mortal_client`);
- ``vote`` {key, value: yes or no}: a participant's vote; it joins every second transaction before;
- ``decide`` {key} -> {key, value: commit or abort}: the decision, learned or made;
- ``abandon`` {key, site, writes}: the coordinating site begins to decide and dies at that write;
- ``outcomes`` {patience} -> {outcomes: {key: decision}, blocked: [key]}: in the final phase, how
  all transactions ended, and which are not decided.

A site that dies on purpose stays dead to the end. It has a name of its own, made of its client's
and its transaction's, and no later operation uses that name. A site that waits for it waits for
ever.
"""

import time
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Final, Literal, TypedDict

import msgspec
from kazoo.exceptions import NodeExistsError

from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.families.commitments import (
    check_commitment_by_model,
    check_commitments,
    check_ends,
    check_votes,
)
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.mortal_client import MortalClient
from rumpus.harness.generators.board import Board, Task
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client, Draws, ScriptFunction, Steps, until_ok
from rumpus.recipes.two_phase_commit.catalogue import TWO_PHASE_COMMITS
from rumpus.recipes.two_phase_commit.transaction_nodes import InDoubt, TwoPhaseCommit
from rumpus.workloads.framework.operation import Failed, operation
from rumpus.workloads.framework.workload import FINAL_BOUND_S, Workload
from rumpus.workloads.own.own_interfaces import OwnTwoPhaseCommit

PARTICIPANTS: Final = 3
"""The least number of sites that vote on a transaction, if there are that many clients. More than
half of the clients vote, so that a transaction's cost can be measured against the number of
clients."""

MOST_OPEN: Final = 3
"""How many transactions run at a time: more would wait for each other."""

OPEN_S: Final = 4.0
"""Seconds after which a transaction that has not ended no longer keeps others from beginning."""

VOTE_TIMEOUT_S: Final = 0.8
GRACE_S: Final = 0.3
"""Short, as are the timeouts, so that operations end while a fault that blocks them lasts."""

PATIENCE_S: Final = 1.0
"""How long a site that decides waits for votes."""

DECIDE_TIMEOUT_S: Final = 2.0
FINAL_PATIENCE_S: Final = 0.2
IDLE_S: Final = 0.02
"""Seconds from one look at the board to the next, at most, while there is nothing to do."""

ORPHANS: Final = "coordinators dead to the end"
BY_OTHERS: Final = "decided without the coordinator"

Site = Annotated[str, msgspec.Meta(pattern="^c[0-9]{1,4}$")]
Decision = Literal["commit", "abort"]


class Outcomes(TypedDict):
    """The decisions that were learned, and the transactions whose decision could not be learned."""

    outcomes: dict[str, Decision]
    blocked: list[str]


class Sites:
    """The sites that a client acts as: its own, and others that die on purpose."""

    def __init__(self, recipe: type[TwoPhaseCommit], context: ClientContext, path: str) -> None:
        self._recipe, self._kazoo, self._path = recipe, context.kazoo, path
        self.own = self.named(f"c{context.client}")

    def named(self, name: str, writes: int | None = None) -> TwoPhaseCommit:
        """The site with this name; with ``writes`` it dies at the write of that number."""
        kazoo: Any = self._kazoo if writes is None else MortalClient(self._kazoo, writes)
        return self._recipe(kazoo, self._path, name=name, grace=GRACE_S)


class Transactions(Board):
    """Tasks of all clients. ``running``: transaction that has not ended -> when it began."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0
        self.running: dict[str, int] = {}

    def are_enough(self, time: int) -> bool:
        """Whether no other may begin: ``MOST_OPEN`` run that began less than ``OPEN_S`` ago."""
        return sum(time < began + OPEN_S * 1e9 for began in self.running.values()) >= MOST_OPEN


class TwoPhaseCommitWorkload(Workload):
    """Clients coordinate transactions, vote on each other's, and decide."""

    name = "two-phase-commit"
    catalogue = TWO_PHASE_COMMITS
    adapter = OwnTwoPhaseCommit
    model = "atomic-commitment"
    main = "begin"
    requests = ("write", "create", "get-children", "read")

    def open(self, recipe: type[TwoPhaseCommit], context: ClientContext) -> Sites:
        """The client's site."""
        return Sites(recipe, context, self.path)

    @operation()
    def begin(
        self,
        sites: Sites,
        key: str,
        participants: list[Site],
        coordinator: str = "",  # noqa: ARG002 - for checkers
        site: str = "",
        writes: int | None = None,
    ) -> None:
        """Create a transaction."""
        try:
            sites.named(site, writes).begin(participants, transaction=key, timeout=VOTE_TIMEOUT_S)
        except NodeExistsError as error:
            raise Failed(f"there is another one of that name: {error}") from error

    @operation()
    def vote(self, sites: Sites, key: str, value: Literal["yes", "no"]) -> None:
        """Vote; join the transaction before if its number is odd."""
        if int(key.removeprefix("t")) % 2:
            with suppress(InDoubt):
                sites.own.join(key, VOTE_TIMEOUT_S / 3)
        sites.own.vote(key, value == "yes", VOTE_TIMEOUT_S)

    @operation(timeout=DECIDE_TIMEOUT_S)
    def decide(self, sites: Sites, key: str, timeout: float) -> Decision:
        """Learn the decision, or make it."""
        decision = sites.own.decide(key, timeout, patience=PATIENCE_S)
        if decision is None:
            raise Failed("no decision yet")
        return decision

    @operation()
    def abandon(self, sites: Sites, key: str, site: str, writes: int) -> None:
        """Begin to decide, and die at a write; a site that lives to the end tells nobody."""
        sites.named(site, writes).decide(key, DECIDE_TIMEOUT_S, patience=PATIENCE_S)

    @operation()
    def outcomes(self, sites: Sites, patience: float) -> Outcomes:
        """Learn how every transaction ended."""
        deadline = time.monotonic() + patience
        found = Outcomes(outcomes={}, blocked=[])
        for key in sites.own.transactions(patience):
            left, decision = max(0.1, deadline - time.monotonic()), None
            with suppress(InDoubt):
                decision = sites.own.decide(key, left, patience=FINAL_PATIENCE_S)
            if decision is None:
                found["blocked"].append(key)
            else:
                found["outcomes"][key] = decision
        return found

    def shared(self) -> Transactions:
        """A board, on which the client that begins a transaction writes the tasks of all sites."""
        return Transactions()

    def load(self, client: Client) -> Steps:
        """Do the client's tasks on the board, votes first; if it has none, begin a transaction."""
        board: Transactions = client.shared
        if (lost := board.given_up(client)) is not None:
            self._ended(client, lost.step, "info")
        while not client.is_over:
            task = board.take(client, "vote")
            if task is None and not board.are_enough(client.time):
                task = Task(self._beginning(client))
            if task is None:
                yield client.rest(IDLE_S, end=board.next_moment(client))
            else:
                came = yield from board.do(client, task)
                self._ended(client, task.step, came.type)

    def _beginning(self, client: Client) -> Invocation:
        """Begin a transaction. One coordinator in eight dies during this, one in eight deciding."""
        board, draws = client.shared, client.draws
        key, name = f"t{board.begun:05d}", f"c{client.number}"
        board.begun += 1
        board.running[key] = client.time
        parties = max(PARTICIPANTS, client.clients // 2 + 1)
        sites = sorted(draws.shuffle(range(client.clients))[:parties])
        fate = draws.below(8)
        return self.begin(
            key=key,
            participants=[f"c{site}" for site in sites],
            coordinator=name,
            site=f"{name}-{key}" if fate < 2 else name,
            writes=draws.below(len(sites) + 1) if fate == 0 else None,
        )

    def _ended(self, client: Client, step: Invocation, outcome: str) -> None:
        if (step.f, outcome) in (("begin", "fail"), ("decide", "ok")):
            client.shared.running.pop(step.value["key"], None)
        elif step.f == "begin":
            self._ask(client, step.value)

    def _ask(self, client: Client, begun: dict[str, Any]) -> None:
        """Put a transaction's votes and decisions on the board, as tasks of its sites.

        One vote in eight is late, so that other sites time out, and one in eight is a no. One in
        four transactions whose coordinator lives is decided only after every vote was answered.
        """
        board, draws, key = client.shared, client.draws, begun["key"]
        sites = [int(name.removeprefix("c")) for name in begun["participants"]]
        votes = []
        for number in sites:
            kind = draws.below(8)
            at = client.after(_lateness(draws)) if kind == 0 else client.time
            votes.append(Task(self.vote(key=key, value="no" if kind == 1 else "yes"), at))
            board.add(number, votes[-1])
        lives = begun["site"] == begun["coordinator"]
        if not lives and begun["writes"] is None:
            dying = self.abandon(key=key, site=begun["site"], writes=draws.below(len(sites)))
            board.add(client.number, Task(dying))
        if lives and client.number not in sites:
            sites.append(client.number)
        others = votes if lives and draws.one_in(4) else ()
        for number in sites:
            timeout = PATIENCE_S / 4 if draws.one_in(6) else DECIDE_TIMEOUT_S
            board.add(number, Task(self.decide(key=key, timeout=timeout), others=others))

    def final(self) -> list[ScriptFunction]:
        """Every client learns how every transaction ended."""
        return [until_ok(self.outcomes(patience=FINAL_BOUND_S), 3)]

    checks = (
        check_commitments,
        check_votes,
        partial(check_timeouts, grace=GRACE_S),
        check_commitment_by_model,
        check_ends,
    )


def _lateness(draws: Draws) -> float:
    """Seconds after its beginning for a late vote: most come just as ``PATIENCE_S`` ends."""
    share = draws.uniform()
    return PATIENCE_S * (1 + share / 30 if share < 0.75 else 0.5 + share)


TWO_PHASE_COMMIT = TwoPhaseCommitWorkload()
