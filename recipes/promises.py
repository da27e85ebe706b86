"""What a recipe promises, as data.

If the checker sees an anomaly that a recipe promises to prevent, that is a violation. Any other
anomaly is a hazard: it is counted and shown. The checks (``checker.check``) declare the names of
anomalies.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Literal

EXCLUSION = frozenset({"double-grant", "split-brain"})
"""At most one holder while sessions live. Where all contenders create the same znode, a correct
server cannot grant it twice; such recipes leave ``double-grant`` out of their promises."""

ACKNOWLEDGEMENT = frozenset(
    {"false-acknowledgement", "lost-acknowledgement", "false-observation", "epoch-regression"}
)
"""An observer's look that shows an acknowledged leader shows one that does lead, and later looks
never show an older leader. A leader that acknowledged before a look and leads until after it is
the one that the look shows."""

HOLDING = frozenset({"unbelieving-holder", "early-timeout", "overdue-call"})
"""A client that was granted the lock believes that it holds it. A call that fails does not give
up before its timeout, nor later than its timeout plus the grace."""

ANSWERS = frozenset({"false-release", "unheld-release"})
"""A release fails if what was held had been lost, or if nothing was, and only then. An ok says that
it is gone from the servers."""

LIVENESS = frozenset({"stuck-waiter", "deadlock", "orphan-node"})
"""Once faults have ended and holders release, every waiter proceeds and no znode is left over."""

LEADERSHIP = frozenset({"stuck-waiter", "leaderless", "orphan-node"})
"""Liveness of elections: as ``LIVENESS``, but that nobody proceeds is called ``leaderless``."""


LONGEST_DELAY_S = 1_000_000.0
"""Upper bound for ``Promises.lock_delay`` and ``time_boundary``, in seconds."""


@dataclass(frozen=True)
class Line:
    """Which znodes represent a recipe's contenders, so that owners can be read from server logs.

    The kinds:

    ``sequential``: the children of ``path`` whose name contains ``mark`` and ends in a sequence
    number. The child with the lowest number owns. If ``shared`` is not empty, children whose
    name contains it may own at the same time (read locks). ``pool``: the children of ``path``;
    each owns from its creation on. ``single``: the one node ``path``; its creator owns.
    ``unknown``: nobody says who owns; the contenders' nodes are somewhere below ``path``.
    """

    kind: Literal["sequential", "pool", "single", "unknown"]
    path: str
    mark: str = ""
    shared: str = ""


@dataclass(frozen=True)
class Promises:
    """A recipe's promises.

    Args:
        prevents: anomalies that never happen, whatever the faults.
        wakeups: how many waiters one release may wake, per permitted concurrent holder; None if
            there is no bound. Waiters that wait for the same thing (readers) count as one.
        tokens: whether a grant comes with a fencing token, higher for each later grant.
        reentrant: whether a holder may acquire again: ``refused-reentry`` is prevented.
        fenced: whether this recipe always has the protected resource check tokens.
        lock_delay: seconds after a holder's failure during which nobody is granted the lock.
        time_boundary: seconds for which the members of a group have not changed, as far as a member
            knows, when its share is complete.
        notes: in words, what is not promised and why.
    """

    prevents: frozenset[str]
    wakeups: int | None = None
    tokens: bool = False
    reentrant: bool = False
    fenced: bool = False
    lock_delay: float = 0.0
    time_boundary: float = 0.0
    notes: str = ""

    def __post_init__(self) -> None:
        """Check the numbers: promises may be read from a file that somebody else wrote.

        Raises:
            ValueError: a number is out of range.
        """
        if self.wakeups is not None and self.wakeups < 0:
            raise ValueError(f"wakeups is {self.wakeups}, and cannot be below 0")
        if not 0 <= self.lock_delay <= LONGEST_DELAY_S:
            raise ValueError(f"lock_delay is {self.lock_delay}, not from 0 to {LONGEST_DELAY_S}")
        if not 0 <= self.time_boundary <= LONGEST_DELAY_S:
            raise ValueError(
                f"time_boundary is {self.time_boundary}, not from 0 to {LONGEST_DELAY_S}"
            )

    def and_more(
        self,
        prevents: AbstractSet[str],
        notes: str,
        *,
        without: AbstractSet[str] = frozenset(),
        tokens: bool = False,
        fenced: bool = False,
        delay: float = 0.0,
    ) -> "Promises":
        """These promises and more, for a recipe that extends this one; its notes replace ours.

        ``without``: what it does not promise any more.
        """
        return replace(
            self,
            prevents=(self.prevents | prevents) - without,
            notes=notes,
            tokens=self.tokens or tokens,
            fenced=fenced,
            lock_delay=delay,
        )


def fair_contest(prevents: AbstractSet[str], notes: str) -> Promises:
    """What is promised where contenders are served in the order in which they came.

    Args:
        prevents: what is prevented besides.
        notes: in words, what is not promised and why.
    """
    return Promises(
        prevents=EXCLUSION
        | HOLDING
        | ANSWERS
        | {"unaware-holder", "disconnected-belief", "token-regression", "unfair-grant", "herd"}
        | {"refused-reentry", "false-reentry"}
        | prevents,
        wakeups=1,
        tokens=True,
        reentrant=True,
        notes=notes,
    )


def unfair_contest(prevents: AbstractSet[str], notes: str) -> Promises:
    """What is promised where the quickest wins; arguments as for ``fair_contest``."""
    return Promises(
        prevents=HOLDING
        | ANSWERS
        | {"split-brain", "unaware-holder", "disconnected-belief", "token-regression"}
        | {"refused-reentry", "false-reentry"}
        | prevents,
        tokens=True,
        reentrant=True,
        notes="No order, and no bound on wake-ups. " + notes,
    )
