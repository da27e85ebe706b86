"""Locks that can be taken from a holder that hangs or has died."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from rumpus.recipes.breaking import faulty_breakable_locks, published_breakable_locks
from rumpus.recipes.breaking.breakable_lock import BlacklistLock, BreakableLock, IdentityLock
from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contenders, faulty_contests
from rumpus.recipes.contests.common_mutants import (
    SORTS_BY_NAME,
    WAITS_FOR_ITSELF,
    wrong_timeouts,
)
from rumpus.recipes.lock.faulty_locks import WaitsForItself

BREAKABLE_LOCKS: Final[Mapping[str, CatalogueEntry[BreakableLock]]] = {
    "blacklist": sound(BlacklistLock),
    "by-identity": sound(IdentityLock),
    "blacklist-deletes": mutant(
        faulty_breakable_locks.BlacklistDeletesLock,
        "whoever puts a session on the list also deletes its node, to have the lock at once: the "
        "holder still believes",
        {"freed-live-holder", "split-brain"},
    ),
    "notifications-only": mutant(
        variant(BlacklistLock, _blacklist_class=faulty_breakable_locks.NotificationsOnly),
        "looks at the list once a session and then relies on the watch, which is gone after a "
        "reconnection: what was written since is never read",
        {"missed-revocation"},
    ),
    "tells-nobody": mutant(
        variant(BlacklistLock, faulty_contenders.BelievesForGood),
        "ends the session that is on the list without telling the application, which goes on "
        "believing when it wakes up",
        {"unaware-holder"},
    ),
    "frees-first": mutant(
        faulty_breakable_locks.FreesFirstLock,
        "deletes the node of whoever holds the lock when it comes to it, without comparing: the "
        "dead one's may have gone meanwhile",
        {"freed-live-holder", "split-brain"},
    ),
    "reused-path": mutant(
        faulty_breakable_locks.ReusedPathLock,
        "every holder creates the same node: the version of a successor's is 0 as well, so that "
        "a delete which compares versions removes it",
        {"freed-live-holder", "split-brain"},
    ),
    "no-incarnation": mutant(
        faulty_breakable_locks.NoIncarnationLock,
        "the identity is where the process runs, which its next incarnation shares: freed is "
        "whoever has come back",
        {"freed-live-holder", "split-brain"},
    ),
    "persistent-node": mutant(
        variant(BlacklistLock, contest=faulty_contests.PersistentNode),
        "the node is persistent: it outlives the session that is on the list",
        {"deadlock", "orphan-node"},
    ),
    "first-session-only": mutant(
        variant(BlacklistLock, contest=faulty_contests.FirstSessionOnly),
        "remembers that its session was on the list, and not that the client has a new one: it "
        "never contends again",
        {"stuck-waiter"},
    ),
    "keeps-place": mutant(
        variant(BlacklistLock, contest=faulty_contests.KeepsPlace),
        "a holder whose session was on the list creates its node anew under the old name: the "
        "lock has passed on meanwhile",
        {"double-grant"},
    ),
    "claims-removal": mutant(
        faulty_breakable_locks.ClaimsRemovalLock,
        "free says that it removed the node whatever the server answered: several supervisors "
        "take the same failure for theirs to mend",
        {"false-removal"},
    ),
    "sorts-by-name": mutant(
        variant(IdentityLock, contest=faulty_contests.SortsByName),
        SORTS_BY_NAME,
        {"split-brain", "unfair-grant"},
    ),
    "watches-first": mutant(
        variant(IdentityLock, contest=faulty_contests.WatchesFirst),
        "every waiter watches the holder, to see at once when it is freed: all of them are woken",
        {"herd"},
    ),
    "counts-grants": mutant(
        variant(IdentityLock, faulty_contenders.CountsItsOwnGrants),
        "the token is how often this client was granted the lock",
        {"token-regression"},
    ),
    "never-held": mutant(
        variant(IdentityLock, faulty_contenders.NeverBelieves),
        "held is always false: a holder does nothing with the lock",
        {"unbelieving-holder"},
    ),
    "refuses-reentry": mutant(
        variant(IdentityLock, WaitsForItself),
        WAITS_FOR_ITSELF,
        {"refused-reentry"},
    ),
    **wrong_timeouts(partial(variant, IdentityLock)),
    "cooperative-blacklist": mutant(
        published_breakable_locks.CooperativeBlacklistLock,
        "the servers are to refuse the heartbeats of a session on the blacklist, which ZooKeeper "
        "does not: it is the holder's own program that looks at the list between two pieces of "
        "work, and one that hangs never does",
        {"missed-revocation"},
        printed="A 3.2",
    ),
}
