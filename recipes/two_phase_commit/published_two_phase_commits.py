"""Two-phase commit as a document prints it: the coordinator creates a node for each site's vote."""

from contextlib import suppress
from typing import Final

from kazoo.exceptions import NodeExistsError

from rumpus.recipes.mistake import made
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.two_phase_commit.transaction_nodes import (
    Decision,
    InDoubt,
    Parties,
    PeerCommit,
    Progress,
)

SITE: Final = "s_"
UNDEFINED: Final = b""
"""What a site's node holds until the site has voted."""


class SiteNodesCommit(PeerCommit):
    """Votes are the data of the sites' nodes; every site reads and watches all of them."""

    def _create_transaction(
        self, call: RetryingCall, node: str, data: bytes, parties: Parties
    ) -> None:
        made(node)
        with suppress(NodeExistsError):  # an earlier try has created it
            call.write(self._client.create_async, node, data)
        for site in parties.participants:
            with suppress(NodeExistsError):
                call.write(self._client.create_async, f"{node}/{SITE}{site}", UNDEFINED)

    def join(self, transaction: str, timeout: float | None = None) -> list[str]:
        """The names of the sites that have nodes; does not show that this site is at work."""
        with self._call(timeout) as call:
            sites = self._asked(transaction, call, lambda: self._sites(call, transaction))
        if sites is None:
            raise InDoubt(f"{self._node(transaction)}: no answer")
        return sites

    def vote(self, transaction: str, ballot: bool, timeout: float | None = None) -> None:
        """Write the vote into the site's node.

        Raises:
            NoTransaction: there is none.
            InDoubt: no answer in time, or the site's node does not exist yet.
        """
        node = f"{self._node(transaction)}/{SITE}{self._name}"
        mine = b"commit" if ballot else b"abort"
        with self._call(timeout) as call:

            def one() -> bool:
                call.write(self._client.set_async, node, mine)
                return True

            if self._asked(transaction, call, one) is None:
                raise InDoubt(f"{node}: no answer, or no such node yet")

    def _round(self, call: RetryingCall, progress: Progress) -> Decision | None:
        """Read every site's node with a watch; decide once all have voted, or one has voted no."""
        call.session.wake.clear()
        node = self._node(progress.transaction)
        votes = [
            call.read(self._client.get_async, f"{node}/{SITE}{site}", call.news)[0]
            for site in self._sites(call, progress.transaction)
        ]
        if b"abort" in votes:
            return "abort"
        if votes and UNDEFINED not in votes:
            return "commit"
        made(node, lasting=True)
        call.wait()
        return None

    def _sites(self, call: RetryingCall, transaction: str) -> list[str]:
        names = call.read(self._client.get_children_async, self._node(transaction), call.news)
        return sorted(name.removeprefix(SITE) for name in names)
