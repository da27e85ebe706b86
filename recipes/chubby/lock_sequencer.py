"""Sequencers of file locks: a string that names lock, mode and lock generation.

The string travels with requests (Burrows, section 2.4). A server accepts a request only if the
sequencer is valid: it asks the cell (``LockVerifier``), or it compares the lock generation with the
highest one that it has seen (``recipes.chubby.storage``), which needs no session with the cell.

The sequencer also names the holder's znode, which exists no longer than the hold. So a change of a
file can depend on a sequencer, in one transaction.
"""

from kazoo.exceptions import NoNodeError

from rumpus.recipes.chubby.lock_table import LockTable
from rumpus.recipes.lock.sequencer import Sequencer, Verifier
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session


def lock_of(claim: Sequencer) -> str:
    """The path of the lock that a sequencer names."""
    return claim.node.rpartition("/")[0]


class LockVerifier(Verifier):
    """Tells whether sequencers of file locks are valid. Needs a client, but no handle."""

    def _stands(self, session: Session, claim: Sequencer, deadline: Deadline) -> bool:
        """Whether the holder's znode is there, and the lock has the generation that is claimed."""
        self._catch_up(session, claim, deadline)
        if session.ask(deadline, self._client.exists_async, claim.node) is None:
            return False
        try:
            table, _ = session.ask(deadline, self._client.get_async, f"{lock_of(claim)}/taken")
        except NoNodeError:
            return False
        return LockTable.parse(table.decode()).generation == claim.generation
