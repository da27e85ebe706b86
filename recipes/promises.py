"""What a recipe promises, as data.

An anomaly that a recipe promises to prevent is a violation when it is seen; any other is a
hazard: counted and shown. The names of anomalies are the checker's (``checker.verdict``).
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Literal

EXCLUSION = frozenset({"double-grant", "split-brain"})
"""At most one holder while sessions live. Where all make the same znode, servers that work cannot
grant it twice, and the first of the two is not promised by the recipe."""

ACKNOWLEDGEMENT = frozenset(
    {"false-acknowledgement", "lost-acknowledgement", "false-observation", "epoch-regression"}
)
"""Who is seen to have acknowledged its lead does lead, and nobody sees an older one afterwards;
whoever leads, and has said so, before a look and until after it is seen."""

HOLDING = frozenset({"unbelieving-holder", "early-timeout", "overdue-call"})
"""Who is granted it believes so, and a call takes its timeout to give up, and a grace at most."""

LIVENESS = frozenset({"stuck-waiter", "deadlock", "orphan-node"})
"""Once nothing is in the way, everybody proceeds and nothing is left behind."""

LEADERSHIP = frozenset({"stuck-waiter", "leaderless", "orphan-node"})
"""The same of elections, where it has a name of its own that nobody proceeds."""


LONGEST_DELAY_S = 1_000_000.0
"""The longest time for which a lock may be held back."""


@dataclass(frozen=True)
class Line:
    """Where a recipe's contenders stand, so that the server's truth can be read from its logs.

    ``sequential``: the children of ``path`` whose name ends in a sequence number and contains
    ``mark``; lowest number first; those whose name contains ``shared``, if that is not empty,
    may own beside each other. ``pool``: the children of ``path``; each owns from the beginning.
    ``single``: the one node ``path``; who made it owns.
    """

    kind: Literal["sequential", "pool", "single"]
    path: str
    mark: str = ""
    shared: str = ""


@dataclass(frozen=True)
class Promises:
    """A recipe's promises.

    Args:
        prevents: anomalies that never happen, whatever the faults.
        wakeups: how many waiters one release may wake for each who may hold at once, None if
            there is no bound. Waiters who share what they wait for count as one.
        tokens: whether a grant comes with a fencing token that only grows.
        reentrant: whether a holder may acquire again: ``refused-reentry`` is prevented.
        fenced: whether the protected resource checks tokens, with this recipe always.
        lock_delay: seconds for which nobody is granted it after a holder has failed.
        notes: in words, what is not promised and why.
    """

    prevents: frozenset[str]
    wakeups: int | None = None
    tokens: bool = False
    reentrant: bool = False
    fenced: bool = False
    lock_delay: float = 0.0
    notes: str = ""

    def __post_init__(self) -> None:
        """A file of a stranger may say anything.

        Raises:
            ValueError: a number is none that can be promised.
        """
        if self.wakeups is not None and self.wakeups < 0:
            raise ValueError(f"wakeups is {self.wakeups}, and cannot be below 0")
        if not 0 <= self.lock_delay <= LONGEST_DELAY_S:
            raise ValueError(f"lock_delay is {self.lock_delay}, not from 0 to {LONGEST_DELAY_S}")

    def and_more(
        self, prevents: AbstractSet[str], notes: str, *, fenced: bool = False, delay: float = 0.0
    ) -> "Promises":
        """The promises of a recipe that is built on this one's, with notes of its own."""
        every = self.prevents | prevents
        return replace(self, prevents=every, notes=notes, fenced=fenced, lock_delay=delay)


def fair_contest(prevents: AbstractSet[str], notes: str) -> Promises:
    """What is promised where contenders are served in the order in which they came.

    Args:
        prevents: what is prevented besides.
        notes: in words, what is not promised and why.
    """
    return Promises(
        prevents=EXCLUSION
        | HOLDING
        | {"unaware-holder", "refused-reentry", "token-regression", "unfair-grant", "herd"}
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
        | {"split-brain", "unaware-holder", "refused-reentry", "token-regression"}
        | prevents,
        tokens=True,
        reentrant=True,
        notes="No order, and no bound on wake-ups. " + notes,
    )
