"""Whether the parts of a run's record (history, fault plan, servers' logs) fit together.

A seal (checksum) reveals that a file was changed, but whoever changes the file can renew the seal.
The checks here need no seal. They compare facts that two parts of the record both state. Nothing
that a client, a server or a fault does makes the two differ. So if they differ, the record is
damaged, or parts of it are from another run.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import Any

from rumpus.checker.history import History
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.coherence_of_logs import (
    OF_ANOTHER_RUN_NS,
    clocks_apart,
    ended_early,
    ungranted_timeout,
    unknown_to_history,
    unknown_to_logs,
)
from rumpus.checker.timeline.coherence_of_wire import (
    Passed,
    contrary_on_the_wire,
    missing_on_the_wire,
)
from rumpus.checker.timeline.processes_of_clients import (
    miscounted_operations,
    unexplained_processes,
)
from rumpus.checker.wire.records import WireRecords
from rumpus.checker.wire.settings import ServerSettings

_INDEX = attrgetter("index")


@dataclass
class Contradictions:
    """What does not fit together, in words, sorted by the part that is unreliable because of it."""

    history: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    clock: list[str] = field(default_factory=list)
    wire: list[str] = field(default_factory=list)
    short: list[str] = field(default_factory=list)
    """What is there is reliable, and more should be."""

    def __iter__(self) -> Iterator[str]:
        yield from (*self.history, *self.logs, *self.clock, *self.wire, *self.short)


def contradictions_alone(history: History) -> list[str]:
    """Where a history that a run wrote contradicts itself."""
    return [
        *_missing_records(history),
        *unexplained_processes(history),
        *miscounted_operations(history),
        *_unclaimed_actions(history),
    ]


def contradictions(
    history: History,
    *,
    plan: Sequence[Mapping[str, Any]] | None = None,
    truth: ServerTruth | None = None,
    read: bool = True,
    clock: WallClock | None = None,
    lossy: bool = False,
    sessions: bool = True,
    wire: WireRecords | None = None,
    session_timeout: float | None = None,
    settings: ServerSettings | None = None,
    kazoo: bool | None = None,
    plain: bool = False,
) -> Contradictions:
    """The contradictions in the record of a run.

    Args:
        history: all of its records.
        plan: the entries of its fault plan; None if it is not known.
        truth: what the servers' logs say, if they are at hand.
        read: whether they were looked for.
        clock: converts the logs' times to the history's clock.
        lossy: whether servers may have lost what they acknowledged (a disk that ignores fsync, a
            server with a deliberate bug): then logs may lack what clients saw.
        sessions: whether clients have sessions, as ZooKeeper's have.
        wire: what passed on the links, empty if nothing was recorded; None: it is not read.
        session_timeout: what the run's clients asked for, in seconds; None: it is not known.
        settings: what the servers were told; None: that is not known.
        kazoo: whether the clients number their requests as kazoo does; False: as Java's does;
            None: that is not known.
        plain: whether operations only pass requests to the servers, so that what is answered last
            decides them.
    """
    found = Contradictions(
        history=[
            *contradictions_alone(history),
            *_foreign_clients(history, sessions=sessions),
            *_lost_watch_events(history),
            *(_unplanned_faults(history, plan) if plan is not None else ()),
        ]
    )
    if wire is not None and sessions:
        passed = Passed(history, wire)
        found.wire += missing_on_the_wire(passed, kazoo=kazoo)
        if not found.wire:
            found.history += contrary_on_the_wire(passed, session_timeout, plain=plain)
    if read:
        found.short += ended_early(history, truth)
    if truth is None or lossy:
        return found
    found.logs += unknown_to_logs(history, truth)
    if found.logs:
        return found
    found.history += unknown_to_history(history, truth, clock)
    if settings is not None and session_timeout is not None and sessions:
        found.history += ungranted_timeout(history, truth, settings, session_timeout)
    apart = None if clock is None else clocks_apart(history, truth, clock)
    if apart is not None:
        by, words = apart
        (found.logs if abs(by) > OF_ANOTHER_RUN_NS else found.clock).append(words)
    return found


def _missing_records(history: History) -> Iterator[str]:
    """The writer numbers records from 0, without a gap."""
    indices = sorted(map(_INDEX, history))
    if indices == list(range(len(indices))):
        return
    for before, after in pairwise([-1, *indices]):
        if after == before + 2:
            yield f"record {before + 1} is missing from the history"
        elif after > before + 2:
            yield f"records {before + 1} to {after - 1} are missing from the history"


def _foreign_clients(history: History, *, sessions: bool) -> Iterator[str]:
    """Every client has session records, no unknown client has, and processes fit their clients."""
    connected = set()
    for op in history.events("session"):
        client, process = op.value["client"], op.value.get("process")
        if client >= history.clients:
            yield f"record {op.index} is of client c{client}, but there were only {history.clients}"
            return
        if process is not None and history.client_of(process) != client:
            yield (
                f"record {op.index} says that process {process} is client c{client}'s, but it is "
                f"c{history.client_of(process)}'s"
            )
            return
        if op.f == "connected":
            connected.add(client)
    acting = {history.client_of(op.process) for op in history if isinstance(op.process, int)}
    for client in sorted(acting - connected) if sessions else ():
        yield f"client c{client} called operations but never had a session"
    if not history.truncated:
        for client in sorted(set(range(history.clients)) - connected - acting):
            yield f"the history has no record of client c{client}"


def _unclaimed_actions(history: History) -> Iterator[str]:
    """The witness (the protected resource) numbers the actions without gaps.

    Each action lies inside an operation, whose completion says how many actions it did. Compared
    by order in the file, not by time: there a client's call is before its actions, and its
    completion after them.
    """
    orders = [
        order for op in history.events("witness") if (order := op.value.get("order")) is not None
    ]
    if sorted(orders) != list(range(len(orders))):
        yield "some actions at the witness are missing: their numbers have gaps"
    accepted: dict[int, int] = {}  # in the operation that a process has open
    for op in sorted(history, key=_INDEX):
        if op.process == "witness":
            process = op.value["process"]
            if process not in accepted:
                yield f"record {op.index}: this action is inside no operation of process {process}"
                return
            accepted[process] += op.value["accepted"]
        elif isinstance(op.process, int):
            if op.type == "invoke":
                accepted[op.process] = 0
                continue
            done = accepted.pop(op.process, 0)
            answer = op.value if op.type != "info" and isinstance(op.value, dict) else {}
            claimed = answer.get("acts")
            if isinstance(claimed, int) and claimed > done:
                yield f"record {op.index}: {op.f} did {claimed} actions, but the witness saw {done}"
                return


def _lost_watch_events(history: History) -> Iterator[str]:
    """The history has as many watch events of each client as were counted at the run's end."""
    seen = Counter(op.value["client"] for op in history.events("link", "watch"))
    counted = {
        op.value["client"]: op.value.get("watch_events")
        for op in history.events("link", "requests")
    }
    if not history.truncated and (missing := set(range(history.clients)) - counted.keys()):
        yield f"the requests of c{min(missing)} were not counted at the run's end"
    for client, events in counted.items():
        if events is not None and events != seen[client]:
            yield (
                f"by the count at the run's end, {events} watch events reached c{client}, but the "
                f"history has {seen[client]}"
            )


def _unplanned_faults(history: History, plan: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Each fault that began is in the plan, and if the run was complete each of the plan began."""
    planned = {entry.get("id"): entry for entry in plan}
    began = set()
    for op in history.events("nemesis"):
        if op.type != "invoke" or op.f not in ("start", "stop"):
            continue
        value = op.value or {}
        if value.get("id") not in planned:
            yield f"record {op.index}: fault {value.get('id')} is not in the plan"
            return
        if planned[value["id"]].get("kind") != value.get("kind"):
            yield (
                f"record {op.index}: fault {value['id']} is {value.get('kind')}, but in the plan "
                f"it is {planned[value['id']].get('kind')}"
            )
            return
        if op.f == "start":
            began.add(value["id"])
    if any(history.events("control", "phase-end")):  # the run had the time for all of it
        for number in planned.keys() - began:
            yield f"fault {number} of the plan, {planned[number].get('kind')}, never began"
