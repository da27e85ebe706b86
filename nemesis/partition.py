"""The fault ``partition``: servers that cannot reach each other."""

from collections.abc import Sequence
from random import Random
from typing import Any

from rumpus.harness.ensemble import Grudge, without_connection
from rumpus.nemesis.fault import FORCE_BOUND, Fault
from rumpus.nemesis.grudges import (
    bridge,
    complete,
    cut_off,
    majorities_ring,
    minority,
    normal,
    one_way,
)
from rumpus.nemesis.recovery import servers_back
from rumpus.nemesis.scene import Finding, Scene
from rumpus.nemesis.targets import holder_server, leader, strike_one


def shape_grudge(
    shape: str, nodes: Sequence[str], victim: str, rng: Random
) -> dict[str, frozenset[str]]:
    """The grudge of a shape; who stands where in it is drawn.

    Args:
        shape: one of ``nemesis.targets.SHAPES``.
        nodes: all servers.
        victim: whom to isolate, for the shapes that isolate one.
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


class Partition(Fault):
    """Drop packets between servers according to a grudge."""

    kind = "partition"
    label = "servers partitioned"
    colour = "#8e44ad"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.grudge: Grudge = {}

    @property
    def targets(self) -> list[str]:
        """Those without a majority; if there are none, all that lost a connection."""
        return cut_off(self.scene.ensemble.nodes, self.grudge)

    def choose(self) -> None:
        """A grudge from names, from a shape or as it is given."""
        wanted, nodes = self.entry.targets, list(self.scene.ensemble.nodes)
        if wanted.grudge is not None:
            self.grudge = {node: frozenset(others) for node, others in wanted.grudge.items()}
            self.words = "as planned"
        elif wanted.names is not None:
            named = wanted.servers()
            self.grudge = complete(named, [node for node in nodes if node not in named])
            self.words = "by name"
        else:
            shape = wanted.shape or ""
            victim, why = self._victim(shape, nodes)
            self.grudge = shape_grudge(shape, nodes, victim, self.rng)
            self.words = shape + why

    def _victim(self, shape: str, nodes: list[str]) -> tuple[str, str]:
        if shape == "isolate-leader":
            chosen = strike_one(leader(self.scene), nodes, self.rng, "", "there was no leader")
        elif shape == "isolate-holder-server":
            chosen = strike_one(
                holder_server(self.scene), nodes, self.rng, "", "nobody held connected"
            )
        else:
            return self.rng.choice(nodes), ""
        return chosen.names[0], f" ({chosen.words})" if chosen.words else ""

    def inject(self) -> None:
        """Put the grudge in place of whatever was there."""
        self.scene.ensemble.partition(self.grudge)

    def in_force(self) -> Finding:
        """The grudge reads back, cut pairs cannot connect, and a pair that is not cut can."""
        ensemble, cut = self.scene.ensemble, self._cut_pairs(self.scene)
        whole = self._whole_pair()

        def struck() -> bool:
            return (
                normal(ensemble.grudge()) == normal(self.grudge)
                and not any(ensemble.reaches(*pair) for pair in cut)
                and (whole is None or ensemble.reaches(*whole))
            )

        words = ", ".join(f"{a}|{b}" for a, b in self._pairs())
        if self.scene.until(struck, FORCE_BOUND):
            return Finding(True, f"cut {words}")
        through = ", ".join(f"{a} reaches {b}" for a, b in cut if ensemble.reaches(a, b))
        seen = through or f"the nodes' packet filters say {_words(ensemble.grudge())}"
        return Finding(False, f"not in force after {FORCE_BOUND:g} s (wanted {words}): {seen}")

    def _pairs(self) -> list[tuple[str, str]]:
        nodes, cut = self.scene.ensemble.nodes, without_connection(self.grudge)
        return [
            (a, b)
            for place, a in enumerate(nodes)
            for b in nodes[place + 1 :]
            if frozenset((a, b)) in cut
        ]

    def _cut_pairs(self, scene: Scene) -> list[tuple[str, str]]:
        """The cut pairs that can be tried: a stopped server answers nobody anyhow."""
        running = scene.running_servers()
        return [(a, b) for a, b in self._pairs() if a in running and b in running]

    def _whole_pair(self) -> tuple[str, str] | None:
        """A pair of running servers that is not cut, to see that not everything is broken."""
        running, cut = self.scene.running_servers(), without_connection(self.grudge)
        return next(
            ((a, b) for a in running for b in running if a < b and frozenset((a, b)) not in cut),
            None,
        )

    def heal(self) -> None:
        """Remove the partition."""
        self.scene.ensemble.heal()

    def healed(self, timeout: float) -> Finding:
        """No grudge is left, those who were cut reach each other, and all serve."""
        ensemble, start = self.scene.ensemble, self.scene.monotonic()

        def mended() -> bool:
            return not normal(ensemble.grudge()) and all(
                ensemble.reaches(a, b) and ensemble.reaches(b, a)
                for a, b in self._cut_pairs(self.scene)
            )

        if not self.scene.until(mended, timeout):
            return Finding(
                False,
                f"not healed within {timeout:g} s: packet filters say {_words(ensemble.grudge())}",
            )
        left = max(0.0, timeout - (self.scene.monotonic() - start))
        return servers_back(self.scene.running_servers(), self.scene, left)

    def record(self) -> dict[str, Any]:
        """The grudge, so that the very same partition can be planned again."""
        return {"grudge": {node: sorted(who) for node, who in normal(self.grudge).items()}}


def _words(grudge: Grudge) -> str:
    said = [f"{node} refuses {' '.join(sorted(who))}" for node, who in normal(grudge).items()]
    return ", ".join(said) or "that nobody refuses anybody"
