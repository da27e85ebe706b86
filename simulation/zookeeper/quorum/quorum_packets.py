"""The packets between the servers of an ensemble on the quorum port, and their sizes.

Packets are immutable tuples, sent whole; all receivers share the same object, and the ``Entry`` in
it is the object that the leader made. Types and zxids are those of ZooKeeper's ``QuorumPacket``.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from rumpus.simulation.zookeeper.tree.transactions import Entry

REQUEST = 1
PROPOSAL = 2
ACK = 3
COMMIT = 4
PING = 5
REVALIDATE = 6
SYNC = 7
INFORM = 8
COMMITANDACTIVATE = 9
NEWLEADER = 10
FOLLOWERINFO = 11
UPTODATE = 12
DIFF = 13
TRUNC = 14
SNAP = 15
OBSERVERINFO = 16
LEADERINFO = 17
ACKEPOCH = 18
INFORMANDACTIVATE = 19

HEAD = 20
"""Bytes of a packet without data: type, zxid, two lengths of 0."""

NO_EPOCH = -1
"""In an ACKEPOCH: the learner has promised this epoch before, and must not be counted again."""


class Packet(NamedTuple):
    """One ``QuorumPacket``.

    ``data`` by type: REQUEST: a ``ForwardedRequest``; PROPOSAL, INFORM: an ``Entry``;
    COMMITANDACTIVATE: the designated leader's id; INFORMANDACTIVATE: (designated leader, Entry);
    PING from a learner: tuple of (session, timeout ms); REVALIDATE: (session, timeout ms) and,
    coming back, (session, valid); FOLLOWERINFO, OBSERVERINFO: a ``LearnerInfo``; ACKEPOCH: the
    learner's current epoch or ``NO_EPOCH``; SNAP: the snapshot's bytes; NEWLEADER: the
    configuration that the leader has seen last, a ``QuorumVerifier``; other types: None.
    """

    type: int
    zxid: int
    data: Any = None


@lru_cache(maxsize=64)  # all followers acknowledge the same zxids at about the same time
def acknowledgement(zxid: int) -> Packet:
    """The ACK of a proposal."""
    return Packet(ACK, zxid)


class LearnerInfo(NamedTuple):
    """The data of a learner's first packet: FOLLOWERINFO or OBSERVERINFO."""

    server_id: int
    config_version: int


class ForwardedRequest(NamedTuple):
    """A client's request that a learner forwards to the leader."""

    session: int
    cxid: int
    type: int
    body: bytes
    identities: tuple[tuple[str, str], ...]


UPTODATE_PACKET = Packet(UPTODATE, -1)
SYNC_PACKET = Packet(SYNC, 0)


def make_zxid(epoch: int, counter: int) -> int:
    """Epoch in the upper, counter in the lower 32 bits."""
    return (epoch << 32) | counter


def epoch_of(zxid: int) -> int:
    """The epoch in which a zxid was given."""
    return zxid >> 32


def counter_of(zxid: int) -> int:
    """The number of a zxid within its epoch."""
    return zxid & 0xFFFFFFFF


def size_of_entry(entry: Entry) -> int:
    """Bytes of a PROPOSAL or INFORM."""
    return HEAD + len(entry[3])


def size_of_request(request: ForwardedRequest) -> int:
    """Bytes of a REQUEST."""
    return HEAD + 16 + len(request.body) + 32 * len(request.identities)
