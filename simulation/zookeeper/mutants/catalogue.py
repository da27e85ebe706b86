"""All mutant servers by name: each module has those of its classes."""

from collections.abc import Mapping
from itertools import chain
from typing import Final

from rumpus.simulation.zookeeper.bugs import BUGS
from rumpus.simulation.zookeeper.mutants import (
    access,
    answers,
    ephemerals,
    expiry,
    learners,
    listings,
    reads,
    replication,
    sequences,
    session_ownership,
    stats,
    structure,
    versions,
    watch_events,
    watch_tables,
    writes,
)
from rumpus.simulation.zookeeper.mutants.server_mutant import ServerMutant

_MODULES = (
    ephemerals,
    expiry,
    session_ownership,
    sequences,
    answers,
    writes,
    versions,
    structure,
    learners,
    reads,
    replication,
    watch_events,
    watch_tables,
    access,
    stats,
    listings,
)

_BUGGY = tuple(
    ServerMutant(
        name,
        f"have a known bug of ZooKeeper 3.8.0. {words}",
        "simulation/zookeeper/bugs.py",
        "register",
        "linearizable",
        frozenset(),
        bugs=frozenset({name}),
    )
    for name, words in BUGS.items()
)
"""They need two faults within milliseconds of each other: ordinary runs do not trigger them."""

SERVER_MUTANTS: Final[Mapping[str, ServerMutant]] = {
    mutant.name: mutant
    for mutant in chain(chain.from_iterable(module.MUTANTS for module in _MODULES), _BUGGY)
}
