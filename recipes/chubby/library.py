"""Chubby's client library on ZooKeeper: a session with a cell, and ``open``.

Source: Burrows, The Chubby lock service for loosely-coupled distributed systems, OSDI 2006.
``docs/recipes/chubby.md`` says what ZooKeeper lacks, and how the recipe makes up for it.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import ClassVar, Final

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError, SessionExpiredError
from kazoo.security import ACL

from rumpus.recipes.chubby.cell import Contents, paths_of, read_file
from rumpus.recipes.chubby.file_lock import FileLock
from rumpus.recipes.chubby.handle import Handle, Mode
from rumpus.recipes.chubby.handle_events import Event, EventKind
from rumpus.recipes.chubby.lease import HandleInvalid, Lease, Standing
from rumpus.recipes.chubby.storage import Storage
from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.lock.delayed_lock import DELAY
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.paths import absolute
from rumpus.recipes.promises import HOLDING, LIVENESS, Line, Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import within_session
from rumpus.recipes.requests.session import Unanswered

PRIMARY: Final = "primary"
"""The file whose lock a service's primary holds, and whose contents say who that is (section 1)."""

ANY: Final = Mode.READ | Mode.WRITE | Mode.CHANGE_ACL


class Chubby(Recipe):
    """One client's session with a cell.

    A session that has expired is of no use any more: ``close`` it and make another object.

    Args:
        client: a started client with kazoo's threading handler.
        cell: the cell's znode, used by nothing else.
        name: who we are, for people to read.
        grace_period: seconds for which a session may be in jeopardy; by default twice the session
            timeout. (Chubby's is 45 s, with leases of 12 s.)
        grace: seconds by which a call may exceed its timeout, to await late answers.
    """

    promises: ClassVar[Promises] = Promises(
        # Not double-grant: who is first in the queue must still take the lock in the table.
        prevents=HOLDING
        | LIVENESS
        | {
            "split-brain",
            "stale-belief",
            "unaware-holder",
            "early-grant",
            "stale-sequencer",
            "refused-sequencer",
            "stale-request",
            "generation-regression",
            "stale-read",
            "lost-update",
            "early-event",
            "missed-event",
            "false-event",
            "jeopardy-call",
            "expired-handle",
            "unauthorised-access",
        },
        lock_delay=DELAY,
        notes=(
            "A client that does not answer holds up changes of the files in its cache until its "
            "session has ended. No order among those who wait for a lock. What a former holder "
            "does at a resource that checks no sequencers is not prevented. Clocks must not differ "
            "in rate by more than 5 in 100."
        ),
    )
    handle_class: ClassVar[type[Handle]] = Handle
    lease_class: ClassVar[type[Lease]] = Lease
    storage_class: ClassVar[type[Storage]] = Storage

    def __init__(
        self,
        client: KazooClient,
        cell: str,
        *,
        name: str = "",
        grace_period: float | None = None,
        grace: float = 2.0,
    ) -> None:
        self._client = client
        self._cell = absolute(cell)
        self._name = name
        self._grace = grace
        session_timeout: float = client._session_timeout / 1000  # noqa: SLF001 - as SessionValidity
        self._abandoned_after = 3 * session_timeout
        grace_period = 2 * session_timeout if grace_period is None else grace_period
        self._lease = self.lease_class(client, cell, grace_period)
        self._handles: list[Handle] = []
        self._session_id: int | None = None

    @classmethod
    def line(cls, path: str) -> Line:
        """The queue for the lock of the file ``PRIMARY`` of the cell at ``path``."""
        return FileLock.line(paths_of(path, PRIMARY).lock)

    @property
    def standing(self) -> Standing:
        """Whether the session is safe, in jeopardy, or expired."""
        return self._lease.standing

    @property
    def session_id(self) -> int | None:
        """The session's id (signed 64 bits); None until a file was opened."""
        return self._session_id

    def open(
        self,
        name: str,
        mode: Mode = ANY,
        *,
        events: AbstractSet[EventKind] = frozenset(),
        listener: Callable[[Event], None] = lambda _event: None,
        lock_delay: float = DELAY,
        contents: bytes | None = None,
        acl: list[ACL] | None = None,
        timeout: float | None = None,
    ) -> Handle:
        """Open a file.

        Args:
            name: the file's name in the cell: ``a``, or ``a/b`` for a child of ``a``.
            mode: what the handle may be used for.
            events: which events to deliver; those of the session come in any case.
            listener: called with each event on a thread of the library; must not block.
            lock_delay: seconds for which nobody gets the lock after this client has failed.
            contents: creates the file with these contents if it is not there; None: never creates.
            acl: the access control list of a file that is created; None: that of its parent.
            timeout: seconds; None is for ever.

        Raises:
            HandleInvalid: the session has expired.
            NotDone: there is no such file; or no answer in time.
        """
        paths = paths_of(self._cell, name)
        deadline = Deadline(timeout, allowance=self._grace)
        session, client = self._lease.session, self._client

        def attempt() -> tuple[Contents, list[str]]:
            self._lease.admit(deadline)
            for path in (f"{self._cell}/files", paths.cache, paths.lock):
                session.ask(deadline, client.ensure_path_async, path)
            if contents is not None:
                parent = paths.file.rpartition("/")[0]
                own = acl or session.ask(deadline, client.get_acls_async, parent)[0]
                with suppress(NodeExistsError):
                    session.ask(deadline, client.create_async, paths.file, contents, own)
            session.catch_up(deadline, f"{paths.cache}/none")
            children: list[str] = []
            if EventKind.CHILD_CHANGED in events:
                children = session.ask(deadline, client.get_children_async, paths.file)
            return read_file(client, session, deadline, paths), children

        try:
            found, children = within_session(deadline, attempt)
        except NoNodeError:
            raise NotDone(f"there is no file {name!r}, or no parent to create it in") from None
        except SessionExpiredError:
            raise HandleInvalid("the session has expired") from None
        except Unanswered as error:
            raise NotDone(f"no answer in time: {error}") from error
        self._session_id = self._session_id or session.id
        handle = self.handle_class(
            client,
            paths,
            self._lease,
            name=self._name,
            mode=mode,
            opened=found.stat,
            lock_delay=lock_delay,
            grace=self._grace,
            abandoned_after=self._abandoned_after,
        )
        handle.listen(events, listener, frozenset(children))
        self._handles.append(handle)
        return handle

    def close(self) -> None:
        """Close all handles and end the session, without waiting. The client stays connected."""
        for handle in self._handles:
            handle.close()
        self._lease.close()
