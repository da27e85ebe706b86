"""Curator's recipes by family. They run on real servers only, with clients in containers."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.other_systems import OtherSystemEntry
from rumpus.recipes.servers import ZOOKEEPER


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
    "curator-mutex": _entry("contests:CuratorMutex"),
    "curator-semaphore-mutex": _entry("contests:CuratorSemaphoreMutex"),
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
    "curator-semaphore": _entry("contests:CuratorSemaphore"),
}

CURATOR_READ_WRITE_LOCKS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-read-write": _entry("contests:CuratorReadWriteLock"),
}

CURATOR_ELECTIONS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-leader-latch": _entry("contests:CuratorLeaderLatch"),
    "curator-leader-selector": _entry("contests:CuratorLeaderSelector"),
}

CURATOR_COUNTERS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-shared-count": _entry("coordination:CuratorCounter"),
    "curator-atomic-long": _entry("coordination:CuratorCounter"),
}

CURATOR_BARRIERS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-barrier": _entry("coordination:CuratorBarrier"),
}

CURATOR_DOUBLE_BARRIERS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-double-barrier": _entry("coordination:CuratorDoubleBarrier"),
}

CURATOR_QUEUES: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-simple-queue": _entry("coordination:CuratorSimpleQueue"),
}

CURATOR_VIEWS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-path-cache": _entry("coordination:CuratorPathCache"),
}
