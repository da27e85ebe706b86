"""A read-write lock: clients read together or write alone, and release it.

Where the lock is revocable, a client that waits in vain asks the holders to release it, and holders
act until they are asked.
"""

import time
from functools import partial
from typing import Final, Literal, TypedDict

from rumpus.checker.exclusion.grants import check_tokens_given
from rumpus.checker.exclusion.revocation import check_revocations
from rumpus.harness.generators.script import Client, Steps
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.curator.catalogue import CURATOR_READ_WRITE_LOCKS
from rumpus.recipes.read_write.catalogue import READ_WRITE_LOCKS
from rumpus.recipes.read_write.read_write_lock import ReadWriteLock
from rumpus.workloads.contests.contender import Contender, Grant, Work
from rumpus.workloads.contests.contention import CUT_OFF_NS, ContentionWorkload
from rumpus.workloads.framework.checks import promised
from rumpus.workloads.framework.operation import Failed, operation
from rumpus.workloads.own.own_read_write import OwnReadWriteLock

Mode = Literal["read", "write"]

HOLD_BOUND_S: Final = 8.0
"""How many seconds a holder acts if nobody asks it to release."""

SLICE_S: Final = 0.2
"""Seconds from one action of such a holder to the next."""

BUSY_S: Final = 0.5
"""How long some holders act before they first look whether they were asked to release.

All others look at once after the grant, so hardly any request comes before their first look.
"""

DEFIANCE_S: Final = 0.4
"""How long a holder that does not heed a request goes on after it was asked."""

LEARNING_S: Final = 5.0
"""How long a connected holder may take to learn that it was asked to release.

Longer than the session timeout, and longer than a follower that is cut off from its leader goes on
serving stale data (``CUT_OFF_NS``).
"""


class Side(Contender):
    """A client that holds one side of the lock, read or write, at a time."""

    mode: Mode = "write"

    def enter(self, timeout: float) -> bool:
        """Wait for the side that ``mode`` names."""
        return bool(self.recipe.acquire(self.mode, timeout))

    def work_until_asked(self, bound: float, busy: float, *, heeds: bool) -> Work:
        """Act until asked to release, or for ``bound`` seconds."""
        lock = self.recipe
        acts, asked = 0, False
        looks_from = time.monotonic() + busy
        until = time.monotonic() + bound
        while (now := time.monotonic()) < until:
            if not lock.held:
                raise Failed("no longer held", {"acts": acts})
            if not self.context.act(lock.token).accepted:
                raise Failed("refused by the fence", {"acts": acts})
            acts += 1
            patience = min(SLICE_S, until - now)
            if asked or now < looks_from:
                time.sleep(patience)
                continue
            try:
                asked = lock.asked(patience)
            except NotHeld as error:
                raise Failed(str(error), {"acts": acts}) from error
            except LockUnknown:
                continue  # look again, as long as the lock is held
            if asked:
                until = time.monotonic() + (0.0 if heeds else DEFIANCE_S)
        return {"acts": acts, "asked": asked}


class Asked(TypedDict):
    """The nodes of the holders that were asked to release."""

    asked: list[str]


class ReadWriteWorkload(ContentionWorkload):
    """Clients read together or write alone under one lock, or ask its holders to let go."""

    name = "read-write"
    catalogue = READ_WRITE_LOCKS
    elsewhere = CURATOR_READ_WRITE_LOCKS
    adapter = OwnReadWriteLock
    model = "read-write-lock"
    contender = Side
    decider = "read-write-lock"
    modes = ("read", "write", "read", "write", "read")
    prompt = True
    tolerance = CUT_OFF_NS
    checks = (
        check_tokens_given,
        promised("missed-revocation", partial(check_revocations, patience=int(LEARNING_S * 1e9))),
    )

    @operation()
    def acquire(self, side: Side, timeout: float, mode: Mode) -> Grant | None:
        """Wait for one side of the lock."""
        side.mode = mode
        return side.acquire(timeout)

    @operation()
    def work(
        self,
        side: Side,
        acts: int = 3,
        pause: float = 0.0,
        seconds: float = 0.0,
        guard: float = 0.0,
        bound: float | None = None,
        busy: float = 0.0,
        heeds: bool = True,
    ) -> Work | None:
        """Act ``acts`` times; or, with a ``bound``, until asked, for at most ``bound`` seconds.

        For the first ``busy`` seconds the holder does not look whether it was asked to release. If
        it does not heed requests, it goes on for a while although it was asked.
        """
        if bound is not None:
            return side.work_until_asked(bound, busy, heeds=heeds)
        return side.work(acts, pause, seconds, guard)

    @operation()
    def revoke(self, side: Side) -> Asked:
        """Ask the holders to release."""
        return {"asked": list(side.recipe.revoke())}

    def load(self, client: Client) -> Steps:
        """As for every lock; where the lock is revocable, a client that waits in vain asks.

        One client only ever writes then: if all clients read, nobody would have to ask.
        """
        recipe = client.context.recipe
        if not (issubclass(recipe, ReadWriteLock) and recipe.revocable):
            yield from super().load(client)
        modes = self.modes if client.number else ("write",)
        draws = client.draws
        while not client.is_over:
            patience = round(draws.uniform(0.05, 0.55), 3)
            granted = yield self.acquire(timeout=patience, mode=draws.choose(modes))
            if granted.type != "ok":
                yield self.revoke()
                continue
            busy = BUSY_S if draws.one_in(8) else 0.0
            yield self.work(bound=HOLD_BOUND_S, heeds=not draws.one_in(4), busy=busy)
            yield self.release()


READ_WRITE = ReadWriteWorkload()
