"""What a failure looks like, so that two of them can be compared: the signs of its cause.

Kind and operations alone join flaws that show alike, and part one flaw that shows in several ways.
What a run knows besides: the faults that touched the failure's clients, what became of their
sessions, at which line of the recipe each of them stood, the requests that they had sent in the
calls that are cited, what happened to the znodes in question, and the state of the servers.

What differs from run to run is left out of all words: numbers, names of clients, sessions, znodes'
sequence numbers, values.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby
from typing import Final, NamedTuple

import msgspec

from rumpus.checker.history import Operation
from rumpus.checker.timeline.faults import FaultWindow
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly
from rumpus.checker.wire.records import Event, Handshake, Part, Request
from rumpus.results.story import story_lines
from rumpus.results.story_subject import Subject

LATELY_NS: Final = 5_000_000_000
"""How long after its end a fault may still have been the cause."""

MOST_REQUESTS: Final = 16
"""Of a call's requests the last ones are kept."""

MOST_CALLS: Final = 6
MOST_CLIENTS: Final = 6
MOST_STORY: Final = 14

_EPHEMERAL, _SEQUENTIAL = 1, 2

_UNLIKE: Final = re.compile(
    r"0x[0-9a-f]+|\b[0-9a-f]{16,}\b|\bc\d+\b|\bn\d+\b|(?<![a-z])[a-z]?-?\d+(?:[.,:]\d+)*"
)
"""What differs from run to run in words."""

_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"|b'[^']*'")


class Traits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The signs of a failure's cause.

    Attributes:
        kind: of the anomaly.
        operations: the functions of the operations that show it.
        words: its description, without what differs from run to run.
        calls: the calls that it cites, with their outcomes.
        requests: of each cited call the requests that its client sent in it, and the events that
            it was told.
        lines: the lines of the recipe that sent these requests.
        places: the lines of the recipe at which its clients stood when the promise broke.
        standing: in which call each client of the run was when the promise broke, and what it had
            sent in it.
        faults: those in force when it broke, and whom they hit.
        before: those that were over shortly before.
        sessions: what became of its clients' sessions until then, the last events only.
        znodes: what happened to the znodes that it is about.
        servers: the state of the servers.
        story: what led to it.
        calls_of: other failures of the run that the same calls show, as ``kind of operations``.
        znodes_of: other failures of the run that are about the same znodes.
    """

    kind: str
    operations: tuple[str, ...] = ()
    words: str = ""
    calls: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    standing: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    znodes: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    story: tuple[str, ...] = ()
    calls_of: tuple[str, ...] = ()
    znodes_of: tuple[str, ...] = ()


def template(words: str) -> str:
    """Words without what differs from run to run: numbers, names, values.

    >>> template("c1 deletes lock-0000000007, which c0 had made, in its release")
    '# deletes lock-#, which # had made, in its release'
    """
    return re.sub(r"#(?:[\s.,:-]*#)+", "#", _UNLIKE.sub("#", _QUOTED.sub("#", words)))


def traits_of(timeline: Timeline, anomaly: Anomaly) -> Traits:
    """The signs of an anomaly's cause.

    Args:
        timeline: the run.
        anomaly: one of its anomalies.
    """
    return _Signs(timeline, anomaly).traits()


def traits_of_all(timeline: Timeline, anomalies: Sequence[Anomaly]) -> list[Traits]:
    """The signs of the causes of a run's anomalies, and which of them belong together."""
    every = [_Signs(timeline, each) for each in anomalies]
    found = [each.traits() for each in every]

    def others(number: int, things: Callable[[_Signs], AbstractSet[object]]) -> tuple[str, ...]:
        return _each_once(
            f"{found[other].kind} of {', '.join(found[other].operations)}"
            for other, each in enumerate(every)
            if other != number and not things(each).isdisjoint(things(every[number]))
        )

    return [
        msgspec.structs.replace(
            each,
            calls_of=others(number, _Signs.cited),
            znodes_of=others(number, _Signs.paths),
        )
        for number, each in enumerate(found)
    ]


class _Sent(NamedTuple):
    """A request of a client, or an event that it was told, in words; and where the client stood.

    A ping has no words: it says where the client stood, and no more.
    """

    time: int
    words: str
    at: str = ""


def _sent(timeline: Timeline) -> Mapping[int, Sequence[_Sent]]:
    """Client -> what passed between it and the servers, in order of time."""
    found: dict[int, list[_Sent]] = defaultdict(list)
    for record in timeline.wire:
        if isinstance(record, Event):
            found[record.client].append(_Sent(record.sent, f"({record.what})"))
        elif isinstance(record, Request):
            words = "" if record.name == "ping" else _request(record)
            found[record.client].append(_Sent(record.sent, words, record.at))
        elif isinstance(record, Handshake):
            how = "refused" if not record.session else "again" if record.asked else "anew"
            found[record.client].append(_Sent(record.sent, f"(session {how})"))
    for each in found.values():
        each.sort()
    return found


def _request(record: Request) -> str:
    parts = "+".join(map(_part, record.parts))
    watch = "*" if record.watch else ""
    lost = "?" if record.answered is None else ""
    return f"{_part(record)}{f'[{parts}]' if parts else ''}{watch}{lost}"


def _part(part: Part) -> str:
    """An operation: its name, kind of znode, whether its version was checked, and its error."""
    flags = part.flags or 0
    words = part.name
    if flags:
        words += "/" + "e" * bool(flags & _EPHEMERAL) + "s" * bool(flags & _SEQUENTIAL)
    if part.version is not None and part.version >= 0:
        words += "/v"
    return words + (f"={part.error}" if part.error else "")


class _Signs:
    """Collects the signs of one anomaly."""

    def __init__(self, timeline: Timeline, anomaly: Anomaly) -> None:
        self._timeline, self._anomaly = timeline, anomaly
        self._subject = Subject(timeline, anomaly)
        self._sent = timeline.part(_sent)
        history = timeline.history
        timeless = not anomaly.start and not anomaly.end
        self._start = history.end if timeless else anomaly.start
        self._end = history.end if timeless else max(anomaly.start, anomaly.end)
        self._clients = self._subject.named_clients | set(map(history.caller, self._subject.calls))

    def cited(self) -> AbstractSet[object]:
        """The calls that it cites."""
        return {call.invoke.index for call in self._subject.calls}

    def paths(self) -> AbstractSet[object]:
        """The znodes that it is about."""
        return {change.path for change in self._subject.changes}

    def traits(self) -> Traits:
        """The signs."""
        calls = self._calls()
        history = self._timeline.history
        told = story_lines(self._timeline, self._anomaly)
        lines = [template(each.words) for each in told]
        return Traits(
            kind=self._anomaly.kind,
            operations=tuple(sorted({call.invoke.f for call in self._subject.calls})),
            words=template(self._anomaly.description),
            calls=_each_once(map(self._call, calls)),
            requests=_each_once(
                f"{call.invoke.f}: {self._in_call(history.caller(call), call, self._end)}"
                for call in calls
            ),
            lines=_each_once(
                f"{call.invoke.f}: {each.at}"
                for call in calls
                for each in self._within(history.caller(call), call, self._end)
                if each.at and each.words
            ),
            places=_each_once(self._places()),
            standing=_each_once(self._standing()),
            faults=_each_once(self._in_force()),
            before=_each_once(self._over()),
            sessions=_each_once(self._sessions()),
            znodes=_each_once(self._znodes()),
            servers=_each_once(self._servers()),
            story=tuple(dict.fromkeys(lines))[:MOST_STORY],
        )

    def _calls(self) -> Sequence[Operation]:
        """The cited calls nearest to the break, of many; else those that its clients were in."""
        cited = self._subject.calls
        if not cited:
            at = [self._timeline.calls.before(each, self._end) for each in sorted(self._clients)]
            cited = [each for each in at if each is not None]
        near = sorted(cited, key=lambda call: abs(call.invoke.time - self._start))
        return near[:MOST_CALLS]

    def _call(self, call: Operation) -> str:
        done = call.completion
        error = f" ({template(str(done.error))})" if done is not None and done.error else ""
        return f"{call.invoke.f}: {call.outcome}{error}"

    def _in_call(self, client: int, call: Operation, until: int) -> str:
        """What a client sent in a call, repeated words once."""
        sent = self._within(client, call, until)
        words = [word for word, _ in groupby(each.words for each in sent if each.words)]
        return " ".join(words[-MOST_REQUESTS:])

    def _within(self, client: int, call: Operation, until: int) -> Sequence[_Sent]:
        """What passed between a client and the servers in a call, up to some time if it is open."""
        done = call.completion
        end = until if done is None else done.time
        sent = self._sent.get(client, ())
        first = bisect_left(sent, call.invoke.time, key=lambda each: each.time)
        last = bisect_right(sent, end, key=lambda each: each.time)
        return sent[first:last]

    def _places(self) -> Iterator[str]:
        """Where its clients stood when it broke: at their last requests, or as records say so."""
        begun = min([self._start, *(call.invoke.time for call in self._calls())])
        last = {}
        for op in self._timeline.history.events("session"):
            place, client = op.value.get("at"), op.value.get("client")
            if place and client in self._clients and begun <= op.time <= self._end:
                last[client] = op.time, place
        for client in self._clients:
            sent = self._sent.get(client, ())
            until = bisect_right(sent, self._end, key=lambda each: each.time)
            placed = [each for each in sent[:until] if each.at and each.time >= begun]
            at = [each for each in placed if each.words] or placed
            if at:
                last[client] = max(last.get(client, (0, "")), (at[-1].time, at[-1].at))
        yield from (place for _, place in last.values())

    def _standing(self) -> Iterator[str]:
        """Of each client the call that it was in when the promise broke."""
        history = self._timeline.history
        for client in range(min(history.clients, MOST_CLIENTS)):
            call = self._timeline.calls.before(client, self._start)
            who = "one" if client in self._clients else "other"
            if call is None:
                yield f"{who} has called nothing"
                continue
            done = call.completion
            over = done is not None and done.time < self._start
            sent = self._in_call(client, call, self._start)
            yield f"{who} {'after' if over else 'in'} {call.invoke.f}: {sent}"

    def _in_force(self) -> Iterator[str]:
        for fault in self._timeline.faults:
            if fault.begun <= self._end and self._timeline.end_of(fault) >= self._start:
                yield self._fault(fault)

    def _over(self) -> Iterator[str]:
        for fault in self._timeline.faults:
            end = self._timeline.end_of(fault)
            if self._start - LATELY_NS <= end < self._start:
                yield self._fault(fault)

    def _fault(self, fault: FaultWindow) -> str:
        """A fault, and whether it hit a client of the failure, another one, or servers."""
        hit = {f"c{client}" for client in self._clients}
        clients = [each for each in fault.targets if each.startswith("c")]
        whom = "of servers"
        if clients:
            whom = "of another" if hit.isdisjoint(clients) else "of its client"
        return f"{fault.kind}{f' ({fault.how})' if fault.how else ''} {whom}"

    def _sessions(self) -> Iterator[str]:
        since = self._start - LATELY_NS
        for op in self._timeline.history.events("session"):
            client = op.value.get("client")
            if since <= op.time <= self._end and op.f not in ("closed", "started"):
                yield f"{'one' if client in self._clients else 'other'} {op.f}"
        logs = self._timeline.logs
        if logs is None:
            return
        owners = self._timeline.history.clients_of_sessions()
        for life in logs.truth.sessions().values():
            client = owners.get(life.session)
            if client is None or life.closed_ms is None or not life.expired:
                continue
            if since <= logs.clock.monotonic(life.closed_ms) <= self._end:
                yield f"{'one' if client in self._clients else 'other'} expired"

    def _znodes(self) -> Iterator[str]:
        for change in self._subject.changes:
            who = "one" if change.client in self._clients else "other"
            kind = "ephemeral" if change.owner is not None else "node"
            own = "" if change.owner in (None, change.session) else " of another"
            inside = "" if change.call is None else f" in {change.call.invoke.f}"
            yield f"{who} {change.how} {kind}{own}{inside}"

    def _servers(self) -> Iterator[str]:
        since = self._start - LATELY_NS
        for begun, ended in self._timeline.leaderless:
            if begun <= self._end and ended >= since:
                yield "without a leader" if ended >= self._start else "had no leader"


def _each_once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))
