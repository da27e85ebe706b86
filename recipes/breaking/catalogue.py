"""Locks that others can take from a holder that hangs or has died."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from rumpus.recipes.breaking import faulty_breakable_locks, published_breakable_locks
from rumpus.recipes.breaking.breakable_lock import (
    BlacklistLock,
    BreakableLock,
    IdentityLock,
    ServiceBlacklistLock,
)
from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contenders
from rumpus.recipes.contests.common_mutants import (
    WAITS_FOR_ITSELF,
    answer_mutants,
    contender_mutants,
    contest_mutants,
)
from rumpus.recipes.lock.faulty_locks import WaitsForItself

BREAKABLE_LOCKS: Final[Mapping[str, CatalogueEntry[BreakableLock]]] = {
    "blacklist": sound(BlacklistLock),
    "by-identity": sound(IdentityLock),
    "service-blacklist": sound(ServiceBlacklistLock),
    "blacklist-deletes": mutant(
        faulty_breakable_locks.BlacklistDeletesLock,
        "whoever blacklists a session also deletes the holder's node, so that the lock is free at "
        "once: the holder still believes that it holds it",
        {"freed-live-holder", "split-brain"},
    ),
    "notifications-only": mutant(
        variant(BlacklistLock, _blacklist_class=faulty_breakable_locks.NotificationsOnly),
        "reads the blacklist once in each session and then relies on its watch, which is dropped "
        "with the connection: an entry that is made after a reconnect is never seen",
        {"missed-revocation"},
    ),
    "tells-nobody": mutant(
        variant(BlacklistLock, faulty_contenders.BelievesForGood),
        "ends the blacklisted session and leaves held true: the application believes that it holds "
        "the lock until it releases it",
        {"unaware-holder"},
    ),
    "refused-once": mutant(
        faulty_breakable_locks.RefusedOnceLock,
        "the service resets the connections that a blacklisted session has, and lets its client "
        "connect again: its heartbeats go on",
        {"lingering-session"},
    ),
    "refused-by-one-server": mutant(
        faulty_breakable_locks.RefusedByOneServerLock,
        "only the server to which a blacklisted session is connected refuses it: its client "
        "connects to another server",
        {"lingering-session"},
    ),
    "frees-first": mutant(
        faulty_breakable_locks.FreesFirstLock,
        "deletes the node of the present holder, without comparing it with the node of the dead "
        "process: that one may be gone already",
        {"freed-live-holder", "split-brain"},
    ),
    "reused-path": mutant(
        faulty_breakable_locks.ReusedPathLock,
        "every holder creates the same node: a successor's node has version 0, too, so a delete "
        "that compares versions removes it",
        {"freed-live-holder", "split-brain"},
    ),
    "no-incarnation": mutant(
        faulty_breakable_locks.NoIncarnationLock,
        "the identity says only where the process runs: its next incarnation has the same one, "
        "and its node is deleted",
        {"freed-live-holder", "split-brain"},
    ),
    "claims-removal": mutant(
        faulty_breakable_locks.ClaimsRemovalLock,
        "free returns true whatever the server answered: several supervisors are told that they "
        "removed the same node",
        {"false-removal"},
    ),
    "counts-grants": mutant(
        variant(IdentityLock, faulty_contenders.CountsItsOwnGrants),
        "the token counts how often this client was granted the lock",
        {"token-regression"},
    ),
    "refuses-reentry": mutant(
        variant(IdentityLock, WaitsForItself),
        WAITS_FOR_ITSELF,
        {"refused-reentry"},
    ),
    **contest_mutants(
        lambda contest: variant(BlacklistLock, contest=contest),
        "persistent-node",
        "first-session-only",
        "keeps-place",
    ),
    **contest_mutants(
        lambda contest: variant(IdentityLock, contest=contest), "sorts-by-name", "watches-first"
    ),
    **contest_mutants(lambda contest: variant(IdentityLock, contest=contest), "denies-release"),
    **answer_mutants(partial(variant, IdentityLock), "releases-nothing", "enters-what-was-lost"),
    **contender_mutants(partial(variant, IdentityLock), "never-held", "believes-until-lost"),
    "cooperative-blacklist": mutant(
        published_breakable_locks.CooperativeBlacklistLock,
        "the text wants the servers to refuse the heartbeats of a blacklisted session, which "
        "ZooKeeper cannot do: so the holder's own program reads the blacklist between two pieces "
        "of work, and a program that hangs never does",
        {"missed-revocation"},
        printed="A 3.2",
    ),
}
