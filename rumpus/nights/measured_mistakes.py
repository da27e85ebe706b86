"""How often known mistakes were found, measured: the canaries that a night can choose from."""

from typing import Final, NamedTuple


class Measured(NamedTuple):
    """A mutant, of recipes or of servers.

    Attributes:
        family: the workload that shows its mistake.
        name: its name.
        found: how many runs found the mistake.
        runs: how many there were: of 15 s of load, with the usual faults, from seed 0 on.
    """

    family: str
    name: str
    found: int
    runs: int


MEASURED: Final[tuple[Measured, ...]] = (
    Measured("lock", "persistent-node", 20, 20),
    Measured("lock", "no-recheck", 20, 20),
    Measured("read-write", "barging-readers", 20, 20),
    Measured("read-write", "hasty-writer", 20, 20),
    Measured("semaphore", "counts-all", 20, 20),
    Measured("semaphore", "release-by-place", 20, 20),
    Measured("queue", "get-then-delete", 20, 20),
    Measured("queue", "ignores-timeout", 20, 20),
    Measured("priority-queue", "cached-list", 20, 20),
    Measured("priority-queue", "ephemeral-elements", 16, 20),
    Measured("election", "untied-acknowledgement", 17, 20),
    Measured("election", "shared-acknowledgement", 20, 20),
    Measured("barrier", "unsynced", 12, 20),
    Measured("barrier", "ignores-timeout", 20, 20),
    Measured("double-barrier", "counts-ready", 20, 20),
    Measured("double-barrier", "waits-for-one", 17, 20),
    Measured("counter", "adds-again", 20, 20),
    Measured("counter", "blind-write", 20, 20),
    Measured("latch", "exact", 19, 20),
    Measured("latch", "ephemeral", 20, 20),
    Measured("breaking", "notifications-only", 20, 20),
    Measured("breaking", "refused-once", 20, 20),
    Measured("view", "notified-only-data", 20, 20),
    Measured("view", "watch-after-read-children", 19, 20),
    Measured("registry", "no-lookup", 19, 20),
    Measured("registry", "unsynced", 20, 20),
    Measured("partitioner", "unnoticed-change", 20, 20),
    Measured("partitioner", "persistent-node", 20, 20),
    Measured("two-phase-commit", "aborts-alone", 20, 20),
    Measured("two-phase-commit", "overwrites", 20, 20),
    Measured("ephemeral", "surviving-ephemerals", 7, 8),
    Measured("sequence", "repeated-sequence", 5, 5),
    Measured("register", "ignored-versions", 2, 2),
    Measured("multi", "half-multi", 2, 2),
    Measured("register", "idle-sync", 2, 2),
    Measured("register", "unchecked-zxid", 2, 2),
    Measured("watch", "lost-events", 2, 2),
    Measured("watch", "late-events", 2, 2),
    Measured("watch", "doubled-events", 2, 2),
    Measured("watch", "reordered-events", 2, 2),
    Measured("znode", "unenforced-acl", 2, 2),
    Measured("znode", "inherited-acl", 2, 2),
    Measured("znode", "pzxid-without-deletions", 2, 2),
    Measured("znode", "mtime-of-creation", 2, 2),
    Measured("znode", "aversion-uncounted", 2, 2),
)
