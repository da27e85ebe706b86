"""Databases whose primary fails over."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contests
from rumpus.recipes.election.contest_election import FairElection
from rumpus.recipes.election.kazoo_election import KazooElection
from rumpus.recipes.failover import faulty_failover
from rumpus.recipes.failover.database import FailoverDatabase

FAILOVER: Final[Mapping[str, CatalogueEntry[FailoverDatabase]]] = {
    "quorum": sound(FailoverDatabase),
    # kazoo appoints; the members' majority still decides whose writes count.
    "kazoo-election": sound(variant(FailoverDatabase, election=KazooElection)),
    "acknowledges-first": mutant(
        variant(FailoverDatabase, _term_class=faulty_failover.AcknowledgesFirst),
        "acknowledges a write before its replicas have it (asynchronous replication)",
        {"lost-write", "stale-action"},
    ),
    "no-epoch-check": mutant(
        variant(FailoverDatabase, _log_class=faulty_failover.NoEpochCheck),
        "replicas do not compare epochs: a deposed primary goes on shipping, and they take it",
        {"lost-write", "stale-action"},
        printed="L 4.2",
    ),
    "no-catch-up": mutant(
        variant(FailoverDatabase, _term_class=faulty_failover.NoCatchUp),
        "a new primary serves from its own log, without taking the best one of a majority first",
        {"lost-write"},
        printed="L 4.2",
    ),
    "shrinking-quorum": mutant(
        faulty_failover.ShrinkingQuorum,
        "while its session is in doubt a primary is content with its own copy, to stay available",
        {"lost-write", "stale-action"},
    ),
    "no-recheck": mutant(
        variant(
            FailoverDatabase, election=variant(FairElection, contest=faulty_contests.NoRecheck)
        ),
        "a candidate takes the role when the one before it vanishes, without looking whether it "
        "is first: fencing keeps the data safe, but two are the primary at once",
        {"split-brain"},
    ),
    "repeats-tail": mutant(
        variant(FailoverDatabase, _term_class=faulty_failover.RepeatsTail),
        "a new primary may not count the copies of an older epoch's entry, so it writes the last "
        "one again under its own epoch, instead of an empty entry that takes it along",
        {"duplicate-element"},
    ),
    "reads-marks": mutant(
        variant(FailoverDatabase, _term_class=faulty_failover.ReadsMarks),
        "hands out its own marks of terms as if users had written them",
        {"phantom-element"},
    ),
    "reads-cached": mutant(
        variant(FailoverDatabase, _term_class=faulty_failover.ReadsCached),
        "answers reads by what it read a moment ago, whatever came since",
        {"not-linearizable"},
    ),
    "reads-sorted": mutant(
        variant(FailoverDatabase, _term_class=faulty_failover.ReadsSorted),
        "hands out what was written sorted by value, as a map would",
        {"out-of-order"},
    ),
    "remembers-addresses": mutant(
        faulty_failover.RemembersAddresses,
        "keeps the address at which it first found a member for ever: one that was started again "
        "elsewhere gets nothing any more",
        {"stuck-waiter"},
    ),
    "persistent-candidates": mutant(
        variant(
            FailoverDatabase, election=variant(FairElection, contest=faulty_contests.PersistentNode)
        ),
        "candidates are persistent nodes: a primary that died stays the first",
        {"leaderless"},
    ),
    "never-steps-down": mutant(
        faulty_failover.NeverStepsDown,
        "remembers that it was appointed, and never that it is no more: it believes on after its "
        "session has expired and after another was appointed",
        {"split-brain", "unaware-holder"},
    ),
    "half-quorum": mutant(
        faulty_failover.HalfQuorum,
        "counts half of the members, rounded down, for a majority: two of five have a write, and "
        "two others can begin without it",
        {"lost-write"},
    ),
    "reads-unconfirmed": mutant(
        variant(FailoverDatabase, _term_class=faulty_failover.ReadsUnconfirmed),
        "answers reads without asking a majority whether a later primary has begun",
        {"lost-write", "not-linearizable"},
    ),
    "never-truncates": mutant(
        variant(FailoverDatabase, _log_class=faulty_failover.NeverTruncates),
        "a replica keeps entries that contradict the primary's, and takes only what comes after",
        {"lost-write"},
    ),
}
