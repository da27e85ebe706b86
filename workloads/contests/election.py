"""Elections: clients campaign, act on what only the leader may touch, and resign.

One client does not campaign while there are faults: it observes who leads.
"""

from functools import partial
from typing import Any, ClassVar, Final, TypedDict

from msgspec.structs import replace

from rumpus.checker.exclusion.acknowledgements import (
    check_acknowledgements,
    check_observations,
)
from rumpus.checker.exclusion.leader_sights import check_leader_sights
from rumpus.checker.timeline.holds import Words
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.leftovers import Node
from rumpus.harness.generators.script import Client, Steps
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.curator.catalogue import CURATOR_ELECTIONS
from rumpus.recipes.election.catalogue import ELECTIONS
from rumpus.recipes.election.on_other_systems import OTHER_ELECTIONS
from rumpus.recipes.promises import Line
from rumpus.recipes.znodes.znode_access import ZnodeAccess
from rumpus.workloads.contests.contender import Contender, Work, contenders_of
from rumpus.workloads.contests.contention import ContentionWorkload
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.own.own_election import OwnElection

OBSERVATION_PERIOD_S: Final = 0.05

LOOKS_A_CONNECTION: Final = 8
"""An observer's operations on one connection: looks, and at last the reconnection."""

OBSERVATION_PATIENCE_S: Final = 3.0

LEAST_OBSERVATIONS: Final = 10
"""How often a leader that had acknowledged its lead must have been seen."""


class Sight(TypedDict):
    """Who was seen to lead."""

    epoch: int
    name: str
    acknowledged: bool


class Candidate(Contender):
    """The client's side of an election: candidate, leader, or observer."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._acknowledged: int | None = None
        self._is_new = True

    def enter(self, timeout: float) -> bool:
        """Campaign."""
        self._is_new = True
        return bool(self.recipe.campaign(timeout))

    def leave(self) -> None:
        """Resign."""
        self.recipe.resign()

    def says(self) -> bool:
        """Whether the recipe says that the client leads."""
        return bool(self.recipe.leading)

    def work(self, *how: Any) -> Work:
        """Acknowledge that it leads, once for each grant; then act as whoever holds."""
        self._acknowledged = self._acknowledge() if self._is_new else None
        self._is_new = False
        return super().work(*how)

    def told(self) -> Work:
        """The epoch that was acknowledged."""
        return {"acknowledged": self._acknowledged}

    def _acknowledge(self) -> int | None:
        """Acknowledge that it leads; returns the epoch if that was confirmed."""
        epoch: int | None = self.recipe.token
        try:
            self.recipe.acknowledge()
        except (LockUnknown, NotHeld):
            return None
        return epoch

    def left(self) -> list[Node]:
        """The nodes that are left of contenders, and of acknowledgements."""
        if self.line is None:
            return super().left()
        said = Line(kind="pool", path=acknowledged_path(self.line.path))
        return super().left() + contenders_of(self.context.kazoo, said)

    def reconnect(self) -> None:
        """Drop the connection."""
        if self.line is None:
            self.recipe.reconnect()
        else:
            ZnodeAccess(self.context.kazoo, self.line.path).reconnect()


def acknowledged_path(path: str) -> str:
    """The node below which leaders of an election acknowledge that they lead."""
    return f"{path}-acknowledged"


class ElectionWorkload(ContentionWorkload):
    """Clients campaign, act as leader, and resign; another one observes who leads."""

    name = "election"
    catalogue = ELECTIONS
    elsewhere: ClassVar = {**OTHER_ELECTIONS, **CURATOR_ELECTIONS}
    adapter = OwnElection
    of_kazoo = ("kazoo.recipe.election:Election",)
    model = "leader-election"
    main = "campaign"
    called: ClassVar = {"acquire": "campaign", "work": "lead", "release": "resign"}
    holding = Words("campaign", "lead", "resign", thing="leadership", counted=False)
    cleanup: ClassVar = {"campaign": "resign"}
    contender = Candidate
    decider = "leader-election"
    nobody = "leaderless"
    prompt = True
    checks = (
        partial(check_observations, campaign="campaign", lead="lead", observe="observe"),
        partial(check_acknowledgements, below=acknowledged_path, lead="lead"),
        partial(check_leader_sights, below=acknowledged_path, observe="observe"),
    )

    def open(self, recipe: Any, context: ClientContext) -> Contender:
        """One recipe object, by the client's usual name: observers are told who leads."""
        return super().open(recipe, replace(context, called=""))

    @operation(changes=False)
    def observe(self, candidate: Candidate) -> Sight | None:
        """Look who leads; null if nobody does."""
        leader = candidate.recipe.leader(OBSERVATION_PATIENCE_S)
        if leader is None:
            return None
        return {"epoch": leader.epoch, "name": leader.name, "acknowledged": leader.acknowledged}

    @operation()
    def reconnect(self, candidate: Candidate) -> None:
        """Drop the connection, so that other servers are asked too, even one that lags."""
        candidate.reconnect()

    def least_clients(self, recipe: Any) -> int:
        """Two that campaign; and one that observes, if leaders can be observed."""
        return 3 if _is_observed(recipe) else 2

    def load(self, client: Client) -> Steps:
        """All clients campaign but the last, which observes, if leaders can be observed."""
        observes = _is_observed(client.context.recipe)
        if not observes or client.number < max(1, client.clients - 1):
            yield from super().load(client)
        while not client.is_over:
            for _ in range(LOOKS_A_CONNECTION - 1):
                yield self.observe()
                yield client.rest(OBSERVATION_PERIOD_S)
            yield self.reconnect()


def _is_observed(recipe: Any) -> bool:
    return hasattr(recipe, "leader")  # not all of other repositories have it


ELECTION = ElectionWorkload()
