"""How often known mistakes were found, measured: the canaries that a night can choose from."""

from typing import Final

SEEDS: Final = 20
"""How many runs each was measured in: 15 s of load, the usual faults, seeds 0 to 19."""

MEASURED: Final[tuple[tuple[str, str, int], ...]] = (
    ("lock", "persistent-node", 20),
    ("lock", "no-recheck", 20),
    ("read-write", "barging-readers", 20),
    ("read-write", "hasty-writer", 20),
    ("semaphore", "counts-all", 20),
    ("semaphore", "release-by-place", 20),
    ("queue", "get-then-delete", 20),
    ("queue", "ignores-timeout", 20),
    ("priority-queue", "cached-list", 20),
    ("priority-queue", "ephemeral-elements", 16),
    ("election", "untied-acknowledgement", 17),
    ("election", "shared-acknowledgement", 20),
    ("barrier", "unsynced", 12),
    ("barrier", "ignores-timeout", 20),
    ("double-barrier", "counts-ready", 20),
    ("double-barrier", "waits-for-one", 20),
    ("counter", "adds-again", 20),
    ("counter", "blind-write", 20),
    ("latch", "exact", 19),
    ("latch", "ephemeral", 20),
    ("breaking", "notifications-only", 20),
    ("breaking", "refused-once", 20),
    ("view", "notified-only-data", 20),
    ("view", "watch-after-read-children", 19),
    ("registry", "no-lookup", 19),
    ("registry", "unsynced", 20),
    ("partitioner", "unnoticed-change", 20),
    ("partitioner", "persistent-node", 20),
    ("two-phase-commit", "aborts-alone", 20),
    ("two-phase-commit", "overwrites", 20),
)
"""Workload, mutant (of recipes, or of servers), and how many of these runs found it."""
