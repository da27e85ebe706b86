"""Curator's barriers, counters and its cache of a znode's children.

The classes say what Curator's documentation promises. The clients are in ``docker/curator/worker``.
"""

from typing import ClassVar, Literal

from rumpus.recipes.curator.contests import CuratorRecipe
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.queue.acknowledged_queue import AT_LEAST_ONCE
from rumpus.recipes.queue.fifo_queue import AT_MOST_ONCE
from rumpus.recipes.queue.interfaces import Delivery


class Unqueued(CuratorRecipe):
    """A recipe for which nobody queues."""

    @classmethod
    def line(cls, path: str) -> Line | None:  # noqa: ARG003 - as of every recipe
        """None."""
        return None


class CuratorCounter(Unqueued):
    """``SharedCount``, or ``DistributedAtomicLong``."""

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"miscount", "stuck-waiter"}),
        notes="A change that Curator calls unsuccessful was not made. What Curator reads may be "
        "out of date: clients read by adding nothing.",
    )


class CuratorBarrier(Unqueued):
    """``DistributedBarrier``."""

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"early-entry", "stuck-waiter", "early-timeout"}),
        notes="A wait that threw an exception is repeated, as Curator's users have to do.",
    )


class CuratorDoubleBarrier(Unqueued):
    """``DistributedDoubleBarrier``, a new one for each round."""

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset(
            {"early-entry", "early-exit", "false-exit", "unaware-holder", "stuck-waiter"}
        ),
        notes="Curator promises nothing about a second round. Clients remove the node of a member "
        "that did not get in.",
    )
    more_clients: ClassVar[bool] = False
    """``memberQty`` is a threshold, as its documentation says: one more is let in while others
    leave, into a round that is over."""


class CuratorSimpleQueue(Unqueued):
    """``SimpleDistributedQueue``."""

    delivery: ClassVar[Delivery] = "at-most-once"
    promises: ClassVar[Promises] = Promises(
        prevents=AT_MOST_ONCE | {"out-of-order"},
        notes="An element is removed before its consumer works on it. To find nothing says "
        "nothing: Curator may ask a server that lags.",
    )


class CuratorQueue(Unqueued):
    """``DistributedQueue``, with puts in the foreground."""

    delivery: ClassVar[Delivery] = "at-most-once"
    promises: ClassVar[Promises] = Promises(
        prevents=AT_MOST_ONCE,
        notes="An element is removed before its consumer gets it. Curator promises an order to a "
        "single consumer only.",
    )


class CuratorLockedQueue(Unqueued):
    """``DistributedQueue`` with a lock path."""

    delivery: ClassVar[Delivery] = "at-least-once"
    promises: ClassVar[Promises] = Promises(
        prevents=AT_LEAST_ONCE - {"out-of-order"},
        notes="An element is removed when its consumer has returned. Curator does not tell whether "
        "it was: the client looks. Curator promises an order to a single consumer only.",
    )


class CuratorPathCache(Unqueued):
    """``PathChildrenCache``, with data."""

    follows: ClassVar[Literal["tree"]] = "tree"
    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"stale-view"}),
        notes="The view may lag and skip states; in the end it shows what the servers hold.",
    )
