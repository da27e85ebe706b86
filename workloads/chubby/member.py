"""A client of a Chubby cell: its session, its handles, what it is told, its storage server."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, Literal, TypedDict

from kazoo.exceptions import NoNodeError

from rumpus.checker.every_run.timeouts import TIMED_OUT
from rumpus.checker.history import session_hex
from rumpus.harness.clients.client_body import ClientContext
from rumpus.recipes.chubby.cell import Stat, paths_of
from rumpus.recipes.chubby.file_change import StaleSequencer
from rumpus.recipes.chubby.handle import Handle
from rumpus.recipes.chubby.handle_events import Event, EventKind
from rumpus.recipes.chubby.lease import HandleInvalid
from rumpus.recipes.chubby.library import PRIMARY, Chubby
from rumpus.recipes.chubby.storage import StorageServer, write_to
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import until_answered
from rumpus.recipes.requests.session import Session
from rumpus.workloads.contests.contender import Contender, Grant
from rumpus.workloads.framework.operation import Failed

Mode = Literal["read", "write"]

KEYS: Final = (PRIMARY, "config")
"""The files that are read and written."""

LOCK: Final = f"{PRIMARY} lock"
CHILDREN: Final = "config children"

TOPICS: Final[dict[str, tuple[str, EventKind]]] = {
    **{key: (key, EventKind.CONTENTS_CHANGED) for key in KEYS},
    LOCK: (PRIMARY, EventKind.LOCK_ACQUIRED),
    CHILDREN: ("config", EventKind.CHILD_CHANGED),
}
"""What clients wait for: a file, and the events that tell of it. Their numbers only grow."""

SERVERS: Final = 2
"""How many clients run a storage server."""

OPEN_S: Final = 1.0
READ_S: Final = 1.0
STORE_S: Final = 2.5
"""Longer than a storage server waits for the cell's answer about a sequencer."""

CHANGE_S: Final = 3.5
"""How long most changes wait: until the session of a client that does not answer has ended."""


class FileGrant(Grant):
    """A grant, with its lock generation."""

    generation: int


class Stored(TypedDict):
    """The number of a write in one life of a storage server."""

    life: str
    at: int


class Member(Contender):
    """A client of the cell: its session with it, its handles, and perhaps a storage server.

    Args:
        context: the client's context.
        recipe: the class of the sessions.
        cell: the cell's znode.
    """

    mode: Mode = "write"

    def __init__(self, context: ClientContext, recipe: type[Chubby], cell: str) -> None:
        super().__init__(context, None, recipe.line(cell))
        self._kind = recipe
        self._cell = cell
        self._session: Chubby | None = None
        self._handles: dict[str, Handle] = {}
        self._told = threading.Condition()
        self._numbers: dict[str, int] = {}
        self._expired: Chubby | None = None
        self._server: StorageServer | None = None

    @property
    def session_name(self) -> str | None:
        """The session of the handles."""
        identity = None if self._session is None else self._session.session_id
        return None if identity is None else session_hex(identity)

    @contextmanager
    def using(self, name: str, patience: float = OPEN_S) -> Iterator[Handle]:
        """The handle of a file, which is opened if need be; an invalid one is given up.

        The lock's handle, and the end of the session, take all others with them.
        """
        if self._session is None:
            self._session = self._kind(self.context.kazoo, self._cell, name=self.context.name)
        handle = self._handles.get(name)
        try:
            if handle is None:
                handle = self._open(self._session, name, patience)
            yield handle
        except HandleInvalid:
            if handle is None or name == PRIMARY or self._expired is self._session:
                self.close()
            else:
                self.forget(name)
            raise

    def _open(self, session: Chubby, name: str, patience: float) -> Handle:
        topics = {kind: topic for topic, (file, kind) in TOPICS.items() if file == name}

        def told(event: Event) -> None:
            with self._told:
                if event.kind in topics:
                    self._note(topics[event.kind], event.number)
                elif event.kind is EventKind.EXPIRED:
                    self._expired = session
                self._told.notify_all()

        handle = session.open(
            name, events=topics.keys(), listener=told, contents=b'""', timeout=patience
        )
        try:
            children = len(handle.read_dir(READ_S)) if EventKind.CHILD_CHANGED in topics else 0
        except NotDone:
            handle.close()
            raise
        self._handles[name] = handle
        with self._told:  # events tell of what happens after that
            for kind, topic in topics.items():
                self._note(topic, _number(handle.opened, kind, children))
        if name == PRIMARY:
            self.recipe = handle
        return handle

    @contextmanager
    def guarded(self, name: str, sequencer: str) -> Iterator[Handle]:
        """Another handle of a file, with a sequencer, for one use."""
        with self.using(name):
            assert self._session is not None, "it was opened"
            handle = self._session.open(name, timeout=OPEN_S)
            try:
                handle.set_sequencer(sequencer)
                yield handle
            finally:
                handle.close()

    def forget(self, name: str) -> None:
        """Close the handle of a file that was deleted."""
        handle = self._handles.pop(name, None)
        if handle is not None:
            handle.close()

    def close(self) -> None:
        """Close the session and its handles; the next call opens others.

        Nobody believes in a lock that is released in this way: its handle is poisoned first.
        """
        if self.recipe is not None:
            self.recipe.poison()
            self.context.look_at_belief()
        if self._session is not None:
            self._session.close()
        self._session = None
        self._handles.clear()

    def _note(self, topic: str, number: int) -> None:
        self._numbers[topic] = max(self._numbers.get(topic, 0), number)

    def await_change(self, topic: str, version: int, timeout: float) -> int:
        """Wait until an event has told of a higher number than the given one; which one."""
        session = self._session

        def is_told() -> bool:
            return self._expired is session or self._numbers[topic] > version

        with self._told:
            if not self._told.wait_for(is_told, timeout):
                raise NotDone(TIMED_OUT)
            if self._numbers[topic] <= version:
                raise HandleInvalid("the session has expired")
            return self._numbers[topic]

    def add(self, parent: str, child: str, timeout: float) -> int:
        """Create a child of a file; how many there are then."""
        with self.using(parent) as handle:
            assert self._session is not None, "it was opened"
            deadline = Deadline(timeout)
            name = f"{parent}/{child}"
            self._session.open(name, contents=b'""', timeout=deadline.left()).close()
            return len(handle.read_dir(deadline.left()))

    # The lock, as every contender.

    def enter(self, timeout: float) -> bool:
        """Wait for the lock in the mode that ``mode`` names."""
        with self.using(PRIMARY, timeout) as handle:
            return handle.acquire("shared" if self.mode == "read" else "exclusive", timeout)

    def leave(self) -> None:
        """Release."""
        if self.recipe is None:
            raise NotHeld("no file was opened yet")
        self.recipe.release()

    def held(self) -> bool | float:
        """For how many more seconds the client is certain to hold."""
        return False if self.recipe is None else super().held()

    def proven(self, grant: Grant) -> FileGrant:
        """A grant with its generation and, if it still lasts, its sequencer."""
        found: FileGrant = {**grant, "generation": self.recipe.generation}
        with suppress(NotHeld):
            found["sequencer"] = self.recipe.get_sequencer()
        return found

    # The storage servers.

    def serve(self) -> None:
        """Run a storage server, and publish its address."""
        if self.context.client >= SERVERS or self._server is not None:
            return
        storage = self._kind.storage_class(self.context.kazoo, paths_of(self._cell, PRIMARY).lock)
        self._server = StorageServer(storage, self.context.host)
        kazoo, path = self.context.kazoo, self._address_of(self.context.client)
        address = json.dumps(self._server.address).encode()

        def publish(session: Session) -> None:
            session.ask(Deadline(OPEN_S), kazoo.ensure_path_async, path)
            session.ask(Deadline(OPEN_S), kazoo.set_async, path, address)

        until_answered(kazoo, Deadline(CHANGE_S), publish)

    def stop(self) -> None:
        """Stop the storage server, and close the session."""
        if self._server is not None:
            self._server.close()
        self.close()

    def store(self, server: int, value: int, sequencer: str) -> Stored:
        """Write a value at a storage server."""

        def find(session: Session) -> Any:
            path = self._address_of(server)
            session.catch_up(Deadline(OPEN_S), f"{path}/none")
            data, _ = session.ask(Deadline(OPEN_S), self.context.kazoo.get_async, path)
            return json.loads(data)

        try:
            host, port = until_answered(self.context.kazoo, Deadline(OPEN_S), find)
        except (NoNodeError, ValueError):
            raise NotDone("the server has not published its address") from None
        try:
            answer = write_to((host, port), "value", value, sequencer, STORE_S)
        except StaleSequencer as error:
            raise Failed("refused") from error
        return {"life": answer["life"], "at": answer["at"]}

    def _address_of(self, server: int) -> str:
        return f"{self._cell}/storage/{server}"


def _number(opened: Stat, kind: EventKind, children: int) -> int:
    """What an event of that kind would have told when the file was opened."""
    if kind is EventKind.CHILD_CHANGED:
        return children
    of_lock = kind is EventKind.LOCK_ACQUIRED
    return opened.lock_generation if of_lock else opened.content_generation
