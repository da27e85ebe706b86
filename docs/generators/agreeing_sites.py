"""Two-phase commit in which all sites agree, to count the messages of an algorithm as printed.

The family's own workload breaks the algorithms: sites vote late or no, coordinators die. A
transaction ends at the first *no* and at a death, so its messages say nothing of the algorithm.
Here every client is a site of every transaction, and does what the document says, in its order: it
reads the transaction and sets its watches, then votes yes, then waits for the decision.

``rumpus run docs.generators.agreeing_sites:AgreeingSites --recipe site-nodes --clients 11
--nemesis none`` in a clone of this project.
"""

from typing import Any, Final

from rumpus.harness.generators.board import Task
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client
from rumpus.workloads.framework.checks import counted
from rumpus.workloads.two_phase_commit import (
    DECIDE_TIMEOUT_S,
    Transactions,
    TwoPhaseCommitWorkload,
)

COMMITS: Final = 30
"""How many transactions there are; each of them must commit."""

LOOK_S: Final = 0.1
"""How long a site waits for a decision before it votes: long enough to set its watches."""


class OneByOne(Transactions):
    """A board on which one transaction follows another."""

    def are_enough(self, time: int) -> bool:  # noqa: ARG002 - the time does not matter
        """Whether one runs, or all have run."""
        return bool(self.running) or self.begun >= COMMITS


class AgreeingSites(TwoPhaseCommitWorkload):
    """Every client is a site of every transaction; all vote yes and decide."""

    name = "agreeing-sites"
    needs = (counted(COMMITS, "commits", "commitments", "commits"),)

    def shared(self) -> OneByOne:
        """A board for one transaction at a time."""
        return OneByOne()

    def _beginning(self, client: Client) -> Invocation:
        key, name = f"t{client.shared.begun:05d}", f"c{client.number}"
        client.shared.begun += 1
        client.shared.running[key] = client.time
        sites = [f"c{number}" for number in range(client.clients)]
        return self.begin(key=key, participants=sites, coordinator=name, site=name)

    def _ask(self, client: Client, begun: dict[str, Any]) -> None:
        board, key = client.shared, begun["key"]
        looks = [Task(self.decide(key=key, timeout=LOOK_S)) for _ in range(client.clients)]
        votes = [Task(self.vote(key=key, value="yes"), others=looks) for _ in range(client.clients)]
        for number in range(client.clients):
            board.add(number, looks[number])
            board.add(number, votes[number])
            decide = Task(self.decide(key=key, timeout=DECIDE_TIMEOUT_S), others=[votes[number]])
            board.add(number, decide)
