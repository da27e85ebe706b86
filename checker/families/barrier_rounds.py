"""Rounds of a double barrier: clients that were in before all had come, or out before all had left.

Errors that are found without search, for N parties:

- **Early exit.** One client was inside during the whole of another's acknowledged ``leave``. Its
  ``enter`` had returned before that ``leave`` was called, and it called its own ``leave`` after
  that one had returned. Its own was acknowledged, which shows that it had lived until then.
- **Early entry.** An acknowledged ``leave`` says that the barrier was empty at a moment between its
  call and its return. A client that calls ``enter`` after that return is let in together with N
  that have all come after that moment. So at least N must have entered, or may have, between the
  call of the latest such ``leave`` and the return of the ``enter``. Who is let in after another
  ``leave`` has returned, that was called after this ``enter`` had, and leaves later as a member,
  came after the moment at which the barrier was empty then: it waited for a later round, and does
  not count for this one.
- **False exit.** An acknowledged ``leave`` was called after the member's session had certainly
  ended: it had left at that time without knowing it, and the others had gone on without it.

N is what the calls of ``enter`` say (``parties``); where they say nothing, that of the clients.

A living client is one member at most: if the outcome of its ``enter`` is unknown, it may be a
member until its next ``enter`` returns. A client that was killed may have been a member until its
sessions ended, and its restarted process may be another member meanwhile. A failed ``enter`` lets
no client in.

A correct barrier never breaks these rules, whatever outcomes are unknown, but not every error
breaks them. The model ``double-barrier`` is exact, and fast as long as all outcomes are known; with
unknown ones it may search for ever.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from rumpus.checker.check import check
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.families.latch_entries import EARLY_ENTRY
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS, ServerView
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

EARLY_EXIT = Kind("early-exit", "a client left a double barrier before others had begun to leave")
FALSE_EXIT = Kind(
    "false-exit",
    "a client left a double barrier as a member after its session had ended",
    logs=True,
)

EVER = 1 << 62


@dataclass(frozen=True)
class _Coming:
    """An ``enter`` that happened or may have: when its client may have come to be a member.

    ``life`` counts the restarts of the client's process before the call.
    """

    client: int
    life: int
    operation: Operation
    since: int
    until: int


@check("rounds", finds=[EARLY_ENTRY, EARLY_EXIT, FALSE_EXIT])
def check_barrier_rounds(timeline: Timeline) -> CheckResult:
    """Judge the operations ``enter`` and ``leave``; N clients go in together."""
    history, session_ends = timeline.history, certain_ends(timeline.servers)
    result = CheckResult(name="rounds")
    parties = parties_of(history)
    if parties is None:
        result.unknown.append("calls of enter name different numbers of parties")
        return result
    calls = [call for call in history.operations() if call.invoke.f in ("enter", "leave")]
    by_process: dict[int, list[Operation]] = {}
    for call in calls:
        by_process.setdefault(int(call.invoke.process), []).append(call)
    stays = [
        (enter, leave)
        for each in by_process.values()
        for enter, leave in pairwise(each)
        if enter.invoke.f == "enter" and leave.invoke.f == "leave" and _ok(enter) and _ok(leave)
    ]
    result.anomalies += _early_exits(history, stays)
    result.anomalies += _false_exits(history, calls, session_ends)
    comings = _comings(history, calls, session_ends)
    alive = {enter.invoke.index for enter, _ in stays}
    result.anomalies += _early_entries(history, parties, calls, comings, alive)
    result.stats = {"enters": len(comings), "stays": len(stays)}
    return result


def parties_of(history: History) -> int | None:
    """How many must come together; None if calls of ``enter`` contradict each other.

    Calls that name no number were made for all clients.
    """
    named = {
        (call.invoke.value or {}).get("parties") or max(1, history.clients)
        for call in history.operations()
        if call.invoke.f == "enter"
    }
    return int(named.pop()) if len(named) == 1 else None if named else max(1, history.clients)


def certain_ends(server: ServerView | None) -> dict[str, int]:
    """By when sessions had certainly ended; sessions for which that is not known are missing."""
    if server is None:
        return {}
    known = {name: end for name, end in server.ends.items() if name in server.known}
    return {name: end.time + CLOCK_SLACK_NS for name, end in known.items()}


@check("double-barrier", finds=[EARLY_ENTRY, EARLY_EXIT], unless=["rounds"])
def check_rounds_by_model(timeline: Timeline) -> CheckResult | None:
    """Check all operations by the model; None if an outcome is unknown (see the module), or N is.

    Of the operations that contradict the model, the one that returned last was early.
    """
    history = timeline.history
    calls = [call for call in history.operations() if call.invoke.f in ("enter", "leave")]
    parties = parties_of(history)
    if parties is None or any(call.outcome == "info" for call in calls):
        return None
    result = check_model(timeline, "double-barrier", "early-entry", initial=parties)
    by_index = {op.index: op for op in history}
    for anomaly in result.anomalies:
        done = [by_index[index] for index in anomaly.ops if by_index[index].type == "ok"]
        if done and max(done, key=lambda op: op.time).f == "leave":
            anomaly.kind = "early-exit"
    return result


def count_rounds(history: History) -> int:
    """How many rounds were passed: N clients left once in each; none is known if N is not."""
    left = sum(op.f == "leave" and op.type == "ok" for op in history)
    parties = parties_of(history)
    return left // parties if parties else 0


def _ok(call: Operation) -> bool:
    return call.outcome == "ok"


def _early_exits(history: History, stays: list[tuple[Operation, Operation]]) -> list[Anomaly]:
    found = []
    inside = sorted(stays, key=lambda stay: stay[0].done.time)
    let_in = [enter.done.time for enter, _ in inside]
    for _, leave in stays:
        client = history.caller(leave)
        # Those let in before, latest first: of each client only the latest stay can matter.
        seen = {client}
        for enter, later in reversed(inside[: bisect_right(let_in, leave.invoke.time)]):
            other = history.caller(enter)
            if other in seen:
                continue
            seen.add(other)
            if later.invoke.time > leave.done.time:
                found.append(
                    Anomaly(
                        kind="early-exit",
                        description=(
                            f"c{client} had left although c{other}, which had entered before "
                            f"c{client} called leave, called leave only "
                            f"{_ms(leave, later)} ms later"
                        ),
                        ops=[*enter.indices, *leave.indices, *later.indices],
                        clients=sorted({client, other}),
                        start=leave.invoke.time,
                        end=later.invoke.time,
                    )
                )
                break
            if len(seen) == history.clients:
                break
    return found


def _false_exits(
    history: History, calls: list[Operation], session_ends: Mapping[str, int]
) -> list[Anomaly]:
    found = []
    for leave in calls:
        if leave.invoke.f != "leave" or not _ok(leave) or leave.completion is None:
            continue
        session = str((leave.completion.value or {}).get("session"))
        ended = session_ends.get(session, EVER)
        if ended < leave.invoke.time:
            client = history.caller(leave)
            early = (leave.invoke.time - ended) / 1e6
            found.append(
                Anomaly(
                    kind="false-exit",
                    description=(
                        f"c{client} was told that it had left as a member, although its session "
                        f"{session} had ended {early:.0f} ms before it called leave"
                    ),
                    ops=leave.indices,
                    clients=[client],
                    start=ended,
                    end=leave.done.time,
                )
            )
    return found


def _ms(leave: Operation, later: Operation) -> str:
    return f"{(later.invoke.time - leave.done.time) / 1e6:.0f}"


def _comings(
    history: History, calls: list[Operation], session_ends: Mapping[str, int]
) -> list[_Coming]:
    deaths: dict[int, list[int]] = {}
    for op in history.events("session", "exited"):
        deaths.setdefault(op.value["client"], []).append(op.time)
    sessions: dict[tuple[int, int], set[str]] = {}

    def life_at(client: int, time: int) -> int:
        return bisect_left(deaths.get(client, []), time)

    for op in history.events("session", "connected"):
        client = int(op.value["client"])
        lived = (client, life_at(client, op.time))
        sessions.setdefault(lived, set()).add(str(op.value.get("session")))
    settled: dict[tuple[int, int], list[int]] = {}
    for call in calls:
        if call.invoke.f == "enter" and _ok(call):
            client = history.caller(call)
            settled.setdefault((client, life_at(client, call.invoke.time)), []).append(
                call.done.time
            )
    comings = []
    for call in calls:
        if call.invoke.f != "enter" or call.outcome == "fail":
            continue
        client = history.caller(call)
        life = life_at(client, call.invoke.time)
        if _ok(call):
            until = call.done.time
        else:
            later = settled.get((client, life), [])
            place = bisect_right(later, call.invoke.time)
            until = later[place] if place < len(later) else EVER
            if until == EVER and life < len(deaths.get(client, [])):
                ends = [session_ends.get(name, EVER) for name in sessions.get((client, life), ())]
                until = max(ends, default=EVER)
        comings.append(_Coming(client, life, call, call.invoke.time, until))
    return comings


def _early_entries(
    history: History,
    parties: int,
    calls: list[Operation],
    comings: list[_Coming],
    alive: Collection[int],
) -> list[Anomaly]:
    """Those let in too early; ``alive``: indices of the calls that a ``leave`` followed, all ok."""
    leaves = sorted(
        (call for call in calls if call.invoke.f == "leave" and _ok(call)),
        key=lambda each: each.done.time,
    )
    ends = [leave.done.time for leave in leaves]
    latest = list(accumulate((leave.invoke.time for leave in leaves), max))
    following = _following(leaves)
    renewals = _renewals(history)
    comings = sorted(comings, key=lambda coming: coming.since)
    starts = [coming.since for coming in comings]
    found = []
    for coming in comings:
        enter = coming.operation
        if not _ok(enter):
            continue
        place = bisect_right(ends, enter.invoke.time)
        empty = latest[place - 1] if place else history.start
        returned = enter.done.time
        end = following(returned)
        came: set[tuple[int, int]] = set()
        for other in reversed(comings[: bisect_right(starts, returned)]):
            later = other.operation.invoke.index in alive and _came_later(other, end, renewals)
            if other.until >= empty and not later:
                came.add((other.client, other.life))
                if len(came) >= parties:
                    break
        if len(came) < parties:
            found.append(
                Anomaly(
                    kind="early-entry",
                    description=(
                        f"c{coming.client} had entered when only {len(came)} of {parties} had come "
                        "since the barrier was last known to be empty"
                    ),
                    ops=enter.indices,
                    clients=sorted({client for client, _ in came}),
                    start=empty,
                    end=returned,
                )
            )
    return found


def _following(leaves: list[Operation]) -> Callable[[int], int]:
    """A function: by when the barrier had been empty again, for certain, after a moment."""
    by_call = sorted(leaves, key=lambda each: each.invoke.time)
    calls = [leave.invoke.time for leave in by_call]
    earliest = list(accumulate((leave.done.time for leave in reversed(by_call)), min))[::-1]

    def following(time: int) -> int:
        place = bisect_left(calls, time)
        return earliest[place] if place < len(earliest) else EVER

    return following


def _renewals(history: History) -> dict[int, list[int]]:
    """Client -> when it was connected in another session than before."""
    found: dict[int, list[int]] = {}
    before: dict[int, str] = {}
    for op in history.events("session", "connected"):
        client, session = int(op.value["client"]), str(op.value.get("session"))
        if before.get(client) != session:
            found.setdefault(client, []).append(op.time)
        before[client] = session
    return found


def _came_later(coming: _Coming, emptied: int, renewals: Mapping[int, Sequence[int]]) -> bool:
    """Whether a client came after a moment at which the barrier was empty, and by then was let in.

    A member that is let in was a member until then, in one session, if that lived: it left later.
    Somebody that got another session on the way in may have been a member before.

    Args:
        coming: how it came, and left later.
        emptied: by when the barrier had been empty.
        renewals: when clients were connected in other sessions than before.
    """
    if not _ok(coming.operation) or coming.until <= emptied:
        return False
    times = renewals.get(coming.client, ())
    return bisect_left(times, coming.since) == bisect_right(times, coming.until)
