"""What a reconfig request asks for: the members that an ensemble is to have.

Only majorities are known here, no weights and groups.

Source: ``PrepRequestProcessor``, ``QuorumPeer.QuorumServer`` and ``QuorumPeerConfig`` of
ZooKeeper 3.8.0.
"""

import re
from collections.abc import Iterable, Iterator

from rumpus.simulation.zookeeper.quorum.quorum_verifier import QuorumVerifier
from rumpus.simulation.zookeeper.settings import Member
from rumpus.simulation.zookeeper.tree.java_sets import copied_capacity, grown_capacity
from rumpus.simulation.zookeeper.tree.transactions import Entry, SetDataTxn
from rumpus.simulation.zookeeper.wire.error_codes import BAD_ARGUMENTS, MARSHALLING_ERROR, Refusal

EVERYWHERE = "0.0.0.0"  # noqa: S104 - the host of a client address that names none

_ID = re.compile(r"[+-]?\d+", re.ASCII)
_SPECIFICATION = re.compile(
    r"([^:;=\s]+):(\d+):(\d+)(?::(participant|observer))?"
    r";(?:([^:;=\s]+):)?(\d+)",
    re.ASCII | re.IGNORECASE,
)


def next_members(
    present: Iterable[Member], joining: str | None, leaving: str | None, new: str | None
) -> tuple[Member, ...]:
    """The members after a reconfig, in the order in which Java's ``HashMap`` has their ids.

    Args:
        present: the members before it.
        joining: lines ``server.N=host:quorumPort:electionPort[:role];[host:]clientPort``,
            separated by commas; a member of the same id is replaced. The word "server" is not
            checked.
        leaving: ids, separated by commas; those of no member are ignored.
        new: lines of all members, separated by commas or newlines; ``joining`` and ``leaving``
            are ignored then.

    Raises:
        Refusal: BAD_ARGUMENTS, if anything cannot be parsed, two members share an
            address, or fewer than two would vote; MARSHALLING_ERROR, if an id is no number.
    """
    members: dict[int, Member] = {}
    capacity = 16
    if new is not None:
        lines = new.replace(",", "\n").split("\n")
        if not all(line.lstrip().startswith(("server.", "version")) for line in lines if line):
            raise Refusal(BAD_ARGUMENTS)
        arriving = list(_parse(lines))
    else:
        members = {member.server_id: member for member in present}
        capacity = copied_capacity(len(members))
        for text in _parts(leaving):
            members.pop(_id(text), None)
        arriving = list(_parse(_parts(joining)))
    for member in arriving:
        for other in members.values():
            if other.server_id != member.server_id and _addresses(other) & _addresses(member):
                raise Refusal(BAD_ARGUMENTS)
        members.pop(member.server_id, None)
        members[member.server_id] = member
        capacity = grown_capacity(len(members), capacity)
    if sum(member.role == "participant" for member in members.values()) < 2:
        raise Refusal(BAD_ARGUMENTS)
    # An id below 65536 is its own hash code; those in one bucket stay in their order.
    return tuple(members[key] for key in sorted(members, key=lambda key: key & capacity - 1))


def parse_members(text: str) -> tuple[Member, ...]:
    """The members in the text of a configuration, by id.

    Args:
        text: a line for each, and perhaps one of the version.

    Raises:
        Refusal: BAD_ARGUMENTS, if anything cannot be parsed.
    """
    return tuple(sorted(_parse(text.split("\n")), key=lambda member: member.server_id))


def configuration_of(entry: Entry) -> QuorumVerifier:
    """The configuration that a transaction of type reconfig brings."""
    transaction = entry.transaction
    assert isinstance(transaction, SetDataTxn)
    assert transaction.data is not None
    return QuorumVerifier(parse_members(transaction.data.decode()), entry.header.zxid)


def _parts(text: str | None) -> list[str]:
    parts = [] if text is None else [part.strip() for part in text.split(",")]
    return [part for part in parts if part]


def _id(text: str) -> int:
    if _ID.fullmatch(text) is None:
        raise Refusal(
            MARSHALLING_ERROR
        )  # a NumberFormatException that a real server does not catch
    return int(text)


def _parse(lines: Iterable[str]) -> Iterator[Member]:
    for line in lines:
        text = line.strip()
        if not text or text.startswith("version="):
            continue
        name, _, specification = text.partition("=")
        if not specification.strip():
            raise Refusal(BAD_ARGUMENTS)
        server_id = _id(name.strip().rpartition(".")[2])
        match = _SPECIFICATION.fullmatch(specification.strip())
        if match is None:
            raise Refusal(BAD_ARGUMENTS)
        host, quorum_port, election_port, role, client_host, client_port = match.groups()
        if int(quorum_port) == int(election_port):
            raise Refusal(BAD_ARGUMENTS)
        yield Member(
            server_id,
            host,
            int(quorum_port),
            int(election_port),
            "observer" if (role or "").lower() == "observer" else "participant",
            int(client_port),
            client_host or EVERYWHERE,
        )


def _addresses(member: Member) -> frozenset[tuple[str, int]]:
    addresses = {(member.host, member.quorum_port), (member.host, member.election_port)}
    if member.client_host != EVERYWHERE:
        addresses.add((member.client_host, member.client_port))
    return frozenset(addresses)
