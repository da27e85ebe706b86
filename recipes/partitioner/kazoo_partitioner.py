"""kazoo's SetPartitioner behind the interface of ``recipes.partitioner.member_partitioner``.

A thin adapter that repairs nothing, so there is no bare variant: the loop over kazoo's states is
the one in kazoo's documentation. The adapter adds
what is needed to report who owns what: the nodes of kazoo's locks, and a belief that ends when the
connection is lost. kazoo's calls have no timeout of their own, and block while no server is in
reach.
"""

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import SessionExpiredError
from kazoo.recipe.partitioner import SetPartitioner

from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.lock.kazoo_lock import KazooContest
from rumpus.recipes.partitioner.member_partitioner import SHARES, Part
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered

BOUNDARY = 0.3
"""kazoo's ``time_boundary``: seconds for which the members must not have changed. Default 30."""


class KazooPartitioner:
    """``kazoo.recipe.partitioner.SetPartitioner``; see the module."""

    promises: ClassVar[Promises] = Promises(
        prevents=SHARES
        | {"unaware-holder", "overdue-call", "stuck-waiter", "deadlock", "orphan-node"}
        | {"hasty-share"},
        time_boundary=BOUNDARY,
        notes=(
            "As documented: each item is owned by a single member, the set is divided again when "
            "members join or leave, and not before they are stable. A failed partitioner is "
            "replaced by a new one, as documented."
        ),
    )

    _boundary = BOUNDARY

    def __init__(
        self, client: KazooClient, path: str, parts: Sequence[str], *, name: str = ""
    ) -> None:
        self._client = client
        self._path = path
        self._set = tuple(parts)
        self._name = f"{name}-{uuid.uuid4().hex[:8]}"  # unique, as kazoo's default is
        self._partitioner: SetPartitioner | None = None
        self._session: Session | None = None
        self._parts: dict[str, Part] = {}

    @classmethod
    def line(cls, path: str) -> Line:
        """The parent of the queues of kazoo's locks."""
        return KazooContest.line(f"{path}/locks")

    def acquire(self, timeout: float | None = None) -> bool:
        """Go through kazoo's states until the set is acquired; False if it timed out.

        After a timeout kazoo goes on by itself, and may acquire later.
        """
        deadline = Deadline(timeout)
        self._forget()
        while not deadline.passed:
            session = self._session = self._session or Session(self._client)
            if self._partitioner is None or self._partitioner.failed:
                self._forget()
                self._partitioner = self._client.SetPartitioner(
                    self._path, set=self._set, identifier=self._name, time_boundary=self._boundary
                )
            elif self._partitioner.release:
                self._partitioner.release_set()
            elif self._partitioner.acquired:
                self._parts = self._described(self._partitioner, session)
                if self._partitioner.acquired and session.connected:
                    return True
                self._forget()
            else:
                left = deadline.left()
                self._partitioner.wait_for_acquire(1.0 if left is None else min(left, 1.0))
        self._forget()
        return False

    def release(self) -> None:
        """Let kazoo release; kazoo begins to allocate again at once.

        Raises:
            NotHeld: kazoo has lost the set, or its session has ended.
        """
        session, partitioner = self._session, self._partitioner
        lost = session is None or session.lost or partitioner is None or partitioner.failed
        self._forget()
        if lost or partitioner is None:
            raise NotHeld(f"{self._path}: the session that held it has ended")
        partitioner.release_set()

    def leave(self, timeout: float | None = None) -> None:  # noqa: ARG002 - kazoo has none
        """Let kazoo finish."""
        self._forget()
        partitioner, self._partitioner = self._partitioner, None
        if partitioner is not None:
            partitioner.finish()

    @property
    def parts(self) -> Mapping[str, Part]:
        """The parts that we own; rely on it while ``held``."""
        return dict(self._parts)

    @property
    def held(self) -> bool:
        """Whether kazoo has acquired the set, and the session lives and is connected."""
        return (
            self._session is not None
            and self._session.connected
            and self._partitioner is not None
            and (self._partitioner.acquired or self._partitioner.release)
        )

    @property
    def changed(self) -> bool:
        """Whether kazoo wants the set to be released."""
        return self._partitioner is None or not self._partitioner.acquired

    def _forget(self) -> None:
        self._parts = {}
        if self._session is not None:
            self._session.close()
            self._session = None

    def _described(self, partitioner: SetPartitioner, session: Session) -> dict[str, Part]:
        """The nodes of kazoo's locks; those that could not be read are left empty."""
        parts = {str(part): Part(None, None, None) for part in partitioner}
        for lock in list(partitioner._locks):  # noqa: SLF001 - kazoo has no other way
            node = f"{lock.path}/{lock.node}"
            with suppress(Unanswered, SessionExpiredError):
                stat = session.ask(Deadline(2.0), self._client.exists_async, node)
                part = lock.path.rpartition("/")[2]
                if stat is not None and part in parts:
                    parts[part] = Part(node, stat.czxid, stat.ephemeralOwner)
        return parts
