"""Whether the history and the servers' logs, with the times in them, fit together."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import inf
from operator import itemgetter

from rumpus.checker.history import History, Op, session_hex
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.wire.settings import ServerSettings

TOLERANCE_NS = 50_000_000
"""How much earlier (ns) a client may learn of its session than the logs say that it began."""

SLOWEST_NS = 1_000_000_000
"""How long (ns) after its beginning by the logs the fastest client may learn of its session."""

OF_ANOTHER_RUN_NS = 2 * 86_400 * 10**9
"""Clocks that are further apart (ns) are no fault of clocks: those jump by a day at most."""

DYING_NS = 1_000_000_000
"""A session younger than this (ns) when its client is killed may be missing from the history.

The client may have made changes in it before it could record the session.
"""

_OF_SESSIONS = frozenset({"createSession", "closeSession"})
_WRITES = frozenset({"create", "delete", "set-data", "set-acl", "multi", "reconfig"})
_EPOCH_BITS = 32


def unknown_to_logs(history: History, truth: ServerTruth) -> Iterator[str]:
    """Sessions that clients had, and zxids that servers sent them, are in the logs."""
    proposals = [*truth.committed, *truth.uncertain, *truth.forked]
    opened = {
        session_hex(effect.session)
        for txn in proposals
        for effect in txn.effects
        if effect.name in _OF_SESSIONS
    }
    for session, client in history.clients_of_sessions().items():
        if session not in opened:
            yield f"c{client}'s session {session} is not in the servers' logs"
            return
    yield from _unasked_writes(history, truth)
    last = max((txn.zxid for txn in proposals), default=0)
    for op in history.events("link", "requests"):
        shown = op.value.get("shown") or 0
        begins_an_epoch = shown & ((1 << _EPOCH_BITS) - 1) == 0
        if shown > last and not begins_an_epoch:
            yield f"the servers' logs end at 0x{last:x}, but c{op.value['client']} saw 0x{shown:x}"
            return


def ungranted_timeout(
    history: History, truth: ServerTruth, settings: ServerSettings, session_timeout: float
) -> Iterator[str]:
    """Servers grant the session timeout that clients ask for, within their bounds.

    Not in all sessions, since a client may make others.
    """
    lives = truth.sessions()
    sessions = {op.value.get("session") for op in history.events("session", "connected")}
    opened = [lives[session].timeout_ms for session in sessions if session in lives]
    granted = {timeout for timeout in opened if timeout is not None}
    due = settings.granted(round(1000 * session_timeout))
    if granted and not any(abs(each - due) <= 1 for each in granted):
        told = ", ".join(f"{each / 1000:g}" for each in sorted(granted))
        yield (
            f"the run's session timeout was {session_timeout:g} s, but in the servers' logs the "
            f"clients' sessions have {told} s"
        )


def ended_early(history: History, truth: ServerTruth | None) -> Iterator[str]:
    """What a server had applied when it was asked at the end, it has on its disk.

    Without any files (``truth`` is None) it has nothing.
    """
    tails = {} if truth is None else {each.name: each.tail for each in truth.replicas}
    for op in history.events("control", "walk"):
        node, applied = str(op.value.get("node")), op.value.get("zxid") or 0
        tail = tails.get(node, 0)
        begins_an_epoch = applied & ((1 << _EPOCH_BITS) - 1) == 0
        if applied > tail and not begins_an_epoch:
            yield (
                f"the files of {node} end at 0x{tail:x}, but it had applied 0x{applied:x} when it "
                "was asked at the end"
            )


def _unasked_writes(history: History, truth: ServerTruth) -> Iterator[str]:
    """A client has no more transactions in the logs, refused ones included, than it sent writes.

    What it sent is counted at the run's end, and a client that is told to end may send more after
    that (a lease's beat). So its transactions count up to the last zxid that it had been shown.
    """
    owners = history.clients_of_sessions()
    written: dict[int, list[int]] = defaultdict(list)
    for txn in truth.committed:
        if txn.name not in _OF_SESSIONS and (session := session_hex(txn.session)) in owners:
            written[owners[session]].append(txn.zxid)
    for op in history.events("link", "requests"):
        client, requests = op.value["client"], op.value["requests"]
        carried = sum(number for kind, number in requests.items() if kind in _WRITES)
        shown = op.value.get("shown") or inf
        logged = sum(zxid <= shown for zxid in written[client])
        if logged > carried:
            yield (
                f"c{client} sent {carried} write requests, but the servers' logs have "
                f"{logged} of its writes"
            )
            return


def unknown_to_history(
    history: History, truth: ServerTruth, clock: WallClock | None
) -> Iterator[str]:
    """Sessions that changed something by the logs are in the history, as clients' or faults'."""
    known = {
        *history.clients_of_sessions(),
        *_sessions_of_faults(history),
        *_sessions_of_probes(history),
    }
    deaths = sorted(op.time for op in history.events("session", "exited"))
    lives = truth.sessions()
    told = set()
    for txn in truth.committed:
        session = session_hex(txn.session)
        server = txn.session == 0
        if server or txn.name in _OF_SESSIONS or session in known or session in told:
            continue
        told.add(session)
        opened = lives[session].opened_ms if session in lives else None
        if opened is None or (clock is not None and _died_young(clock.monotonic(opened), deaths)):
            continue
        yield f"session {session} made changes by the servers' logs, but is not in the history"
        return


def _sessions_of_probes(history: History) -> Iterator[str]:
    """The sessions in which the harness itself asked a server what it must refuse."""
    for op in history.events("control", "walk"):
        yield from op.value.get("probes") or ()


def _sessions_of_faults(history: History) -> Iterator[str]:
    """The sessions in which faults changed znodes themselves."""
    for op in history.events("nemesis"):
        value = op.value if isinstance(op.value, dict) else {}
        for told in (value, *value.get("healed", ())):
            yield from told.get("sessions", ())


def _died_young(opened: int, deaths: Sequence[int]) -> bool:
    """Whether a client died so soon after a session began that it may not have recorded it."""
    return bisect_left(deaths, opened) < bisect_right(deaths, opened + DYING_NS)


def clocks_apart(history: History, truth: ServerTruth, clock: WallClock) -> tuple[int, str] | None:
    """No client learns of a session before the servers open it; the fastest one does soon after.

    Returns:
        By how many nanoseconds that is not so, and the words; None if it is.
    """
    lives = truth.sessions()
    delays: list[tuple[int, Op]] = []
    seen = set()
    for op in history.events("session", "connected"):
        session = op.value.get("session")
        if session is None or session in seen:
            continue
        seen.add(session)
        opened = lives[session].opened_ms if session in lives else None
        if opened is not None:
            delays.append((op.time - clock.monotonic(opened), op))
    if not delays:
        return None
    least, op = min(delays, key=itemgetter(0))
    if least < -TOLERANCE_NS:
        return least, (
            f"record {op.index} names a session {-least / 1e6:.0f} ms before it began in the "
            "servers' logs, by the readings of the clocks"
        )
    if least > SLOWEST_NS:
        return least, (
            f"no client learned of its session within {least / 1e9:.1f} s after it began in the "
            "servers' logs, by the readings of the clocks"
        )
    return None
