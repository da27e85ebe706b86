"""Sequencers: a grant as a string that travels with requests and can be verified by anybody.

Chubby's idea (Burrows, The Chubby lock service, OSDI 2006, section 2.4): the holder hands a server
a string that names the lock, the mode and the generation of the grant. The server asks the lock
service whether that grant is still valid, and refuses the request if not.

Here the generation is the czxid of the holder's node. A sequencer is valid as long as that very
node exists: the node was first when the sequencer was made, and stays first until it is gone. The
path alone would not do, for somebody else may have created a node of that path since.

**Verifying.** A server may lag, and still show a node that has been removed. So ``verify`` begins
with a write without effect (``sync`` would not do: a deposed leader that has not noticed answers it
by itself). The result then holds for some moment during the call of ``verify``. It says nothing
about later moments: a sequencer is weaker than a fence that compares tokens with each write.

The string is not signed: it protects from mistakes, not from forgery.
"""

import uuid
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from kazoo.client import KazooClient
from kazoo.exceptions import SessionExpiredError

from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.lock.contest_lock import ContestLock, FairLock
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered

EXCLUSIVE: Final = "exclusive"

SHARED: Final = "shared"


@dataclass(frozen=True)
class Sequencer:
    """What the string says: the holder's node, how it holds, and the generation of the grant."""

    node: str
    mode: str
    generation: int

    def __str__(self) -> str:
        return f"{self.mode}:{self.generation:x}:{self.node}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a string.

        Raises:
            ValueError: it is no sequencer.
        """
        mode, _, rest = text.partition(":")
        generation, _, node = rest.partition(":")
        if mode not in (EXCLUSIVE, SHARED) or not node.startswith("/"):
            raise ValueError(f"{text!r} is no sequencer")
        return cls(node, mode, int(generation, 16))


class Verifier:
    """Tells whether sequencers are valid. Needs a client, but no lock.

    Args:
        client: a started client with kazoo's threading handler.
    """

    def __init__(self, client: KazooClient) -> None:
        self._client = client

    def verify(self, sequencer: str, timeout: float | None = None) -> bool:
        """Whether the grant was valid at some moment during the call.

        Args:
            sequencer: as the holder gave it.
            timeout: seconds; None is for ever.

        Raises:
            ValueError: it is no sequencer.
            LockUnknown: no answer in time; treat it as stale.
        """
        claim = Sequencer.parse(sequencer)
        session = Session(self._client)
        try:
            return self._stands(session, claim, Deadline(timeout))
        except (Unanswered, SessionExpiredError) as error:
            raise LockUnknown(f"{claim.node}: no answer, cannot tell whether it stands") from error
        finally:
            session.close()

    def _stands(self, session: Session, claim: Sequencer, deadline: Deadline) -> bool:
        self._catch_up(session, claim, deadline)
        stat = session.ask(deadline, self._client.exists_async, claim.node)
        return stat is not None and stat.czxid == claim.generation

    def _catch_up(self, session: Session, claim: Sequencer, deadline: Deadline) -> None:
        """Make sure that the next read is no older than this call."""
        nowhere = f"{claim.node.rpartition('/')[0]}/{uuid.uuid4().hex}"
        session.catch_up(deadline, nowhere)


class SequencerLock(ContestLock):
    """A fair lock whose holder can prove its grant to others. See the module."""

    contest = FairContest
    verifier: ClassVar[type[Verifier]] = Verifier
    promises: ClassVar[Promises] = FairLock.promises.and_more(
        {"stale-sequencer", "refused-sequencer"},
        "A sequencer that was verified may be stale a moment later: what is done then is not "
        "prevented. Let the resource compare tokens where that matters.",
    )

    def sequencer(self) -> str:
        """The present grant, as a string for others.

        Raises:
            NotHeld: there is none.
        """
        grant = self._grant
        if grant is None or grant.node is None or grant.token is None or grant.session.lost:
            raise NotHeld(f"{self._path}: not held by this client")
        return str(Sequencer(grant.node, EXCLUSIVE, grant.token))
