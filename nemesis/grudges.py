"""Shapes of network partitions, as grudges: who refuses packets from whom.

The shapes are Jepsen's (``jepsen.nemesis``: complete-grudge, bridge, majorities-ring).
ZooKeeper's servers talk over TCP, so a pair is cut as soon as one of the two refuses the other.
"""

from collections.abc import Iterable, Sequence

from rumpus.harness.ensemble import Grudge, without_connection


def majority(count: int) -> int:
    """How many of ``count`` servers make a quorum."""
    return count // 2 + 1


def minority(count: int) -> int:
    """How many of ``count`` servers can be lost without losing the quorum."""
    return (count - 1) // 2


def complete(*parts: Iterable[str]) -> dict[str, frozenset[str]]:
    """Every part is cut from every other, both ways."""
    sides = [frozenset(part) for part in parts]
    everyone = frozenset().union(*sides)
    return {node: everyone - side for side in sides for node in sorted(side) if everyone - side}


def majorities_ring(nodes: Sequence[str]) -> dict[str, frozenset[str]]:
    """Every node sees a majority, and no two the same one.

    Each sees its nearest neighbours on a ring: just enough for a majority, itself included. Unlike
    Jepsen's it takes the same number on both sides: a TCP connection needs both directions. With
    three nodes that leaves nothing to cut; the shape needs four.
    """
    count = len(nodes)
    reach = majority(count) // 2
    return normal(
        {
            node: frozenset(
                other
                for there, other in enumerate(nodes)
                if min((there - here) % count, (here - there) % count) > reach
            )
            for here, node in enumerate(nodes)
        }
    )


def bridge(nodes: Sequence[str]) -> dict[str, frozenset[str]]:
    """Two halves that cannot see each other, and one node between them that sees all."""
    middle = len(nodes) // 2
    return complete(nodes[:middle], nodes[middle + 1 :])


def one_way(victim: str, others: Iterable[str], *, deaf: bool) -> dict[str, frozenset[str]]:
    """Packets are lost in one direction: those to the victim if ``deaf``, else those from it."""
    if deaf:
        return {victim: frozenset(others)}
    return {other: frozenset({victim}) for other in others}


def normal(grudge: Grudge) -> dict[str, frozenset[str]]:
    """The same grudge without nodes that refuse nobody, so that grudges can be compared."""
    return {node: frozenset(others) for node, others in sorted(grudge.items()) if others}


def connections(nodes: Iterable[str], grudge: Grudge) -> dict[str, frozenset[str]]:
    """With whom each node can still hold a connection, itself included."""
    names = list(nodes)
    cut = without_connection(grudge)
    return {
        node: frozenset(other for other in names if frozenset((node, other)) not in cut)
        for node in names
    }


def keeps_majority(nodes: Sequence[str], grudge: Grudge) -> bool:
    """Whether some node can still lead: it has connections to a majority, itself included."""
    need = majority(len(nodes))
    return any(len(seen) >= need for seen in connections(nodes, grudge).values())


def cut_off(nodes: Sequence[str], grudge: Grudge) -> list[str]:
    """The nodes that a grudge harms most.

    Those left without a majority; if there are none, all that lost a connection.
    """
    seen = connections(nodes, grudge)
    need = majority(len(nodes))
    lost = [node for node in nodes if len(seen[node]) < need]
    return lost or [node for node in nodes if len(seen[node]) < len(nodes)]
