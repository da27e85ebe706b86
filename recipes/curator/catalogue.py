"""Curator's recipes by family. They run on real servers only, with clients in containers."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.other_systems import OtherSystemEntry
from rumpus.recipes.servers import ZOOKEEPER

DEAD_NODE: Final = (
    "a node of the client's previous session that the servers have not removed yet counts as its "
    "own: the client is granted what it soon loses, and is not told (CURATOR-604)"
)
DEAD_LATCH: Final = (
    "a node of the client's previous session that the servers have not removed yet makes it the "
    "leader, and it is not told when that node goes (CURATOR-696)"
)
ADDS_TWICE: Final = (
    "a set whose reply is lost is retried, fails because of the version that it wrote itself, and "
    "counts as not made: the amount is added again"
)


def _entry(
    place: str, mistake: str = "", expected: frozenset[str] = frozenset(), weakness: str = ""
) -> OtherSystemEntry:
    """An entry; arguments as for ``OtherSystemEntry``."""
    return OtherSystemEntry(
        f"curator.{place}",
        ZOOKEEPER,
        "",
        mistake,
        expected,
        weakness=weakness,
        client_image="curator",
    )


CURATOR_LOCKS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-mutex": _entry("contests:CuratorMutex", weakness=DEAD_NODE),
    "curator-semaphore-mutex": _entry("contests:CuratorSemaphoreMutex", weakness=DEAD_NODE),
    "curator-mutex-ignores-state": _entry(
        "contests:CuratorMutex",
        "its user ignores the state of the connection, and believes as long as "
        "isAcquiredInThisProcess() says so",
        frozenset({"unaware-holder"}),
    ),
    "curator-mutex-room-for-two": _entry(
        "contests:CuratorMutex",
        "the first two in the queue have the mutex",
        frozenset({"split-brain"}),
    ),
}

CURATOR_SEMAPHORES: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-semaphore": _entry("contests:CuratorSemaphore", weakness=DEAD_NODE),
    "curator-semaphore-room-for-one-more": _entry(
        "contests:CuratorSemaphore",
        "its users name more leases than there are permits",
        frozenset({"split-brain"}),
    ),
}

CURATOR_READ_WRITE_LOCKS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-read-write": _entry("contests:CuratorReadWriteLock", weakness=DEAD_NODE),
    "curator-read-write-only-reads": _entry(
        "contests:CuratorReadWriteLock",
        "its writers take the readers' lock",
        frozenset({"split-brain"}),
    ),
}

CURATOR_ELECTIONS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-leader-latch": _entry("contests:CuratorLeaderLatch", weakness=DEAD_LATCH),
    "curator-leader-selector": _entry("contests:CuratorLeaderSelector", weakness=DEAD_NODE),
    "curator-leader-latch-does-not-wait": _entry(
        "contests:CuratorLeaderLatch",
        "its user ignores what await returns: false if the time is over",
        frozenset({"split-brain"}),
    ),
    "curator-leader-selector-ignores-state": _entry(
        "contests:CuratorLeaderSelector",
        "its listener does nothing when the state of the connection changes",
        frozenset({"unaware-holder"}),
    ),
}

CURATOR_COUNTERS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-shared-count": _entry("coordination:CuratorCounter", weakness=ADDS_TWICE),
    "curator-atomic-long": _entry("coordination:CuratorCounter", weakness=ADDS_TWICE),
    "curator-shared-count-sets": _entry(
        "coordination:CuratorCounter",
        "its user calls setCount, which does not compare, in place of trySetCount",
        frozenset({"miscount"}),
    ),
    "curator-atomic-long-does-not-ask": _entry(
        "coordination:CuratorCounter",
        "its user does not ask whether an addition succeeded",
        frozenset({"miscount"}),
    ),
}

CURATOR_BARRIERS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-barrier": _entry("coordination:CuratorBarrier"),
    "curator-barrier-ignores-timeouts": _entry(
        "coordination:CuratorBarrier",
        "its user ignores what waitOnBarrier returns: false if the time is over",
        frozenset({"early-entry"}),
    ),
}

CURATOR_DOUBLE_BARRIERS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-double-barrier": _entry(
        "coordination:CuratorDoubleBarrier",
        weakness="after any event of a watch, enter no longer looks how many have come, or waits "
        "without its timeout (apache/curator#1290)",
    ),
    "curator-double-barrier-one-fewer": _entry(
        "coordination:CuratorDoubleBarrier",
        "its members wait for one fewer than there are",
        frozenset({"early-entry"}),
    ),
}

CURATOR_QUEUES: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-simple-queue": _entry(
        "coordination:CuratorSimpleQueue",
        weakness="a create or delete whose reply is lost is retried: the element is there twice, "
        "or another one is taken in its place",
    ),
    "curator-simple-queue-peeks": _entry(
        "coordination:CuratorSimpleQueue",
        "its user peeks, and then removes what is first by then",
        frozenset({"duplicate-element"}),
    ),
    "curator-queue": _entry(
        "coordination:CuratorQueue",
        weakness="a create whose reply is lost is retried: the element is there twice",
    ),
    "curator-queue-locked": _entry(
        "coordination:CuratorLockedQueue",
        weakness="a create whose reply is lost is retried: the element is there twice",
    ),
    "curator-queue-locked-returns-early": _entry(
        "coordination:CuratorLockedQueue",
        "its consumer returns before anybody has worked on the element",
        frozenset({"lost-element"}),
    ),
}

CURATOR_VIEWS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-path-cache": _entry("coordination:CuratorPathCache"),
    "curator-path-cache-copied-once": _entry(
        "coordination:CuratorPathCache",
        "its user copies the view once, and never asks for it again",
        frozenset({"stale-view"}),
    ),
}
