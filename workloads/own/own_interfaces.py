"""Families whose objects must have the interface of the recipes here: calls go through unchanged.

What each method does, and what it returns and raises, is in the family's page (docs/recipes) and in
the class that is named here.
"""

from typing import Any, ClassVar

from kazoo.exceptions import BadVersionError, NoAuthError, NodeExistsError, NoNodeError

from rumpus.recipes.chubby.storage import Storage
from rumpus.recipes.promises import Line
from rumpus.workloads.own.own_lock import OwnLock
from rumpus.workloads.own.own_recipe import Method, OwnRecipe, has, method

REFUSALS = (BadVersionError, NoAuthError, NodeExistsError, NoNodeError)
"""Errors by which a server refuses a single request: it has certainly not been carried out."""


class OwnJobs(OwnRecipe):
    """As ``recipes.jobs.job_queue.Jobs``."""

    ways = (
        (
            method("submit(payload, job, timeout) -> job"),
            method("claim(timeout) -> claim with payload and token, or None"),
            method("complete(claim, by, also, timeout)"),
            method("give_back(claim, timeout)"),
            method("result(job, timeout) -> str | None"),
        ),
    )


class OwnTwoPhaseCommit(OwnRecipe):
    """As ``recipes.two_phase_commit.transaction_nodes.TwoPhaseCommit``."""

    answers = (NodeExistsError,)
    ways = (
        (
            method("begin(participants, transaction, timeout)"),
            method("join(transaction, timeout)"),
            method("vote(transaction, ballot, timeout)"),
            method("decide(transaction, timeout, patience) -> 'commit' | 'abort' | None"),
            method("transactions(timeout) -> list of transactions"),
        ),
    )


class OwnView(OwnRecipe):
    """As ``recipes.view.follower_view.View``."""

    ways = (
        (
            method("open()"),
            method("close()"),
            Method(("value",), "value"),
            Method(("follows",), "follows = 'data' | 'children' | 'tree'"),
        ),
    )
    follows: ClassVar[str] = "data"

    @classmethod
    def attributes_of(cls, factory: Any) -> dict[str, Any]:
        """What the view shows."""
        return {"follows": getattr(factory, "follows", cls.follows)}


class OwnBreakableLock(OwnRecipe):
    """As ``recipes.breaking.breakable_lock``: one whose holders an operator breaks, or others."""

    by_blacklist: ClassVar[bool] = False
    ways = (
        (*OwnLock.ways[0], method("holder(timeout)"), method("blacklist(holder, timeout)")),
        (
            *OwnLock.ways[0],
            method("holder(timeout)"),
            method("identity_of(holder)"),
            method("free(holder, timeout) -> bool"),
            Method(("identity",), "identity"),
        ),
    )

    @classmethod
    def attributes_of(cls, factory: Any) -> dict[str, Any]:
        """Whether it is broken by a blacklist."""
        return {"by_blacklist": has(factory, "blacklist")}

    @classmethod
    def assumed_line(cls, path: str) -> Line:
        """Nobody knows where its contenders queue."""
        return Line(kind="unknown", path=path)


class OwnDatabase(OwnRecipe):
    """As ``recipes.failover.database.FailoverDatabase``, which a ``FailoverClient`` can ask."""

    ways = (
        (
            method("remaining() -> float"),
            method("step_down() -> bool"),
            method("hand_back() -> bool"),
            method("values() -> list"),
            method("close()"),
        ),
    )

    @classmethod
    def assumed_line(cls, path: str) -> Line:
        """Nobody knows by which znodes members contend."""
        return Line(kind="unknown", path=path)

    def remaining(self) -> float:
        """For how many seconds it believes that it is the primary; 0 before it is made."""
        return 0.0 if self._made is None else float(self.translated(self.own.remaining)())


class OwnCell(OwnRecipe):
    """As ``recipes.chubby.library.Chubby``: sessions with a cell, whose ``open`` gives handles."""

    ways = (
        (
            method("open(name) -> handle"),
            method("close()"),
            Method(("session_id",), "session_id, or None"),
            Method(("storage_class",), "storage_class: as recipes.chubby.storage.Storage"),
        ),
    )

    @classmethod
    def attributes_of(cls, factory: Any) -> dict[str, Any]:
        """What a storage server refuses requests by."""
        return {"storage_class": getattr(factory, "storage_class", Storage)}


class OwnLog(OwnRecipe):
    """As ``recipes.sealed_log.owned_log.OwnedLog``."""

    ways = (
        (
            method("take_over(timeout) -> (epoch, position)"),
            method("append(value, timeout) -> (epoch, position)"),
            method("release()"),
            method("read(timeout) -> list"),
            method("repair(timeout)"),
            method("on_disk(timeout) -> list"),
            method("close()"),
            Method(("owning",), "owning"),
            Method(("replica",), "replica, or None"),
        ),
    )

    @property
    def owning(self) -> bool:
        """Whether the client believes that it owns the log; False before it is made."""
        return self._made is not None and bool(self.own.owning)


class _OwnZnodes(OwnRecipe):
    """Recipes on plain znodes: requests that are refused are told from those of unknown outcome."""

    answers = REFUSALS

    def prepare(self) -> None:
        """Create the znodes that it needs; nothing if it has no ``prepare``."""
        if hasattr(self.own, "prepare"):
            self.translated(self.own.prepare)()


class OwnRegister(_OwnZnodes):
    """As ``recipes.znodes.register.LocalRegister``."""

    ways = (
        (
            method("read(key) -> (value, version, zxid, session)"),
            method("write(key, value) -> (value, version, zxid, session)"),
            method("cas(key, version, value) -> (value, version, zxid, session) | None"),
            method("reconnect()"),
        ),
    )


class OwnAppendLog(_OwnZnodes):
    """As ``recipes.znodes.append_log.AppendLog``."""

    ways = ((method("append(key, value)"), method("read(key) -> list of values")),)


class OwnWatchedZnodes(_OwnZnodes):
    """As ``recipes.znodes.watched_znode.WatchedZnode``."""

    ways = (
        (
            *OwnRegister.ways[0][:2],
            method("watch(key) -> (value, version, zxid, session)"),
            method("await_change(key, version, timeout)"),
            method("reconnecting_after(seconds) -> context manager"),
            method("make(key, ephemeral) -> bool"),
            method("unmake(key) -> bool"),
            method("survey(key)"),
            method("reconnect()"),
        ),
    )


class OwnEphemerals(_OwnZnodes):
    """As ``recipes.znodes.ephemeral_nodes.EphemeralNodes``."""

    ways = (
        (
            method("create(name) -> session | None"),
            method("remove(name) -> bool"),
            method("owners() -> ({name: session | None}, session)"),
        ),
    )


class OwnSequence(_OwnZnodes):
    """As ``recipes.znodes.sequence.SequentialNodes``."""

    ways = ((method("generate() -> int"),),)


class OwnMultiWrite(_OwnZnodes):
    """As ``recipes.znodes.multi_write.MultiWrite``."""

    ways = (
        (
            method("write(value) -> version"),
            method("write_if(value, version) -> version | None"),
            method("read() -> ({node: value}, version)"),
        ),
    )


class OwnGuardedZnodes(_OwnZnodes):
    """As ``recipes.znodes.guarded_znodes.GuardedZnodes``; ``user`` is set before the first call."""

    user = ""

    def new_own(self, **options: Any) -> Any:
        """Another object, which knows its user."""
        own = super().new_own(**options)
        own.user = self.user
        return own

    ways = (
        tuple(
            method(f"{name}(name{more})")
            for name, more in {
                "make": ", value, acl", "allow": ", acl", "write": ", value", "read": "",
                "listing": "", "grow": ", child", "prune": ", child",
            }.items()
        ),
    )  # fmt: skip
