"""What was committed, and when each session and znode began and ended, by the transaction logs.

`merge` takes the files of every server, keeps what was committed (`checker.servers.commitment`
explains how), and replays it in the order of zxids. Times come from the leader's wall clock. Times
of different epochs may come from different clocks.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Literal

import msgspec

from rumpus.checker.history import session_hex
from rumpus.checker.servers.commitment import Commitment, decide
from rumpus.checker.servers.node_files import NodeFiles, epoch
from rumpus.checker.servers.txnlog import Txn

LONGEST_SNAPSHOT = 10_000
"""Milliseconds that a server may take to write a snapshot. Those of runs take some of them."""

TRUE_TIMES = "true-times.json"
"""Name of a JSON file beside the servers' directories: zxid -> true time in ms since 1970.

The harness writes it if a fault has set the servers' clocks wrong.
"""

Ending = Literal["deleted", "multi", "closed", "expired", "reaped", "unlogged"]
"""How a znode ended.

``deleted``: by a client. ``multi``: by a client inside a multi. ``closed``, ``expired``: with its
owner's session, which the client closed or which expired. ``reaped``: by the server (containers and
TTL nodes). ``unlogged``: it was created again, but its deletion is missing in the logs; then the
time of its end is that of the new creation, which is later than the true one.
"""


class SessionLife(msgspec.Struct, frozen=True, gc=False):
    """A session from its createSession to its closeSession.

    ``opened_*`` and ``timeout_ms`` (as negotiated at the start; later changes are not logged)
    are None if its createSession is in no log at hand; ``closed_*`` are None if it lived to the
    end of the logs. ``expired``: the closeSession came from a server, not from the client.
    """

    session: str
    opened_zxid: int | None
    opened_ms: int | None
    timeout_ms: int | None
    closed_zxid: int | None = None
    closed_ms: int | None = None
    expired: bool = False


class ZnodeLife(msgspec.Struct, frozen=True, gc=False):
    """A znode from its creation to its deletion; a path that is created again begins another life.

    ``data`` is what it was created with. ``owner`` is the session of an ephemeral node,
    ``created_by`` the session that requested the creation. ``deleted_*`` and ``how`` are None if
    it lived to the end of the logs. ``deleted_by`` is the session that requested the deletion, or
    whose end caused it; None if the server deleted it by itself, or if that is not known.
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
    """The first and last committed transaction of one leader, with times of the leader's clock."""

    number: int
    first_zxid: int
    first_ms: int
    last_zxid: int
    last_ms: int


class ServerTruth:
    """What was committed, and the lives of sessions and znodes that result.

    Attributes:
        committed: the transactions in order of zxid. Requests that the servers refused are among
            them, as transactions named ``error``.
        discarded: proposals that were not committed and never will be.
        uncertain: proposals of which the files do not tell whether they were committed.
        forked: proposals that the ensemble did not commit, but that some server has applied to its
            data tree, or may apply after a restart.
        reasons: what is missing or contradictory in the files, in words; empty if nothing is.
        notes: why proposals are uncertain or forked, in words.
        replicas: each server, compared with what was committed.
        astray: where servers contradict each other in what was committed.
    """

    def __init__(self, commitment: Commitment) -> None:
        self.committed = commitment.committed
        self.discarded = commitment.discarded
        self.uncertain = commitment.uncertain
        self.forked = commitment.forked
        self.reasons = list(commitment.reasons)
        self.notes = list(commitment.notes)
        self.replicas = commitment.replicas
        self.astray = commitment.astray

    def contested(self) -> frozenset[str]:
        """Paths of the znodes that uncertain and forked proposals changed."""
        return touched(txn for each in self.uncertain + self.forked for txn in each.effects)

    def perhaps_closed(self) -> frozenset[str]:
        """Sessions (hexadecimal) that uncertain and forked proposals ended, if they took effect."""
        return frozenset(
            session_hex(txn.session)
            for each in self.uncertain + self.forked
            for txn in each.effects
            if txn.name == "closeSession"
        )

    def sessions(self) -> dict[str, SessionLife]:
        """Session id (hexadecimal) -> its life, in order of its first record in the logs.

        Sessions of which neither the createSession nor the closeSession is logged are left out.
        """
        return dict(self._replayed.sessions)

    def znodes(self, root: str = "/") -> list[ZnodeLife]:
        """The lives of all znodes below a znode, in order of creation; its own, too.

        With a slash at its end (``/lock/``) ``root`` means only what is below.
        """
        below = root.rstrip("/") + "/"
        return [
            life
            for life in self._replayed.lives
            if life.path.startswith(below) or life.path == root
        ]

    def epochs(self) -> dict[int, Epoch]:
        """Epoch -> its committed transactions. Epochs without any are absent."""
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
    """Paths of the znodes that these change, including those deleted with a session."""
    named = (path for txn in effects for path in (txn.path, *(txn.paths or ())))
    return frozenset(path for path in named if path is not None)


def merge(
    nodes: Mapping[str, NodeFiles],
    ensemble_size: int | None = None,
    true_times: Mapping[int, int] | None = None,
) -> ServerTruth:
    """Merge the files of all servers into one history.

    Args:
        nodes: name -> files of each voting server at hand.
        ensemble_size: number of voting servers; by default the number of ``nodes``.
        true_times: zxid -> milliseconds since 1970; replaces the times of leaders whose clocks
            were set wrong by a fault.
    """
    commitment = decide(nodes, ensemble_size)
    # Only after the decision, because the digests of trees include the times as logged.
    times = true_times or {}
    truth = ServerTruth(
        replace(
            commitment,
            committed=_settled(commitment.committed, times),
            discarded=_settled(commitment.discarded, times),
            uncertain=_settled(commitment.uncertain, times),
            forked=_settled(commitment.forked, times),
        )
    )
    truth.reasons += _slow_snapshots(truth)
    return truth


def _slow_snapshots(truth: ServerTruth) -> Iterator[str]:
    """Snapshots with effects of long after the transaction that they are named after.

    A server goes on while it writes one, but not for so long. Such a snapshot tells nothing of what
    the server had at that zxid, and it would hide a gap in its log.
    """
    zxids = [txn.zxid for txn in truth.committed]
    for replica in truth.replicas:
        for named, reach in sorted(replica.reach.items()):
            inside = truth.committed[bisect_right(zxids, named) : bisect_right(zxids, reach)]
            if inside and inside[-1].time_ms - inside[0].time_ms > LONGEST_SNAPSHOT:
                took = (inside[-1].time_ms - inside[0].time_ms) / 1000
                yield (
                    f"{replica.name}: snapshot.{named:x} has effects of 0x{reach:x}, which was "
                    f"{took:.0f} s later: it is of another time than its name says"
                )


def _settled(txns: tuple[Txn, ...], true_times: Mapping[int, int]) -> tuple[Txn, ...]:
    """Transactions with their true times, and without the digests, which are needed no more."""
    return tuple(
        msgspec.structs.replace(
            txn,
            time_ms=true_times.get(txn.zxid, txn.time_ms),
            stamp_ms=txn.time_ms if txn.zxid in true_times else None,
            ops=_settled(txn.ops, true_times) if txn.ops else (),
            digest=None,
        )
        for txn in txns
    )


class _Replay:
    """Applies committed transactions in order, as a server's tree does."""

    def __init__(self, committed: tuple[Txn, ...]) -> None:
        self.sessions: dict[str, SessionLife] = {}
        self.lives: list[ZnodeLife] = []
        self._alive: dict[str, int] = {}
        self._owned: dict[str, dict[str, None]] = {}
        for txn in committed:
            for effect in txn.effects:
                self._apply(effect, in_multi=txn.name == "multi")

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
        self._alive[path] = len(self.lives)
        self.lives.append(ZnodeLife(path, txn.zxid, txn.time_ms, session, owner, txn.data))

    def _delete(self, txn: Txn, path: str | None, how: Ending, by: str | None) -> None:
        at = self._alive.pop(path or "", None)
        if at is None:
            return
        life = self.lives[at]
        self.lives[at] = msgspec.structs.replace(
            life, deleted_zxid=txn.zxid, deleted_ms=txn.time_ms, deleted_by=by, how=how
        )
        if life.owner:
            self._owned[life.owner].pop(life.path)

    def _close(self, txn: Txn, session: str) -> None:
        expired = txn.cxid == 0  # no client's request
        # Servers also delete ephemeral nodes of the session that the record does not list.
        for path in [*(txn.paths or ()), *self._owned.get(session, ())]:
            self._delete(txn, path, "expired" if expired else "closed", session)
        opened = self.sessions.get(session) or SessionLife(session, None, None, None)
        if opened.closed_zxid is not None:
            return  # it had ended already: the client and a server can both close it
        self.sessions[session] = msgspec.structs.replace(
            opened, closed_zxid=txn.zxid, closed_ms=txn.time_ms, expired=expired
        )
