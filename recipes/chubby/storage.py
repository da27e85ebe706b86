"""A storage server that is no part of the cell, and refuses requests of former holders.

Burrows, section 2.4: a holder of a lock sends its sequencer with each request, and the server
refuses the request if the sequencer is no longer valid. The server combines both of Chubby's ways:

- It remembers the highest lock generation of which it has accepted a request, and refuses lower
  ones. So once a later holder's request was accepted, none of an earlier holder is.
- It asks the cell about the first request of each generation. So a server that was restarted, and
  has forgotten what it accepted, does not accept a request of a hold that has ended.

A server that cannot ask the cell refuses the request. It may accept a request of a hold that has
just ended, as long as no later holder's request has come: the request takes effect as if it had
come earlier.
"""

import threading
import uuid
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kazoo.client import KazooClient

from rumpus.recipes.chubby.file_change import StaleSequencer
from rumpus.recipes.chubby.lock_sequencer import LockVerifier, lock_of
from rumpus.recipes.lock.sequencer import EXCLUSIVE, Sequencer
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.requests.json_lines import Address, LineServer, Message, ask_once

VERIFY_S: Final = 1.0
"""Seconds that a server waits for the cell's answer about a sequencer."""


class Storage:
    """What one storage server holds, and which requests it accepts.

    Args:
        client: a started client with kazoo's threading handler, to ask the cell.
        lock: the path of the lock whose holder may write.
    """

    _verifier_class: ClassVar[type[LockVerifier]] = LockVerifier

    def __init__(self, client: KazooClient, lock: str) -> None:
        self.life = uuid.uuid4().hex
        """Changes when the server is restarted."""
        self._verifier = self._verifier_class(client)
        self._lock = lock
        self._turn = threading.Lock()
        self._highest = -1
        self._writes = 0
        self._values: dict[str, Any] = {}

    def write(self, key: str, value: Any, sequencer: str) -> int:
        """Write a value; the number of the write, in the order in which writes were accepted.

        Raises:
            NotDone: refused, because the sequencer is not known to be valid.
        """
        with self._turn:
            claim = Sequencer.parse(sequencer)
            if lock_of(claim) != self._lock or claim.mode != EXCLUSIVE:
                raise NotDone(f"{sequencer} is no sequencer of a writer of {self._lock}")
            if not self._accepts(claim, sequencer):
                raise NotDone(f"the sequencer {sequencer} is not valid")
            self._highest = claim.generation
            self._values[key] = value
            self._writes += 1
            return self._writes

    def _accepts(self, claim: Sequencer, sequencer: str) -> bool:
        """Whether a sequencer of our lock may still write."""
        if claim.generation > self._highest:
            try:
                return self._verifier.verify(sequencer, VERIFY_S)
            except OutcomeUnknown:
                return False
        return claim.generation == self._highest

    @property
    def values(self) -> Mapping[str, Any]:
        """What was written."""
        with self._turn:
            return dict(self._values)


class StorageServer:
    """Serves a ``Storage`` to clients over TCP.

    Args:
        storage: what is served.
        host: where to listen, at any free port.
    """

    def __init__(self, storage: Storage, host: str) -> None:
        self._storage = storage
        self._server = LineServer(host, self._answer)
        self.address: Address = self._server.address

    def close(self) -> None:
        """Serve no more."""
        self._server.close()

    def _answer(self, question: Message) -> Message:
        try:
            at = self._storage.write(question["key"], question["value"], question["sequencer"])
        except (NotDone, ValueError) as error:
            return {"refused": str(error)}
        return {"life": self._storage.life, "at": at}


def write_to(address: Address, key: str, value: Any, sequencer: str, timeout: float) -> Message:
    """Send a write to a storage server.

    Returns:
        A message with the server's ``life`` and the number ``at`` of the write in it.

    Raises:
        StaleSequencer: refused, because the sequencer is not known to be valid.
        NotDone: the server was not reached.
        OutcomeUnknown: no answer in time.
    """
    question = {"key": key, "value": value, "sequencer": sequencer}
    answer = ask_once(address, question, timeout)
    if "refused" in answer:
        raise StaleSequencer(answer["refused"])
    return answer
