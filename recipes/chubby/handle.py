"""A handle on a file: what a client does with Chubby, it does through handles (Burrows, 2.2, 2.6).

Every call but ``close`` and ``poison`` fails with ``HandleInvalid`` once the session has expired,
and blocks while the session is in jeopardy. A handle belongs to one instance of its file: if the
file is deleted and created again, the handle is invalid.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from enum import Flag, auto
from functools import partial
from typing import Any, ClassVar, Final, Literal, TypeVar

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import ConnectionClosedError, NoNodeError, SessionExpiredError
from kazoo.protocol.states import ZnodeStat
from kazoo.security import ACL

from rumpus.recipes.chubby.cached_file import CachedFile
from rumpus.recipes.chubby.cell import Contents, FilePaths, Stat, read_file
from rumpus.recipes.chubby.change_mark import Patience
from rumpus.recipes.chubby.file_change import AclChange, FileChange, StaleSequencer, Step
from rumpus.recipes.chubby.file_lock import FileLock
from rumpus.recipes.chubby.handle_events import SESSION_EVENTS, Event, EventKind, HandleEvents
from rumpus.recipes.chubby.lease import HandleInvalid, Lease, Standing
from rumpus.recipes.chubby.lock_sequencer import LockVerifier, lock_of
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.lock.sequencer import EXCLUSIVE, SHARED, Sequencer
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import within_session
from rumpus.recipes.requests.session import Unanswered

LockMode = Literal["shared", "exclusive"]

SIDES: Final[dict[str, Literal["read", "write"]]] = {SHARED: "read", EXCLUSIVE: "write"}
"""Lock mode -> side of the read-write lock."""

Found = TypeVar("Found")


class Mode(Flag):
    """What a handle may be used for. Locking needs ``WRITE``, in either lock mode."""

    READ = auto()
    WRITE = auto()
    CHANGE_ACL = auto()


class GenerationMismatch(NotDone):
    """The file's contents have another generation than the caller expected. Nothing was done."""


class WrongMode(NotDone):
    """The handle was not opened for such a call. Nothing was done."""


class Handle:
    """An open file. Made by ``recipes.chubby.library.Chubby.open``.

    Args:
        client: a started client with kazoo's threading handler.
        paths: the file's znodes.
        lease: the lease of the session.
        name: who we are, for people to read.
        mode: what the handle may be used for.
        opened: the file's Stat when it was opened.
        lock_delay: seconds for which nobody gets the lock after this client has failed.
        grace: seconds by which a call may exceed its timeout, to await late answers.
        abandoned_after: seconds after which a change of somebody else counts as abandoned.
    """

    _cache_class: ClassVar[type[CachedFile]] = CachedFile
    _change_class: ClassVar[type[FileChange]] = FileChange
    _lock_class: ClassVar[type[FileLock]] = FileLock
    _events_class: ClassVar[type[HandleEvents]] = HandleEvents
    _verifier_class: ClassVar[type[LockVerifier]] = LockVerifier

    def __init__(
        self,
        client: KazooClient,
        paths: FilePaths,
        lease: Lease,
        *,
        name: str,
        mode: Mode,
        opened: Stat,
        lock_delay: float,
        grace: float,
        abandoned_after: float,
    ) -> None:
        self._client = client
        self._paths = paths
        self._lease = lease
        self._mode = mode
        self.opened = opened
        """The file's Stat when the handle was opened."""
        self._grace = grace
        self._patience = Patience(abandoned_after)
        self._invalid = ""
        self._sequencer: Sequencer | None = None
        self._events: HandleEvents | None = None
        self._listener: Callable[[Event], None] = lambda _event: None
        self._lock = self._lock_class(client, paths.lock, name=name, delay=lock_delay)
        self._cache = self._cache_class(client, paths, lease, abandoned_after)

    # Files.

    def get_contents_and_stat(self, timeout: float | None = None) -> Contents:
        """The contents and the Stat: from the cache if they are there, else from the servers.

        Raises:
            HandleInvalid, WrongMode: see there.
            NotDone: no answer in time (``InJeopardy`` if the session was in jeopardy).
        """
        return self._get(timeout, self._cache.read)

    def get_stat(self, timeout: float | None = None) -> Stat:
        """The file's generation numbers, from the servers. Errors as ``get_contents_and_stat``."""

        def look(deadline: Deadline) -> Contents:
            self._lease.admit(deadline)
            session = self._lease.session
            session.catch_up(deadline, f"{self._paths.cache}/none")
            return read_file(self._client, session, deadline, self._paths)

        return self._get(timeout, look).stat

    def read_dir(self, timeout: float | None = None) -> list[str]:
        """The names of the file's children, in order. Errors as ``get_contents_and_stat``."""

        def look(deadline: Deadline) -> list[str]:
            self._lease.admit(deadline)
            session = self._lease.session
            session.catch_up(deadline, f"{self._paths.cache}/none")
            names, stat = session.ask(
                deadline, self._client.get_children_async, self._paths.file, None, True
            )
            self._check_instance(stat.czxid)
            return sorted(names)

        return self._answered(timeout, Mode.READ, look)

    def set_contents(
        self, data: bytes, generation: int | None = None, timeout: float | None = None
    ) -> int:
        """Write the contents; no client has the old ones in its cache once this returns.

        Args:
            data: the contents.
            generation: write only if the contents have this generation (compare and swap).
            timeout: seconds; None is for ever.

        Returns:
            The new content generation.

        Raises:
            GenerationMismatch: they have another generation.
            StaleSequencer: the handle's sequencer is no longer valid.
            HandleInvalid, WrongMode: see there.
            NotDone: not done in time, because a client did not drop its cached copy, say.
            OutcomeUnknown: nobody can tell whether it was done.
        """

        def plan(stat: ZnodeStat) -> Step:
            self._check_instance(stat.czxid)
            self._check_generation(stat, generation)
            return Step(self._writing(data, stat), stat.version + 1)

        return self._change(plan, Mode.WRITE, timeout)

    def _check_generation(self, stat: ZnodeStat, generation: int | None) -> None:
        if generation is not None and stat.version != generation:
            raise GenerationMismatch(f"generation {stat.version}, not {generation}")

    def _writing(self, data: bytes, stat: ZnodeStat) -> Callable[[TransactionRequest], object]:
        return lambda transaction: transaction.set_data(self._paths.file, data, stat.version)

    def set_acl(self, acl: list[ACL], timeout: float | None = None) -> int:
        """Replace the access control list; the new ACL generation. Errors as ``set_contents``."""

        def plan(stat: ZnodeStat) -> Step:
            self._check_instance(stat.czxid)
            return Step(lambda _transaction: None, stat.aversion + 1)

        return self._change(plan, Mode.CHANGE_ACL, timeout, partial(AclChange, acl=acl))

    def delete(self, timeout: float | None = None) -> None:
        """Delete the file, which must have no children. Errors as ``set_contents``."""

        def plan(stat: ZnodeStat) -> Step:
            self._check_instance(stat.czxid)
            return Step(lambda txn: txn.delete(self._paths.file, stat.version), 0)

        self._change(plan, Mode.WRITE, timeout)

    # The lock.

    def acquire(self, mode: LockMode, timeout: float | None = None) -> bool:
        """Wait for the file's lock; False if it was not granted in time.

        Raises:
            HandleInvalid, InJeopardy, WrongMode: see there.
            NotDone: this handle holds the lock already.
            LockUnknown: as ``ContestLock.acquire``.
        """
        deadline = Deadline(timeout)
        self._admit(deadline, Mode.WRITE)
        if self._lock.node is not None:
            raise NotDone("this handle holds the lock already: release it first")
        if not self._lock.acquire(SIDES[mode], deadline.left()):
            return False
        try:
            self._admit(deadline, Mode.WRITE)
        except NotDone:
            with suppress(NotHeld, LockUnknown):
                self._lock.release()
            raise
        if self._events is not None:
            self._events.look_again()  # others may be waiting for us to release it
        return True

    def try_acquire(self, mode: LockMode) -> bool:
        """Take the lock if it is free. Errors as ``acquire``."""
        return self.acquire(mode, 0.0)

    def release(self) -> None:
        """Release the lock. Errors as ``ContestLock.release``; works in jeopardy, too."""
        self._lock.release()

    def remaining(self) -> float:
        """Seconds for which this client is certain to hold the lock; 0 if it is not certain."""
        held = self._lock.node is not None and not self._invalid
        return self._lease.remaining() if held else 0.0

    @property
    def held(self) -> bool:
        """Whether this client may rely, right now, on holding the lock."""
        return self.remaining() > 0

    @property
    def generation(self) -> int:
        """The lock generation of the latest grant."""
        return self._lock.generation

    @property
    def token(self) -> int | None:
        """The czxid of an exclusive holder's znode; None without a grant and in shared mode."""
        return self._lock.token

    @property
    def node(self) -> str | None:
        """The holder's znode; None without a grant."""
        return self._lock.node

    @property
    def session(self) -> int | None:
        """Session id (signed 64 bits) of the grant; None without a grant."""
        return self._lock.session

    # Sequencers.

    def get_sequencer(self) -> str:
        """The present hold, as a string for others.

        Raises:
            NotHeld: this client does not hold the lock, or is not certain that it does.
        """
        node = self.node
        if node is None or not self.held:
            raise NotHeld(f"{self._paths.lock}: not held by this client")
        return str(Sequencer(node, self._lock.mode, self.generation))

    def set_sequencer(self, sequencer: str) -> None:
        """From now on calls on this handle fail if that sequencer is no longer valid.

        A change is carried out only if it is valid at that moment (one transaction). Other calls
        look first.

        Raises:
            ValueError: it is no sequencer.
        """
        self._sequencer = Sequencer.parse(sequencer)

    def check_sequencer(self, sequencer: str, timeout: float | None = None) -> bool:
        """Whether a sequencer of this file's lock was valid at some moment during the call.

        Raises:
            ValueError: it is no sequencer.
            LockUnknown: no answer in time; treat it as invalid.
            HandleInvalid, InJeopardy: see there.
        """
        deadline = Deadline(timeout)
        self._admit(deadline)
        if lock_of(Sequencer.parse(sequencer)) != self._paths.lock:
            return False
        return self._verifier_class(self._client).verify(sequencer, deadline.left())

    # The handle.

    def poison(self) -> None:
        """Let all calls on this handle fail from now on, without closing it. Never blocks."""
        self._invalid = self._invalid or "the handle was poisoned"

    def close(self) -> None:
        """Close the handle; if it holds the lock, the lock is released. Never blocks."""
        self._invalid = "the handle was closed"
        self._forsake()

    def listen(
        self,
        kinds: AbstractSet[EventKind],
        listener: Callable[[Event], None],
        children: AbstractSet[str] = frozenset(),
    ) -> None:
        """Deliver what happens since the file was opened. Called once, by ``open``.

        Args:
            kinds: the events to deliver.
            listener: called with each of them.
            children: the names of the file's children when it was opened.
        """
        self._listener = listener
        if kinds:
            self._events = self._events_class(
                self._client,
                self._paths,
                self._lease,
                self._lock,
                self.opened,
                children,
                kinds,
                listener,
            )
            self._events.open()
        self._lease.listen(self._session_changed)

    def _session_changed(self, standing: Standing) -> None:
        """Runs on the lease's thread."""
        if standing is not Standing.SAFE:
            self._cache.drop()
        if standing is Standing.EXPIRED:
            self._invalid = self._invalid or "the session has expired"
            self._forsake()
        self._listener(Event(SESSION_EVENTS[standing]))

    def _forsake(self) -> None:
        self._lease.forget(self._session_changed)
        self._cache.close()
        self._lock.forsake()
        if self._events is not None:
            self._events.close()

    def _admit(self, deadline: Deadline, mode: Mode | None = None) -> None:
        """Wait until a call may be made."""
        self._check(mode)
        self._lease.admit(deadline)
        self._check(mode)

    def _check(self, mode: Mode | None = None) -> None:
        """Raise ``WrongMode`` or ``HandleInvalid`` if no call may be made at all."""
        if mode is not None and mode not in self._mode:
            raise WrongMode(f"the handle is not open for {mode}")
        if self._invalid:
            raise HandleInvalid(self._invalid)

    def _check_instance(self, instance: int) -> None:
        if instance != self.opened.instance:
            raise HandleInvalid("the file was deleted, and created again")

    def _get(self, timeout: float | None, look: Callable[[Deadline], Contents]) -> Contents:
        found = self._answered(timeout, Mode.READ, look)
        self._check_instance(found.stat.instance)
        return found

    def _answered(
        self, timeout: float | None, mode: Mode, look: Callable[[Deadline], Found]
    ) -> Found:
        """What a look finds, made again until it is answered. It waits for the lease if need be."""
        deadline = Deadline(timeout)

        def attempt() -> Found:
            self._check(mode)
            found = look(deadline)
            self._check()  # it may have been poisoned meanwhile
            return found

        try:
            if self._sequencer is not None and not self.check_sequencer(
                str(self._sequencer), timeout
            ):
                raise StaleSequencer(f"{self._sequencer}: the hold has ended")
            return within_session(deadline, attempt)
        except ConnectionClosedError:  # a SessionExpiredError too, so it comes first
            raise
        except SessionExpiredError:
            raise HandleInvalid("the session has expired") from None
        except NoNodeError:
            raise HandleInvalid("the file was deleted") from None
        except (Unanswered, LockUnknown) as error:
            raise NotDone(f"no answer in time: {error}") from error

    def _change(
        self,
        plan: Callable[[ZnodeStat], Step],
        mode: Mode,
        timeout: float | None,
        kind: Callable[..., Any] | None = None,
    ) -> int:
        deadline = Deadline(timeout)
        self._admit(deadline, mode)
        guard = None if self._sequencer is None else self._sequencer.node
        change: FileChange = (kind or self._change_class)(
            self._client, self._paths, self._lease, plan, self._patience, guard
        )
        return change.carry_out(deadline.left(), self._grace)
