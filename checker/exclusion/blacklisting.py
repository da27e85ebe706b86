"""Whether sessions that were put on a blacklist ended soon.

The client that owns a session on the list has to close it; or the service refuses its heartbeats,
and it expires. Faults may delay that, so only time without any fault counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rumpus.checker.check import check
from rumpus.checker.exclusion.revocation import MISSED_REVOCATION
from rumpus.checker.history import History
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

LINGERING_SESSION = Kind(
    "lingering-session", "a session that the service refuses lived on after its timeout", timed=True
)

OBEDIENCE_NS: Final = 4_000_000_000
"""How long (ns) a client may take to end its session while no fault is in force."""

EXPIRY_NS: Final = 1_500_000_000
"""How long (ns) after its timeout the servers may end a session that is refused: they look once in
a tick, and a follower tells its leader of a session's last heartbeat half a tick later."""


@dataclass(frozen=True)
class Blacklisting:
    """A session is on the list from ``time`` (ns) on; its ``node`` was first in line then."""

    time: int
    session: str
    node: str


def blacklistings(history: History, f: str) -> list[Blacklisting]:
    """The acknowledged blacklistings, made by operations named ``f``."""
    return [
        Blacklisting(op.time, op.value["session"], op.value["node"])
        for op in history
        if op.f == f and op.type == "ok"
    ]


def listed_sessions(truth: ServerTruth, folder: str) -> set[str]:
    """The sessions that were put on the list, whether or not that was acknowledged."""
    return {life.path.removeprefix(f"{folder}/") for life in truth.znodes(folder)}


@check("blacklisting", finds=[MISSED_REVOCATION, LINGERING_SESSION])
def check_blacklisting(timeline: Timeline, operation: str = "break") -> CheckResult | None:
    """Every session on the list ended soon, in time without a fault.

    Its client has to end it within ``OBEDIENCE_NS`` (else ``missed-revocation``). If the service
    refuses it, it has to expire within its timeout and ``EXPIRY_NS`` (else ``lingering-session``).

    Args:
        timeline: the run.
        operation: what puts a session on the list.
    """
    if timeline.logs is None or not is_listed(timeline):
        return None
    history, (truth, clock) = timeline.history, timeline.logs
    named = blacklistings(history, operation)
    timeout = timeline.session_timeout if is_refused(timeline) else None
    longest = OBEDIENCE_NS if timeout is None else round(timeout * 1e9) + EXPIRY_NS
    result = CheckResult(name="blacklisting")
    lives = truth.sessions()
    by_client = 0
    for entry in named:
        life = lives.get(entry.session)
        closed = life.closed_ms if life is not None else None
        end = clock.monotonic(closed) if closed is not None else history.end
        by_client += life is not None and closed is not None and not life.expired
        for start, stop in _calm(timeline):
            since, until = max(start, entry.time), min(stop, end)
            if until - since > longest:
                result.anomalies.append(
                    Anomaly(
                        kind="missed-revocation" if timeout is None else "lingering-session",
                        description=(
                            f"session {entry.session} was put on the blacklist, but lived on for "
                            f"{(until - since) / 1e9:.1f} s without a fault"
                        ),
                        start=since,
                        end=until,
                    )
                )
                break
    result.stats = {
        "sessions put on the list": len(named),
        "ended by their clients": by_client,
        "obeyed within their hang": within_hang(timeline, named),
    }
    return result


def _calm(timeline: Timeline) -> Iterator[tuple[int, int]]:
    """The times of a run in which no fault was in force."""
    history = timeline.history
    since = history.start
    for fault in timeline.faults:
        if fault.begun > since:
            yield since, fault.begun
        since = max(since, timeline.end_of(fault))
    if history.end > since:
        yield since, history.end


def is_listed(timeline: Timeline) -> bool:
    """Whether the recipe puts sessions of hung holders on a blacklist."""
    return not timeline.promises.prevents.isdisjoint({"missed-revocation", "lingering-session"})


def is_refused(timeline: Timeline) -> bool:
    """Whether the service refuses the sessions on the list; else their clients end them."""
    return "lingering-session" in timeline.promises.prevents


def within_hang(timeline: Timeline, named: Sequence[Blacklisting]) -> int:
    """How many blacklisted holders' nodes went in a hang, with a session that ended this way.

    A hang is a ``work`` call whose value has ``hang``: the holder does nothing meanwhile.
    """
    if timeline.logs is None:
        return 0
    history, (truth, clock) = timeline.history, timeline.logs
    how = "expired" if is_refused(timeline) else "closed"
    gone = {
        life.path: clock.monotonic(life.deleted_ms)
        for life in truth.znodes()
        if life.how == how and life.deleted_ms is not None
    }
    listed = {entry.node for entry in named if entry.node in gone}
    holding: dict[int, str] = {}
    count = 0
    for call, done in history.operations():
        client = history.caller(call)
        if done is not None and done.type == "ok" and isinstance(done.value, dict):
            node = done.value.get("node")
            if call.f == "acquire" and node is not None:
                holding[client] = node
        if call.f == "work" and "hang" in (call.value or {}):
            node = holding.get(client, "")
            end = done.time if done is not None else history.end
            count += node in listed and call.time < gone[node] < end
    return count
