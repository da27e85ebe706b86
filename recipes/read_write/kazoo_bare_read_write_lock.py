"""kazoo's own ReadLock and WriteLock as most users call them, with the recommended listener.

As ``recipes.lock.kazoo_bare_lock``: nodes that a failed acquire leaves behind are not removed.
"""

from typing import ClassVar, Final

from rumpus.recipes.lock.contest_lock import ContestLock
from rumpus.recipes.lock.kazoo_bare_lock import KazooBareContest
from rumpus.recipes.lock.kazoo_lock import KAZOO_NOTES
from rumpus.recipes.promises import EXCLUSION, LIVENESS, Promises
from rumpus.recipes.read_write.kazoo_read_write_lock import KazooReadContest, KazooWriteContest
from rumpus.recipes.read_write.read_write_lock import ReadLock, ReadWriteLock

PROMISES: Final = Promises(
    prevents=EXCLUSION | LIVENESS | {"unaware-holder", "overdue-call"},
    notes=KAZOO_NOTES + "kazoo gives no tokens.",
)


class KazooBareReadContest(KazooBareContest, KazooReadContest):
    """Won by ``kazoo.recipe.lock.ReadLock``."""


class KazooBareWriteContest(KazooBareContest, KazooWriteContest):
    """Won by ``kazoo.recipe.lock.WriteLock``."""


class KazooBareReadLock(ReadLock):
    """``kazoo.recipe.lock.ReadLock``, a new one each time; see the module."""

    contest = KazooBareReadContest
    promises: ClassVar[Promises] = PROMISES


class KazooBareWriteLock(ContestLock):
    """``kazoo.recipe.lock.WriteLock``, a new one each time; see the module."""

    contest = KazooBareWriteContest
    promises: ClassVar[Promises] = PROMISES


class KazooBareReadWriteLock(ReadWriteLock):
    """Both of kazoo's locks on one path; see the module."""

    reader = KazooBareReadLock
    writer = KazooBareWriteLock
    promises: ClassVar[Promises] = PROMISES
