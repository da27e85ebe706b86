"""The fault ``partition``: servers that cannot reach each other."""

from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import Any

from rumpus.harness.ensemble import Grudge, without_connection
from rumpus.nemesis.entry import PlanError, check_names, one_of
from rumpus.nemesis.fault import FORCE_BOUND, Draft, Turn
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.grudges import (
    bridge,
    complete,
    cut_off,
    keeps_majority,
    majorities_ring,
    minority,
    normal,
    one_way,
)
from rumpus.nemesis.recovery import servers_back
from rumpus.nemesis.server_fault import ServerFault
from rumpus.nemesis.targets import SHAPES, Targets, holder_server, leader, server_or_any


def shape_grudge(
    shape: str, nodes: Sequence[str], victim: str, rng: Random
) -> dict[str, frozenset[str]]:
    """The grudge of a shape; which server has which place in it is drawn.

    Args:
        shape: one of ``nemesis.targets.SHAPES``.
        nodes: all servers.
        victim: the server to isolate, for shapes that isolate a single one.
        rng: decides the rest.
    """
    order = rng.sample(list(nodes), len(nodes))
    others = [node for node in nodes if node != victim]
    if shape == "minority-majority":
        size = minority(len(nodes))
        return complete(order[:size], order[size:])
    if shape == "random-halves":
        size = len(nodes) // 2
        return complete(order[:size], order[size:])
    if shape == "majorities-ring":
        return majorities_ring(order)
    if shape == "bridge":
        return bridge(order)
    if shape == "one-way":
        return one_way(victim, others, deaf=rng.random() < 0.5)
    return complete([victim], others)


def shape_needs(shape: str) -> int:
    """How many servers a shape of partition needs at least."""
    return {"majorities-ring": 4, "bridge": 3, "minority-majority": 3}.get(shape, 2)


def harmless(shape: str, nodes: int) -> bool:
    """Whether a shape leaves a majority connected, whichever server has which place in it."""
    names = [f"n{i}" for i in range(1, nodes + 1)]
    return nodes >= shape_needs(shape) and keeps_majority(
        names, shape_grudge(shape, names, names[0], Random(0))
    )


class Partition(ServerFault):
    """Drop packets between servers according to a grudge."""

    kind = "partition"
    summary = "servers cannot reach each other: packets between them are dropped"
    works_on = "the servers' network"
    alone = "there can be only one partition at a time, and no follower-lag beside it"
    needs = "partition"
    several_nodes = "a single server cannot be partitioned"
    causes = "leader change"
    target_fields = ("names", "shape", "grudge")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.grudge: Grudge = {}

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw a shape that leaves a majority, if there is one."""
        shapes = [shape for shape in SHAPES if harmless(shape, turn.nodes)] or ["isolate-leader"]
        shape = "isolate-leader" if turn.first else turn.rng.choice(shapes)
        return Draft(Targets(shape=shape), deposes=shape == "isolate-leader")

    @classmethod
    def check_targets(cls, targets: Targets, nodes: Sequence[str], clients: Sequence[str]) -> None:
        """Refuse servers that do not exist, and shapes for which there are too few."""
        del clients
        if len(nodes) < 2:
            raise PlanError(f"{cls.several_nodes}; use at least 2 nodes")
        if targets.names is not None:
            check_names("targets.names", targets.servers(), nodes)
            if len(targets.names) == len(nodes):
                raise PlanError('field "targets.names" has every server; none is left to cut from')
        elif targets.grudge is not None:
            check_names("targets.grudge", list(targets.grudge), nodes)
            for node, others in targets.grudge.items():
                check_names(f"targets.grudge.{node}", others, [n for n in nodes if n != node])
        else:
            one_of("targets.shape", targets.shape, SHAPES)
            need = shape_needs(targets.shape or "")
            if len(nodes) < need:
                raise PlanError(
                    f'field "targets.shape" is "{targets.shape}", which needs at least '
                    f"{need} servers, not {len(nodes)}"
                )

    @property
    def targets(self) -> list[str]:
        """The servers without a majority; if there are none, all that lost a connection."""
        return cut_off(self.context.ensemble.nodes, self.grudge)

    def choose(self) -> None:
        """Take the grudge as it is planned, or make it from names or from a shape."""
        wanted, nodes = self.entry.targets, list(self.context.ensemble.nodes)
        if wanted.grudge is not None:
            self.grudge = {node: frozenset(others) for node, others in wanted.grudge.items()}
            self.reason = "as planned"
        elif wanted.names is not None:
            named = wanted.servers()
            self.grudge = complete(named, [node for node in nodes if node not in named])
            self.reason = "by name"
        else:
            shape = wanted.shape or ""
            victim, why = self._victim(shape, nodes)
            self.grudge = shape_grudge(shape, nodes, victim, self.rng)
            self.reason = shape + why

    def _victim(self, shape: str, nodes: list[str]) -> tuple[str, str]:
        if shape == "isolate-leader":
            wanted, missing = leader(self.context), "there was no leader"
        elif shape == "isolate-holder-server":
            wanted, missing = holder_server(self.context), "nobody held connected"
        else:
            return self.rng.choice(nodes), ""
        chosen = server_or_any(wanted, nodes, self.rng, "", missing)
        return chosen.names[0], f" ({chosen.words})" if chosen.words else ""

    def inject(self) -> None:
        """Put the grudge in force, in place of any other."""
        self.context.ensemble.partition(self.grudge)

    def in_force(self) -> Finding:
        """Wait until the grudge is read back, cut pairs cannot connect and a whole pair can."""
        ensemble, cut = self.context.ensemble, self._cut_pairs()
        whole = self._whole_pair()

        def as_wanted() -> bool:
            return (
                normal(ensemble.grudge()) == normal(self.grudge)
                and not any(ensemble.reaches(*pair) for pair in cut)
                and (whole is None or ensemble.reaches(*whole))
            )

        words = ", ".join(f"{a}|{b}" for a, b in self._pairs())
        if self.context.until(as_wanted, FORCE_BOUND):
            return Finding(True, f"cut {words}")
        through = ", ".join(f"{a} reaches {b}" for a, b in cut if ensemble.reaches(a, b))
        seen = through or f"the nodes' packet filters say {_words(ensemble.grudge())}"
        return Finding(False, f"not in force after {FORCE_BOUND:g} s (wanted {words}): {seen}")

    def _pairs(self) -> list[tuple[str, str]]:
        cut = without_connection(self.grudge)
        pairs = combinations(self.context.ensemble.nodes, 2)
        return [pair for pair in pairs if frozenset(pair) in cut]

    def _cut_pairs(self) -> list[tuple[str, str]]:
        """The cut pairs whose connections can be tried: both servers must run."""
        running = self.context.running_servers()
        return [(a, b) for a, b in self._pairs() if a in running and b in running]

    def _whole_pair(self) -> tuple[str, str] | None:
        """A pair of running servers that is not cut, to see that not everything is broken."""
        cut = without_connection(self.grudge)
        pairs = combinations(self.context.running_servers(), 2)
        return next((pair for pair in pairs if frozenset(pair) not in cut), None)

    def heal(self) -> None:
        """Remove the partition."""
        self.context.ensemble.heal()

    def healed(self, timeout: float) -> Finding:
        """Wait until no grudge is left, pairs that were cut connect, and running servers serve."""
        ensemble, start = self.context.ensemble, self.context.monotonic()

        def mended() -> bool:
            return not normal(ensemble.grudge()) and all(
                ensemble.reaches(a, b) and ensemble.reaches(b, a) for a, b in self._cut_pairs()
            )

        if not self.context.until(mended, timeout):
            return Finding(
                False,
                f"not healed within {timeout:g} s: packet filters say {_words(ensemble.grudge())}",
            )
        left = max(0.0, timeout - (self.context.monotonic() - start))
        return servers_back(self.context.running_servers(), self.context, left)

    def record(self) -> dict[str, Any]:
        """The grudge, so that the very same partition can be planned again."""
        return {"grudge": {node: sorted(who) for node, who in normal(self.grudge).items()}}


def _words(grudge: Grudge) -> str:
    said = [f"{node} refuses {' '.join(sorted(who))}" for node, who in normal(grudge).items()]
    return ", ".join(said) or "that nobody refuses anybody"
