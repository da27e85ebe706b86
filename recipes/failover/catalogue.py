"""Replicated databases with an elected primary."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contests
from rumpus.recipes.election.contest_election import ContestElection, FairElection
from rumpus.recipes.election.kazoo_election import KazooElection
from rumpus.recipes.failover import faulty_failover
from rumpus.recipes.failover.database import FailoverDatabase
from rumpus.recipes.failover.primary_term import PrimaryTerm
from rumpus.recipes.failover.replicated_log import ReplicatedLog


def with_election(election: type[ContestElection]) -> type[FailoverDatabase]:
    """A database whose primary is appointed by another election."""
    return variant(FailoverDatabase, election=election)


def with_term(term: type[PrimaryTerm]) -> type[FailoverDatabase]:
    """A database whose primary acts in another way."""
    return variant(FailoverDatabase, _term_class=term)


def with_log(log: type[ReplicatedLog]) -> type[FailoverDatabase]:
    """A database whose members keep their logs in another way."""
    return variant(FailoverDatabase, _log_class=log)


FAILOVER: Final[Mapping[str, CatalogueEntry[FailoverDatabase]]] = {
    "quorum": sound(FailoverDatabase),
    # kazoo elects the primary; a majority of the members still decides which writes count.
    "kazoo-election": sound(with_election(KazooElection)),
    "acknowledges-first": mutant(
        with_term(faulty_failover.AcknowledgesFirst),
        "acknowledges a write before a majority of the members has it (asynchronous replication)",
        {"lost-write", "stale-action"},
    ),
    "no-epoch-check": mutant(
        with_log(faulty_failover.NoEpochCheck),
        "replicas do not compare epochs: they accept entries from a deposed primary",
        {"lost-write", "stale-action"},
        printed="L 4.2",
    ),
    "no-catch-up": mutant(
        with_term(faulty_failover.NoCatchUp),
        "a new primary serves from its own log, without adopting the best log of a majority first",
        {"lost-write"},
        printed="L 4.2",
    ),
    "shrinking-quorum": mutant(
        faulty_failover.ShrinkingQuorum,
        "while its connection to ZooKeeper is lost, a primary counts its own copy as a quorum",
        {"lost-write", "stale-action"},
    ),
    "no-recheck": mutant(
        with_election(variant(FairElection, contest=faulty_contests.NoRecheck)),
        "a candidate becomes the primary when the next lower node vanishes, without looking "
        "whether it is first: epochs keep the data safe, but two members are primary at once",
        {"split-brain"},
    ),
    "repeats-tail": mutant(
        with_term(faulty_failover.RepeatsTail),
        "a new primary, which may not count copies of an older epoch's entries, writes the last "
        "entry again under its own epoch, in place of an empty entry",
        {"duplicate-element"},
    ),
    "reads-marks": mutant(
        with_term(faulty_failover.ReadsMarks),
        "returns the marks of its own terms among the values that users wrote",
        {"phantom-element"},
    ),
    "reads-cached": mutant(
        with_term(faulty_failover.ReadsCached),
        "answers a read with what it read up to a second ago, without the writes since",
        {"not-linearizable"},
    ),
    "reads-sorted": mutant(
        with_term(faulty_failover.ReadsSorted),
        "returns the values sorted as text, not in the order in which they were written",
        {"out-of-order"},
    ),
    "remembers-addresses": mutant(
        faulty_failover.RemembersAddresses,
        "keeps each member's first address for ever: a member that was restarted at another "
        "address gets no entries any more",
        {"stuck-waiter"},
    ),
    "persistent-candidates": mutant(
        with_election(variant(FairElection, contest=faulty_contests.PersistentNode)),
        "candidates are persistent nodes: a primary that has died stays first for ever",
        {"leaderless"},
    ),
    "never-steps-down": mutant(
        faulty_failover.NeverStepsDown,
        "believes for good that it is the primary, even after its session has expired and another "
        "member was elected",
        {"split-brain", "unaware-holder"},
    ),
    "half-quorum": mutant(
        faulty_failover.HalfQuorum,
        "takes half of the members, rounded down, for a majority: two of five have a write, and "
        "two others can begin a term without it",
        {"lost-write"},
    ),
    "reads-unconfirmed": mutant(
        with_term(faulty_failover.ReadsUnconfirmed),
        "answers reads without asking a majority whether a later term has begun",
        {"lost-write", "not-linearizable"},
    ),
    "never-truncates": mutant(
        with_log(faulty_failover.NeverTruncates),
        "a replica keeps entries that conflict with the primary's log, and appends only later ones",
        {"lost-write"},
    ),
}
