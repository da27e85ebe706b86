"""What the servers know to have happened, from their transaction logs.

`merge` takes the files of every server, keeps what was committed (`checker.servers.commitment`
argues what that is), and replays it into the lives of sessions and znodes: when each began and
ended in the one order that all servers share, the order of zxids. Times are the leader's wall
clock, one clock within an epoch and another one after a change of leader.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Literal

import msgspec

from rumpus.checker.servers.commitment import Commitment, decide
from rumpus.checker.servers.node_files import NodeFiles, epoch
from rumpus.checker.servers.txnlog import Txn, session_hex

TRUE_TIMES = "true-times.json"
"""Beside the servers' directories, where their clocks were wrong on purpose: zxid -> ms."""

Ending = Literal["deleted", "multi", "closed", "expired", "reaped", "unlogged"]
"""How a znode ended.

``deleted`` by a client, alone or inside a ``multi``; with its owner's session, which was
``closed`` by its client or ``expired``; ``reaped`` by the server (containers and TTL);
``unlogged``: it was created anew, and its deletion is in no log at hand.
"""


class SessionLife(msgspec.Struct, frozen=True, gc=False):
    """A session from its createSession to its closeSession.

    ``opened_*`` and ``timeout_ms`` (as negotiated at the start; later reconnects do not show)
    are None when its createSession is in no log at hand; ``closed_*`` when it lived to the end
    of the logs. ``expired``: a server closed it, not its client.
    """

    session: str
    opened_zxid: int | None
    opened_ms: int | None
    timeout_ms: int | None
    closed_zxid: int | None = None
    closed_ms: int | None = None
    expired: bool = False


class ZnodeLife(msgspec.Struct, frozen=True, gc=False):
    """A znode from its creation to its deletion; a path created anew begins another life.

    ``data`` is what it was created with. ``owner`` is the session of an ephemeral,
    ``created_by`` the session that asked for it. ``deleted_*`` and ``how`` are None when it
    lived to the end of the logs; ``deleted_by`` is the session that asked for it or ended,
    None for the server's own doing.
    """

    path: str
    czxid: int
    created_ms: int
    created_by: str
    owner: str | None
    data: bytes | None
    deleted_zxid: int | None = None
    deleted_ms: int | None = None
    deleted_by: str | None = None
    how: Ending | None = None


@dataclass(frozen=True, slots=True)
class Epoch:
    """The committed transactions of one leader: first and last, with the leader's clock."""

    number: int
    first_zxid: int
    first_ms: int
    last_zxid: int
    last_ms: int


class ServerTruth:
    """What was committed, and what came of it.

    Attributes:
        committed: history, in order of zxid; refused requests are in it as ``error``.
        discarded: proposals that no future contains.
        uncertain: proposals whose fate the files at hand do not tell.
        forked: proposals that the ensemble went on without, but some server may not have.
        reasons: in plain words, what is missing or contradictory; empty when all is clear.
        notes: the same, why something is uncertain or forked.
    """

    def __init__(self, commitment: Commitment) -> None:
        self.committed = commitment.committed
        self.discarded = commitment.discarded
        self.uncertain = commitment.uncertain
        self.forked = commitment.forked
        self.reasons = list(commitment.reasons)
        self.notes = list(commitment.notes)

    def contested(self) -> frozenset[str]:
        """Paths of znodes that proposals touched which did not become history for certain."""
        return touched(txn for each in self.uncertain + self.forked for txn in each.effects)

    def sessions(self) -> dict[str, SessionLife]:
        """Session id in hex -> its life, in order of opening."""
        return dict(self._replayed.sessions)

    def znodes(self, path_prefix: str = "/") -> list[ZnodeLife]:
        """The lives of a znode and all below it, in order of creation."""
        below = path_prefix.rstrip("/") + "/"
        return [
            life
            for life in self._replayed.znodes
            if life.path.startswith(below) or life.path == path_prefix
        ]

    def epochs(self) -> dict[int, Epoch]:
        """Epoch -> what its leader got committed. Leaders that committed nothing are absent."""
        found: dict[int, Epoch] = {}
        for number, group in groupby(self.committed, key=lambda txn: epoch(txn.zxid)):
            txns = tuple(group)
            first, last = txns[0], txns[-1]
            found[number] = Epoch(number, first.zxid, first.time_ms, last.zxid, last.time_ms)
        return found

    @cached_property
    def _replayed(self) -> "_Replay":
        return _Replay(self.committed)


def touched(effects: Iterable[Txn]) -> frozenset[str]:
    """Paths of the znodes that these name, one by one or as what goes with a session."""
    named = (path for txn in effects for path in (txn.path, *(txn.paths or ())))
    return frozenset(path for path in named if path is not None)


def merge(
    nodes: Mapping[str, NodeFiles],
    ensemble_size: int | None = None,
    true_times: Mapping[int, int] | None = None,
) -> ServerTruth:
    """Join the files of all servers into one history.

    Args:
        nodes: name -> files of each voting server at hand.
        ensemble_size: how many voting servers there are; as many as ``nodes`` by default.
        true_times: zxid -> milliseconds since 1970, in place of what a leader's clock said that
            was wrong on purpose.
    """
    commitment = decide(nodes, ensemble_size)
    # Not before all is decided: digests of trees are over the times as they were logged.
    times = true_times or {}
    return ServerTruth(
        replace(
            commitment,
            committed=_settled(commitment.committed, times),
            discarded=_settled(commitment.discarded, times),
            uncertain=_settled(commitment.uncertain, times),
            forked=_settled(commitment.forked, times),
        )
    )


def _settled(txns: tuple[Txn, ...], true_times: Mapping[int, int]) -> tuple[Txn, ...]:
    """Transactions at their true times, without digests, which have done their work."""
    return tuple(
        msgspec.structs.replace(
            txn,
            time_ms=true_times.get(txn.zxid, txn.time_ms),
            ops=_settled(txn.ops, true_times) if txn.ops else (),
            digest=None,
        )
        for txn in txns
    )


class _Replay:
    """Applies committed transactions in order, as a server's tree does."""

    def __init__(self, committed: tuple[Txn, ...]) -> None:
        self.sessions: dict[str, SessionLife] = {}
        self._lives: list[ZnodeLife] = []
        self._alive: dict[str, int] = {}
        self._owned: dict[str, dict[str, None]] = {}
        for txn in committed:
            for effect in txn.effects:
                self._apply(effect, in_multi=txn.name == "multi")

    @property
    def znodes(self) -> Iterator[ZnodeLife]:
        return iter(self._lives)

    def _apply(self, txn: Txn, *, in_multi: bool) -> None:
        session = session_hex(txn.session)
        match txn.name:
            case "create" | "create2" | "createContainer" | "createTTL":
                self._create(txn, session)
            case "delete":
                self._delete(txn, txn.path, "multi" if in_multi else "deleted", session)
            case "deleteContainer":
                self._delete(txn, txn.path, "reaped", None)
            case "createSession":
                self.sessions[session] = SessionLife(session, txn.zxid, txn.time_ms, txn.timeout)
            case "closeSession":
                self._close(txn, session)

    def _create(self, txn: Txn, session: str) -> None:
        path = txn.path
        assert path is not None, "the parser gives every create its path"
        self._delete(txn, path, "unlogged", None)
        owner = session if txn.ephemeral else None
        if owner:
            self._owned.setdefault(owner, {})[path] = None
        self._alive[path] = len(self._lives)
        self._lives.append(ZnodeLife(path, txn.zxid, txn.time_ms, session, owner, txn.data))

    def _delete(self, txn: Txn, path: str | None, how: Ending, by: str | None) -> None:
        at = self._alive.pop(path or "", None)
        if at is None:
            return
        life = self._lives[at]
        self._lives[at] = msgspec.structs.replace(
            life, deleted_zxid=txn.zxid, deleted_ms=txn.time_ms, deleted_by=by, how=how
        )
        if life.owner:
            self._owned[life.owner].pop(life.path)

    def _close(self, txn: Txn, session: str) -> None:
        expired = txn.cxid == 0
        # The record lists the session's ephemerals; what a server still has of it goes too.
        for path in [*(txn.paths or ()), *self._owned.get(session, ())]:
            self._delete(txn, path, "expired" if expired else "closed", session)
        opened = self.sessions.get(session) or SessionLife(session, None, None, None)
        if opened.closed_zxid is not None:
            return  # it had ended already: a client closes what a server expires
        self.sessions[session] = msgspec.structs.replace(
            opened, closed_zxid=txn.zxid, closed_ms=txn.time_ms, expired=expired
        )
