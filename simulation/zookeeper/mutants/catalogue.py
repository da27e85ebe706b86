"""All mutant servers by name: each module has those of its classes."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from rumpus.simulation.zookeeper.bugs import BUGS
from rumpus.simulation.zookeeper.mutants import (
    access,
    answers,
    ephemerals,
    expiry,
    learners,
    limits,
    listings,
    reads,
    removals,
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

TOPICS: Final[Mapping[str, Sequence[ServerMutant]]] = {
    "Ephemeral znodes": ephemerals.MUTANTS,
    "The end of sessions": expiry.MUTANTS,
    "Whose a session is": session_ownership.MUTANTS,
    "Sequence numbers": sequences.MUTANTS,
    "Answers to writes": answers.MUTANTS,
    "Writes and transactions": writes.MUTANTS,
    "Versions": versions.MUTANTS,
    "Parents and children": structure.MUTANTS,
    "Followers": learners.MUTANTS,
    "Freshness of reads": reads.MUTANTS,
    "Replication": replication.MUTANTS,
    "Watch events": watch_events.MUTANTS,
    "Which watches are left": watch_tables.MUTANTS,
    "Access control": access.MUTANTS,
    "Stat and data": stats.MUTANTS,
    "Lists and quotas": listings.MUTANTS,
    "What servers remove": removals.MUTANTS,
    "Limits and settings": limits.MUTANTS,
}
"""What mistakes are about -> the servers that make them; without known bugs of ZooKeeper."""

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
    mutant.name: mutant for mutant in chain(chain.from_iterable(TOPICS.values()), _BUGGY)
}
