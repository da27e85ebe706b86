"""A small model of ZAB that knows the truth and leaves the files that real servers leave.

Written from the protocol, not from the checker: a server has a disk (log, snapshots, epochs)
and, hidden from the checker, its true history. An election is by (currentEpoch, last zxid)
among a quorum and can get stuck at any step; followers are synchronised by DIFF, TRUNC or SNAP;
proposals are logged server by server; anyone can crash at any point. Zxids and digests are
written as ZooKeeper writes them.

What ZooKeeper 3.8.0 does beyond the protocol is there too (ZOOKEEPER-4712): a follower that has
lost its leader goes on logging the proposals it had received, which its memory, by which it votes
and leads, never gets to know. A restart reads them from the log.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from zlib import crc32

import msgspec

from rumpus.checker.servers.node_files import NodeFiles
from rumpus.checker.servers.tree_digest import DigestedTree, Znode
from rumpus.checker.servers.txnlog import Txn, parse_log
from tests.checker.txnlog_encoder import HEADER, create, record


def zxid(epoch: int, counter: int) -> int:
    return epoch << 32 | counter


def proposal(number: int) -> Txn:
    return create(number, f"/n-{number:x}", session=number >> 32, time_ms=number & 0xFFFF)


def digest(history: list[int]) -> int:
    """Of the tree after these creations, znode by znode from its definition."""
    stat = struct.Struct(">5q3iq")
    first = history[0] if history else 0
    root = stat.pack(0, 0, first, 0, 0, 0, min(1, len(history)), 0, 0)
    total = crc32(root) + crc32(b"/zookeeper" + bytes(stat.size))
    for number in history:
        txn = proposal(number)
        time = txn.time_ms
        znode = stat.pack(number, number, number, time, time, 0, 0, 0, 0)
        total += crc32(txn.path.encode() + txn.data + znode)
    return total % 2**64


def znodes(history: list[int]) -> dict[str, Znode]:
    """Of the tree after these creations."""
    tree = DigestedTree()
    for number in history:
        tree.apply(proposal(number))
    return tree._znodes


@dataclass
class Server:
    name: str
    log: list[int] = field(default_factory=list)
    snapshots: dict[int, list[int]] = field(default_factory=lambda: {0: []})
    """What history each has, by the zxid in its name."""
    accepted: int = 0
    current: int = 0
    history: list[int] = field(default_factory=list)
    last: int = 0
    torn: int | None = None
    """A proposal of which only a part reached the disk when the server crashed."""

    def rank(self) -> tuple[int, int, str]:
        return (self.current, self.last, self.name)

    def append(self, number: int) -> None:
        self.log.append(number)
        self.history.append(number)
        self.last = number

    def restarted(self) -> tuple[list[int], int]:
        """The history and last zxid it would have after a restart."""
        newest = max(self.snapshots)
        later = sorted({number for number in self.log if number > newest})
        return self.snapshots[newest] + later, max([newest, *later])

    def restart(self) -> None:
        self.history, self.last = self.restarted()

    def take_snapshot(self) -> None:
        self.snapshots[self.last] = list(self.history)

    def files(self, digests: Mapping[int, int]) -> NodeFiles:
        data = HEADER
        for number in self.log:
            data += record(msgspec.structs.replace(proposal(number), digest=digests[number]))
        if self.torn is not None:
            data += record(proposal(self.torn))[: 5 + self.torn % 40]
        name = f"log.{self.log[0] if self.log else 1:x}"
        newest = max(self.snapshots)
        return NodeFiles(
            logs=(parse_log(data, name),),
            snapshots=frozenset(self.snapshots),
            current_epoch=self.current,
            accepted_epoch=self.accepted,
            digest=(newest, digest(self.snapshots[newest])),
            read_tree=lambda number: znodes(self.snapshots[number]),
        )


@dataclass
class Leadership:
    """A leader and its followers: its proposals, and how many of them each has logged."""

    epoch: int
    leader: Server
    members: list[Server]
    initial: list[int]
    proposed: int = 0
    committed: int = 0
    logged: dict[str, int] = field(default_factory=dict)

    def count(self, quorum: int) -> None:
        """Commit what a quorum has logged by now."""
        counts = sorted((self.logged[member.name] for member in self.members), reverse=True)
        self.committed = max(self.committed, counts[quorum - 1])


class Zab:
    def __init__(self, size: int) -> None:
        self.servers = [Server(f"n{i + 1}") for i in range(size)]
        self.quorum = size // 2 + 1
        self.leadership: Leadership | None = None
        self.acknowledged: set[int] = set()
        self.digests: dict[int, int] = {}
        self.late: set[int] = set()
        """What a follower logged when it had lost its leader."""

    # What can happen.

    def elect(self, voters: list[Server], followers: int, *, window: int, stuck: str) -> None:
        """An election among some servers, of whom so many followers are synchronised.

        Args:
            voters: who takes part, at least a quorum.
            followers: how many of them the leader synchronises before the others are gone.
            window: how many of its last transactions the leader can send without a snapshot;
                0 for all.
            stuck: at which step it ends: ``accepted`` (new epoch known to all), ``current``
                (the leader has entered it), ``half`` (the last follower has the data but has
                not entered the epoch), or ``no``.
        """
        leader = max(voters, key=Server.rank)
        epoch = max(server.accepted for server in voters) + 1
        leader.take_snapshot()
        for server in voters:
            server.accepted = epoch
        if stuck == "accepted":
            return
        leader.current = epoch
        if stuck == "current":
            return
        members = [leader]
        others = [server for server in voters if server is not leader][:followers]
        for server in others:
            self.synchronise(leader.history, leader.last, server, window)
            if stuck == "half" and server is others[-1]:
                return
            server.current = epoch
            members.append(server)
        if len(members) >= self.quorum:
            self.acknowledged |= set(leader.history)
            logged = {server.name: 0 for server in members}
            self.leadership = Leadership(
                epoch, leader, members, list(leader.history), logged=logged
            )

    def synchronise(self, history: list[int], last: int, server: Server, window: int) -> None:
        """Give a server the leader's history, as the leader's LearnerHandler decides."""
        newest = history[-1] if history else 0
        oldest = history[-window] if 0 < window <= len(history) else newest
        missing = [number for number in history if number > server.last]
        server.torn = None
        if server.last == last:
            pass
        elif server.last > newest and server.last & 0xFFFFFFFF:
            self.truncate(server, history, newest)
        elif (server.last in history or not server.last & 0xFFFFFFFF) and (
            window == 0 or server.last >= oldest
        ):
            for number in missing:
                server.append(number)
        else:
            server.history = list(history)
            server.last = last
            server.take_snapshot()

    def truncate(self, server: Server, history: list[int], newest: int) -> None:
        server.log = [number for number in server.log if number <= newest]
        server.snapshots = {
            number: has for number, has in server.snapshots.items() if number <= newest
        }
        own = self.late & set(server.restarted()[0])
        server.history = sorted(own | set(history))
        server.last = newest
        server.take_snapshot()

    def join(self, server: Server, *, window: int, half: bool) -> None:
        """A server joins the leader: what is committed, then the rest as proposals.

        With ``half`` it dies when it has the data, before it enters the epoch.
        """
        leadership = self.leadership
        assert leadership is not None
        sent = leadership.initial + [
            zxid(leadership.epoch, k + 1) for k in range(leadership.committed)
        ]
        last = zxid(
            leadership.epoch, leadership.committed
        )  # what the leader calls its last zxid, even if 0
        server.accepted = leadership.epoch
        self.synchronise(sent, last, server, window)
        if half:
            return
        server.current = leadership.epoch
        leadership.members.append(server)
        leadership.logged[server.name] = leadership.committed

    def propose(self) -> None:
        leadership = self.leadership
        assert leadership is not None
        leadership.proposed += 1
        own = [zxid(leadership.epoch, k + 1) for k in range(leadership.proposed)]
        self.digests[own[-1]] = digest(leadership.initial + own)

    def log_next(self, server: Server) -> None:
        leadership = self.leadership
        assert leadership is not None
        leadership.logged[server.name] += 1
        server.append(zxid(leadership.epoch, leadership.logged[server.name]))
        leadership.count(self.quorum)
        self.acknowledged |= {zxid(leadership.epoch, k + 1) for k in range(leadership.committed)}

    def crash(self, server: Server, *, torn: bool) -> None:
        """The leader or a follower crashes and is back with what its disk has."""
        leadership = self.leadership
        assert leadership is not None
        if torn and leadership.logged[server.name] < leadership.proposed:
            server.torn = zxid(leadership.epoch, leadership.logged[server.name] + 1)
        leadership.members.remove(server)
        server.restart()

    def over(self) -> bool:
        """Whether the leader or its quorum is lost."""
        leadership = self.leadership
        assert leadership is not None
        return leadership.leader not in leadership.members or len(leadership.members) < self.quorum

    def end(self, late: Callable[[int], int]) -> None:
        """The leadership ends.

        Args:
            late: how many of so many proposals that a follower has received and not logged it
                logs when it has gone on without them.
        """
        leadership = self.leadership
        assert leadership is not None
        for server in leadership.members:
            if server is not leadership.leader:
                logged = leadership.logged[server.name]
                count = late(leadership.proposed - logged)
                numbers = [zxid(leadership.epoch, logged + k + 1) for k in range(count)]
                server.log += numbers
                self.late |= set(numbers)
        self.leadership = None

    # The truth.

    def proposals(self) -> set[int]:
        return {number for server in self.servers for number in server.log}

    def futures(self) -> list[set[int]]:
        """The history that each possible next leader would open its epoch with.

        Whoever votes can have been restarted just before.
        """
        states = {
            server.name: [
                (server.current, last, server.name, history)
                for history, last in ((server.history, server.last), server.restarted())
            ]
            for server in self.servers
        }
        return [
            set(max(voters)[-1])
            for names in combinations(states, self.quorum)
            for voters in product(*(states[name] for name in names))
        ]

    def files(self) -> dict[str, NodeFiles]:
        return {server.name: server.files(self.digests) for server in self.servers}
