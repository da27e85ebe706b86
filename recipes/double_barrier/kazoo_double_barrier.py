"""kazoo's own DoubleBarrier behind the interface of ``recipes.double_barrier.counted_barrier``.

A thin adapter: kazoo enters and leaves. kazoo's calls have no timeout: they block until the others
have come, or have left, whatever the timeout here. The adapter adds what kazoo tells its users to
add: the membership ends with the session. kazoo's ``enter`` swallows errors, and reports them only
by its attribute ``participating``.
"""

from contextlib import suppress
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.recipe.barrier import DoubleBarrier as TheirDoubleBarrier

from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier, NotInside
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.promises import HOLDING, Promises
from rumpus.recipes.requests.session import Session


class KazooDoubleBarrier(DoubleBarrier):
    """``kazoo.recipe.barrier.DoubleBarrier``, a fresh one for each round; see the module."""

    promises: ClassVar[Promises] = Promises(
        prevents=DoubleBarrier.promises.prevents - HOLDING,
        notes=(
            "kazoo promises to block until all members have joined, and until all have left, and "
            "to retry after lost connections; a member whose session ends is no member any more. "
            "It promises nothing about a second round, but leaves no nodes behind."
        ),
    )

    more_clients: ClassVar[bool] = False
    """kazoo waits for all that are there: who comes while others leave is let in beside them, and
    its documentation knows only "the members", as many as ``num_clients``."""

    def __init__(self, client: KazooClient, path: str, parties: int, *, grace: float = 2.0) -> None:
        super().__init__(client, path, parties, grace=grace)
        self._theirs: TheirDoubleBarrier | None = None
        self._since: Session | None = None

    @property
    def inside(self) -> bool:
        """Whether kazoo has entered, and the session lives and is connected."""
        return self._theirs is not None and self._since is not None and self._since.connected

    @property
    def session(self) -> int | None:
        """The session in which kazoo said that it had entered; None without one."""
        return None if self._since is None else self._since.begun_in

    def enter(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - kazoo has none
        """Enter, however long that takes.

        Raises:
            OutcomeUnknown: kazoo gave up.
        """
        self._forget()
        theirs = TheirDoubleBarrier(self._client, self._path, self._parties)
        theirs.enter()
        if not theirs.participating:
            self._clean_up(theirs)
            raise OutcomeUnknown(f"{self._path}: kazoo could not enter")
        # Its user is inside from now on, whatever sessions kazoo has gone through to get here.
        self._theirs, self._since = theirs, Session(self._client)
        return True

    def _clean_up(self, theirs: TheirDoubleBarrier) -> None:
        """Remove the node of a member that did not get in: kazoo may have left it."""
        with suppress(NoNodeError):  # it may have been created in kazoo's next session
            self._client.retry(self._client.delete, theirs.create_path)

    def leave(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - kazoo has none
        """Leave, however long that takes.

        Raises:
            NotInside: not entered, or the session has ended.
        """
        theirs, since = self._theirs, self._since
        if theirs is None or since is None:
            raise NotInside(f"{self._path}: not entered")
        lost = since.lost
        theirs.leave()
        lost = lost or since.lost
        self._forget()
        if lost:
            raise NotInside(f"{self._path}: our session has ended; others may have left already")
        return True

    def _forget(self) -> None:
        if self._since is not None:
            self._since.close()
        self._theirs = self._since = None


class KazooBareDoubleBarrier(KazooDoubleBarrier):
    """As most users call it: nodes that a failed ``enter`` leaves are not removed."""

    def _clean_up(self, theirs: TheirDoubleBarrier) -> None:
        """Do nothing."""
