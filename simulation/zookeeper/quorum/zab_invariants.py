"""Checks Zab's safety properties on a whole simulated ensemble while it runs.

The properties are those of Junqueira, Reed and Serafini, "Zab: High-performance broadcast for
primary-backup systems" (DSN 2011), section 3: integrity, total order, agreement, primary order;
and two that these rest on: a commit needs a quorum of logs, and a new leader's history has all
that was committed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import itemgetter
from zlib import crc32

from rumpus.simulation.zookeeper.quorum.quorum_packets import counter_of, epoch_of
from rumpus.simulation.zookeeper.quorum.quorum_verifier import QuorumVerifier
from rumpus.simulation.zookeeper.quorum.reconfiguration import configuration_of
from rumpus.simulation.zookeeper.tree.transactions import Entry
from rumpus.simulation.zookeeper.wire.opcodes import RECONFIG


class InvariantViolation(AssertionError):  # noqa: N818 - says what happened
    """The servers have violated a property of Zab; the message names servers and zxids."""


class ZabInvariants:
    """All servers report to it. No fault but a lying disk (``file-lie``) excuses a violation.

    Args:
        voters: ids of the servers that vote, until a reconfiguration is committed.
    """

    def __init__(self, voters: Iterable[int]) -> None:
        self._configurations = [(0, sum(1 << voter for voter in voters))]
        """Of each: the zxid from which it is in force, and its voters, a bit each."""
        self._version = 0
        """The version of the last configuration that was committed."""
        self._proposed: dict[int, int] = {}
        """Zxid -> the CRC-32 of the payload; the payloads of a long run would take much memory."""
        self._logged: dict[int, int] = {}
        """Zxid -> the servers that have it in their logs, a bit each."""
        self.order: list[int] = []
        """Zxids of all that was committed, by a quorum's logs or as history of a new epoch."""
        self._epoch = 0
        self._last_before: dict[int, int] = {}
        """Epoch that was activated -> the last zxid of the history with which it began."""
        self._leaders: dict[int, int] = {}
        """Epoch -> its leader."""
        self._position: dict[int, int] = {}
        """Server -> how many transactions of ``order`` it has applied."""

    # -- reports of leaders ---------------------------------------------------------------

    def elected(self, server: int, epoch: int) -> None:
        """A quorum has promised an epoch to a leader.

        Raises:
            InvariantViolation: it was promised to another leader before.
        """
        former = self._leaders.setdefault(epoch, server)
        if former != server:
            raise InvariantViolation(f"epoch {epoch} has two leaders: {former} and {server}")

    def activated(
        self,
        server: int,
        epoch: int,
        last_zxid: int,
        history: Iterable[int],
        configuration: QuorumVerifier | None = None,
    ) -> None:
        """A quorum has synchronized with a new leader: all of its history is committed now.

        Args:
            server: the leader.
            epoch: the one that begins.
            last_zxid: the end of the leader's history.
            history: zxids of the recent part of it, ascending.
            configuration: the one in force from now on; None: as before.

        Raises:
            InvariantViolation: the history lacks something that was committed, or has something
                else in between; the epoch is not newer than the one before; or a newer
                configuration than the leader's was committed.
        """
        if epoch <= self._epoch:
            raise InvariantViolation(f"epoch {epoch} of {server} begins after epoch {self._epoch}")
        self._epoch = epoch
        order = self.order
        last = order[-1] if order else 0
        tail = []
        zxid = last_zxid
        while zxid > last:  # whoever has a transaction has the same before it
            if counter_of(zxid):
                tail.append(zxid)
                zxid -= 1
            else:
                zxid = self._last_before[epoch_of(zxid)]
        if zxid < last:
            raise InvariantViolation(
                f"{last:#x} was committed, but server {server} begins epoch {epoch} with a "
                f"history that ends at {last_zxid:#x}, and goes back to {zxid:#x} without it"
            )
        order.extend(reversed(tail))
        known = list(history)
        expected = order[bisect_left(order, known[0]) :] if known else []
        if known != expected:
            wrong = [zxid for zxid in known if zxid not in expected]
            wrong += [zxid for zxid in expected if zxid not in known]
            raise InvariantViolation(
                f"server {server} begins epoch {epoch} with another history than was "
                f"committed: it differs at {_hex(sorted(wrong)[:10])}"
            )
        self._last_before[epoch] = order[-1] if order else 0
        if configuration is not None:
            if configuration.version < self._version:
                raise InvariantViolation(
                    f"server {server} begins epoch {epoch} with configuration "
                    f"{configuration.version:#x}, though {self._version:#x} was committed"
                )
            self._configured(epoch << 32, configuration)
        self._position[server] = len(order)

    def proposed(self, server: int, entry: Entry) -> None:
        """A leader proposes.

        Raises:
            InvariantViolation: the zxid was proposed before, or is of another leader's epoch.
        """
        zxid = entry[0][2]
        if self._leaders.get(zxid >> 32) != server:
            raise InvariantViolation(f"server {server} proposes {zxid:#x}, of another's epoch")
        if zxid in self._proposed:
            raise InvariantViolation(f"server {server} proposes {zxid:#x} for the second time")
        self._proposed[zxid] = crc32(entry[3])

    def committed(self, server: int, entry: Entry) -> None:
        """A leader commits.

        Raises:
            InvariantViolation: no quorum has it in its logs, or it is out of order.
        """
        zxid = entry.header.zxid
        logged = self._logged.get(zxid, 0)
        since, mask = self._configurations[-1]
        if zxid <= since:  # an old leader commits after a newer one began
            place = bisect_left(self._configurations, zxid, key=itemgetter(0))
            mask = self._configurations[place - 1][1]
        enough = (logged & mask).bit_count() > mask.bit_count() // 2
        following = configuration_of(entry) if entry[0][4] == RECONFIG else None
        if not enough or (following is not None and not following.is_quorum(logged)):
            raise InvariantViolation(
                f"server {server} commits {zxid:#x}, which only servers {_servers(logged)} have "
                f"logged"
            )
        order = self.order
        if order and zxid <= order[-1]:
            if order[bisect_right(order, zxid) - 1] != zxid:
                raise InvariantViolation(
                    f"server {server} commits {zxid:#x} after {order[-1]:#x} was committed "
                    f"without it"
                )
            return
        epoch = epoch_of(zxid)
        if epoch != self._epoch:
            raise InvariantViolation(
                f"server {server} commits {zxid:#x} though epoch {self._epoch} has begun"
            )
        before = order[-1] if order else 0
        expected = before + 1 if epoch_of(before) == epoch else (epoch << 32) + 1
        if zxid != expected:
            raise InvariantViolation(
                f"server {server} commits {zxid:#x} where {expected:#x} comes next"
            )
        order.append(zxid)
        if following is not None:
            self._configured(zxid, following)

    def _configured(self, zxid: int, configuration: QuorumVerifier) -> None:
        self._version = configuration.version
        self._configurations.append((zxid, configuration.mask))

    # -- reports of all servers -----------------------------------------------------------

    def logged(self, server: int, zxid: int) -> None:
        """A server has synced a transaction to its log."""
        logged = self._logged
        logged[zxid] = logged.get(zxid, 0) | 1 << server

    def joined(self, server: int, epoch: int, last_zxid: int) -> None:
        """A learner begins to serve clients, with its tree as of ``last_zxid``.

        Raises:
            InvariantViolation: its tree is in a state that was never committed.
        """
        order = self.order
        position = bisect_right(order, last_zxid)
        if counter_of(last_zxid) and (not position or order[position - 1] != last_zxid):
            raise InvariantViolation(
                f"server {server} joins epoch {epoch} with {last_zxid:#x}, which was never "
                f"committed"
            )
        self._position[server] = position

    def applied(self, server: int, entry: Entry) -> None:
        """A server applies a transaction.

        Raises:
            InvariantViolation: it was never proposed, differs from what was proposed, is not
                committed, or is not the next one for this server.
        """
        zxid = entry[0][2]
        proposed = self._proposed.get(zxid)
        if proposed != crc32(entry[3]):
            what = "never proposed" if proposed is None else "proposed with another content"
            raise InvariantViolation(f"server {server} applies {zxid:#x}, which was {what}")
        order = self.order
        position = self._position.get(server, 0)
        if position >= len(order):
            raise InvariantViolation(f"server {server} applies {zxid:#x} before it is committed")
        if order[position] != zxid:
            raise InvariantViolation(
                f"server {server} applies {zxid:#x} where {order[position]:#x} comes next"
            )
        self._position[server] = position + 1


def _hex(zxids: Iterable[int]) -> str:
    return ", ".join(f"{zxid:#x}" for zxid in zxids)


def _servers(mask: int) -> list[int]:
    return [server for server in range(mask.bit_length()) if mask >> server & 1]
