"""Who owned by the servers' logs: which node owned when, when sessions ended."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Container, Iterator
from heapq import merge
from itertools import accumulate, groupby

from rumpus.checker.history import session_hex
from rumpus.checker.servers.node_files import epoch
from rumpus.checker.servers.server_truth import ServerTruth, ZnodeLife, touched
from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.ownership import (
    CLOCK_SLACK_NS,
    Ownership,
    ServerView,
    SessionEnd,
    sequence_number,
)

_EVER = 1 << 63


def server_view(
    truth: ServerTruth,
    clock: WallClock,
    *,
    kind: str,
    path: str,
    mark: str = "",
    shared: str = "",
    permits: int = 1,
) -> ServerView:
    """Who owned in one line of contenders, by the servers' logs.

    Args:
        truth: what was committed.
        clock: converts the servers' wall-clock milliseconds to the run's clock.
        kind: ``sequential`` (children of ``path`` that end in a sequence number and contain
            ``mark``; the lowest ``permits`` own), ``pool`` (each child of ``path`` owns),
            ``single`` (the session that made the node ``path`` owns) or ``unknown`` (the view has
            sessions only, and no owners).
        path: the parent of the contenders' nodes, or their only node.
        mark: see ``kind``.
        shared: if not empty, what the names of shared nodes (of readers) contain. A shared node
            owns once there are only shared ones before it.
        permits: how many may own at once.
    """
    astray = [txn for txn in truth.uncertain + truth.forked for txn in txn.effects]
    contested = touched(astray)
    turns: dict[str, int | None] = {}
    if kind == "sequential":
        lives = [life for life in truth.znodes(path) if _stands_in_line(life, path, mark)]
        owners = list(_first_in_line(lives, clock, shared, permits))
        if not truth.reasons:
            turns = _turns(lives, owners, [life for life in lives if life.path in contested])
    elif kind == "unknown":
        owners = []
    else:
        owners = _owning_while_there(truth, clock, kind, path, contested)
    return ServerView(
        ends={
            name: SessionEnd(clock.monotonic(life.closed_ms), life.expired)
            for name, life in truth.sessions().items()
            if life.closed_ms is not None
        },
        known=_known(truth),
        doubts=_doubts(truth, clock, astray),
        owners=owners,
        reasons=tuple(truth.reasons),
        turns=turns,
        lines_before=_lines_before(truth, path, lives) if kind == "sequential" else {},
    )


def _owning_while_there(
    truth: ServerTruth, clock: WallClock, kind: str, path: str, contested: Container[str]
) -> list[Ownership]:
    """The nodes of a ``pool`` or ``single``: each owns from its creation on."""
    return [
        _ownership(
            life,
            life.czxid,
            life.created_ms,
            clock,
            gapless=not truth.reasons and life.path not in contested,
        )
        for life in truth.znodes(path)
        if (life.path.rpartition("/")[0] if kind == "pool" else life.path) == path
    ]


def _known(truth: ServerTruth) -> frozenset[str]:
    """The sessions of which the logs tell whether, and when, they ended.

    Not those without an end in logs that are not complete.
    """
    return frozenset(
        name
        for name, life in truth.sessions().items()
        if life.closed_ms is not None or not truth.reasons
    )


def _lines_before(truth: ServerTruth, path: str, lives: list[ZnodeLife]) -> dict[str, int]:
    """For each node of a line whether, and how often, the line's parent had been created again."""
    parents = sorted(life.czxid for life in truth.znodes(path) if life.path == path)
    if len(parents) < 2:
        return {}
    return {life.path: bisect_right(parents, life.czxid) - 1 for life in lives}


def _doubts(
    truth: ServerTruth, clock: WallClock, astray: list[Txn]
) -> dict[str, list[tuple[int, int]]]:
    """When sessions that an uncommitted ``closeSession`` closed may have been dead to some server.

    From that ``closeSession`` on. But a transaction that was committed for a session, its end
    included, proves that it was alive since the beginning of that epoch: a leader does not revive
    a session that it has closed.
    """
    closings: dict[str, int] = {}
    for txn in astray:
        if txn.name == "closeSession":
            since = clock.monotonic(txn.time_ms) - CLOCK_SLACK_NS
            name = session_hex(txn.session)
            closings[name] = min(since, closings.get(name, since))
    alive: dict[str, dict[int, int]] = {name: {} for name in closings}
    for txn in truth.committed if closings else ():
        name = session_hex(txn.session)
        if name in closings:
            alive[name][epoch(txn.zxid)] = clock.monotonic(txn.time_ms)
    epochs = truth.epochs()
    sessions = truth.sessions()
    doubts: dict[str, list[tuple[int, int]]] = {}
    for name, closing in closings.items():
        life = sessions.get(name)
        end = clock.monotonic(life.closed_ms) if life and life.closed_ms is not None else _EVER
        unproven = closing
        doubts[name] = []
        for number, last in alive[name].items():
            start = clock.monotonic(epochs[number].first_ms)
            if unproven < start:
                doubts[name].append((unproven, start))
            unproven = max(unproven, last)
        if unproven < end:
            doubts[name].append((unproven, end))
    return doubts


def _turns(
    lives: list[ZnodeLife], owners: list[Ownership], contested: list[ZnodeLife]
) -> dict[str, int | None]:
    """When each node came to own; without those behind a contested one in the line.

    A node is contested if a transaction of uncertain fate touched it: then a client may have seen
    another line on some server.
    """
    turns = {life.path: None for life in lives} | {owner.path: owner.start for owner in owners}
    firsts = {owner.path: owner.grant for owner in owners}
    doubtful = sorted((life.czxid, _end(life)) for life in contested)
    # For each doubtful node: until when some doubtful node made no later than it existed.
    latest = list(accumulate((end for _, end in doubtful), max))
    for life in lives:
        came = bisect_right(doubtful, (firsts.get(life.path, _EVER), _EVER))
        if came and life.czxid < latest[came - 1]:
            turns.pop(life.path, None)
    return turns


def _end(life: ZnodeLife) -> int:
    return _EVER if life.deleted_zxid is None else life.deleted_zxid


def _stands_in_line(life: ZnodeLife, path: str, mark: str) -> bool:
    parent, _, name = life.path.rpartition("/")
    return parent == path.rstrip("/") and mark in name and sequence_number(name) >= 0


def _first_in_line(
    lives: list[ZnodeLife], clock: WallClock, shared: str, permits: int
) -> Iterator[Ownership]:
    """From when to when each node owned; a node that has come to own does so until it is gone.

    Replays creations and deletions in order of zxid, with the line as a sorted list.
    """
    created = sorted(lives, key=lambda life: life.czxid)
    places = [(sequence_number(life.path), number) for number, life in enumerate(created)]
    sharing = [bool(shared) and shared in life.path.rpartition("/")[2] for life in created]
    arrivals = ((life.czxid, 0, number) for number, life in enumerate(created))
    departures = sorted(
        (life.deleted_zxid, 1, number)
        for number, life in enumerate(created)
        if life.deleted_zxid is not None
    )
    line: list[tuple[int, int]] = []
    owning: set[int] = set()
    # One transaction may delete several nodes, those of a session say: no node owns in between.
    for zxid, changes in groupby(merge(arrivals, departures), key=lambda change: change[0]):
        time_ms = 0
        for _, leaves, number in changes:
            if leaves:
                del line[bisect_left(line, places[number])]
                time_ms = created[number].deleted_ms or 0
            else:
                insort(line, places[number])
                time_ms = created[number].created_ms
        only_shared = True
        for place, (_, number) in enumerate(line):
            only_shared = only_shared and sharing[number]
            if place >= permits and not only_shared:
                break
            if number not in owning:
                owning.add(number)
                yield _ownership(created[number], zxid, time_ms, clock, shared=sharing[number])


def _ownership(
    life: ZnodeLife,
    grant: int,
    grant_ms: int,
    clock: WallClock,
    *,
    gapless: bool = False,
    shared: bool = False,
) -> Ownership:
    # "unlogged": created again without a logged deletion. In logs without a gap that means that
    # the server never deleted it.
    never_deleted = gapless and life.how == "unlogged"
    return Ownership(
        path=life.path,
        session=life.owner or life.created_by,
        czxid=life.czxid,
        start=clock.monotonic(grant_ms),
        grant=grant,
        end=clock.monotonic(life.deleted_ms)
        if life.deleted_ms is not None and not never_deleted
        else None,
        loss=None if never_deleted else life.deleted_zxid,
        expired=life.how == "expired",
        deleted=life.how == "deleted" and life.deleted_by == life.owner,
        shared=shared,
        created=clock.monotonic(life.created_ms),
    )
