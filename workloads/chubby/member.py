"""A client of a Chubby cell that locks, creates files, and runs a storage server."""

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Literal

from kazoo.exceptions import NoNodeError
from kazoo.security import ACL

from rumpus.harness.clients.client_body import ClientContext
from rumpus.recipes.chubby.cell import paths_of
from rumpus.recipes.chubby.file_change import StaleSequencer
from rumpus.recipes.chubby.library import PRIMARY, Chubby
from rumpus.recipes.chubby.storage import StorageServer, write_to
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import until_answered
from rumpus.recipes.requests.session import Session
from rumpus.workloads.chubby.answers import Added, FileGrant, Stored
from rumpus.workloads.chubby.cell_client import CellClient
from rumpus.workloads.chubby.files import (
    CHANGE_S,
    CHILDREN,
    OPEN_S,
    SERVERS,
    STORE_S,
    TEMPORARY,
)
from rumpus.workloads.chubby.misuse import MISUSES, answered
from rumpus.workloads.chubby.told import LOOK_S
from rumpus.workloads.contests.contender import Grant
from rumpus.workloads.framework.operation import Failed

Mode = Literal["read", "write"]


class Member(CellClient):
    """A client of the cell that takes turns with the lock, and may run a storage server."""

    mode: Mode = "write"

    def __init__(self, context: ClientContext, recipe: type[Chubby], cell: str) -> None:
        super().__init__(context, recipe, cell)
        self._server: StorageServer | None = None

    def misuse(self, state: str) -> list[str]:
        """Which calls are answered of a handle in a state in which they should be refused."""
        with self.another(TEMPORARY, MISUSES[state].mode) as handle:
            return answered(handle, state)

    def add(self, parent: str, child: str, acl: list[ACL] | None, timeout: float) -> Added:
        """Create a child of a file, with a list of its own or its parent's."""
        with self.using(parent) as handle:
            assert self._session is not None, "it was opened"
            deadline = Deadline(timeout)
            name = f"{parent}/{child}"
            before = self.acl_of(parent, deadline)
            self._session.open(name, contents=b'""', acl=acl, timeout=deadline.left()).close()
            names = handle.read_dir(deadline.left())
            inherited = [before, self.acl_of(parent, deadline)]
            return {
                "key": CHILDREN,
                "child": child,
                "version": len(names),
                "listed": child in names,
                "acl": self.acl_of(name, deadline),
                "allowed": [in_words(acl)] if acl else inherited,
            }

    def acl_of(self, name: str, deadline: Deadline) -> list[str]:
        """A file's access control list, as the servers have it."""
        paths, kazoo = paths_of(self._cell, name), self.context.kazoo

        def look(session: Session) -> list[str]:
            session.catch_up(Deadline(OPEN_S), f"{paths.cache}/none")
            acl, _ = session.ask(Deadline(OPEN_S), kazoo.get_acls_async, paths.file)
            return in_words(acl)

        return until_answered(kazoo, deadline, look)

    # The lock, as every contender.

    def enter(self, timeout: float) -> bool:
        """Wait for the lock in the mode that ``mode`` names."""
        with self.using(PRIMARY, timeout) as handle:
            self._news[PRIMARY].conflicts = 0
            return handle.acquire("shared" if self.mode == "read" else "exclusive", timeout)

    def leave(self) -> None:
        """Release."""
        if self.recipe is None:
            raise NotHeld("no file was opened yet")
        self.recipe.release()

    def leave_by_closing(self) -> None:
        """Close the lock's handle, and wait until the lock is released by that."""
        handle = self._handles.get(PRIMARY)
        node = None if handle is None else handle.node
        if node is None:
            raise NotHeld("there is no grant")
        self.forget(PRIMARY)
        kazoo, deadline = self.context.kazoo, Deadline(CHANGE_S)

        def is_gone(session: Session) -> bool:
            session.catch_up(Deadline(OPEN_S), f"{node}/none")
            return session.ask(Deadline(OPEN_S), kazoo.exists_async, node) is None

        while not until_answered(kazoo, deadline, is_gone):
            if deadline.passed:
                raise OutcomeUnknown("the lock is not released yet")
            time.sleep(LOOK_S)

    def held(self) -> bool | float:
        """For how many more seconds the client is certain to hold."""
        return False if self.recipe is None else super().held()

    def proven(self, grant: Grant) -> FileGrant:
        """A grant with its generation and, if it still lasts, its sequencer."""
        generation = self.recipe.generation
        found: FileGrant = {**grant, "generation": generation, "delay": self._delay}
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
        self.context.kazoo.remove_listener(self._connection_changed)
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


def in_words(acl: Iterable[ACL]) -> list[str]:
    """An access control list, for histories."""
    return sorted({f"{one.perms}:{one.id.scheme}:{one.id.id}" for one in acl})
