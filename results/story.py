"""A violation told in a few lines: what went wrong, and what led to it.

The story goes backwards from an anomaly along its causes:

- its calls, and the znodes that it is about (``story_subject`` says how these are found);
- whose request created, overwrote or deleted each of these, in which call: that client is part of
  the story, though the anomaly may not name it;
- what other calls were about the same key, and what the anomaly's clients did meanwhile;
- who was told of that by a watch;
- when the sessions of all these clients ended, when they had lost the connection, and when they
  learned it; when their processes stood still; at which line of the recipe a client stood then;
- the faults that touched one of these clients, or a server while one of them was cut off.

Each line has a rank. Of more lines than ``MOST_LINES`` those of the first ranks are told, and of
one rank those that are nearest to the anomaly; all in order of time. First is a znode that stood
all the time, for example the one that everybody waits for in a deadlock; then come changes by
clients that the anomaly does not name.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from rumpus.checker.history import Op, Operation
from rumpus.checker.timeline.changes import Change
from rumpus.checker.timeline.faults import FaultWindow
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, Verdict
from rumpus.results.story_subject import Subject, lives
from rumpus.results.wording import znode_name

MOST_LINES: Final = 12
LONGEST_VALUE: Final = 100
"""Letters of a record's value."""

MOST_CHANGES: Final = 5
"""Of more changes of znodes the others are told if there is room."""

MOST_CALLS: Final = 4
"""Each of more calls that an anomaly cites is told in one line."""

_SAID_OF_SESSIONS: Final = {
    "suspended": "loses its connection",
    "lost": "learns that its session has ended",
    "connected": "is connected",
    "paused": "is frozen",
    "resumed": "runs again",
    "exited": "is killed",
    "started": "is started again",
    "believes": "believes that it holds",
    "doubts": "no longer believes that it holds",
    "closed": "closes its session",
}
_RANKS: Final = {"paused": 1, "exited": 1, "lost": 1, "doubts": 2, "believes": 2, "resumed": 2}
"""The ranks of what is recorded of a client."""

_HOW: Final = {
    "created": "creates {kind} {name}",
    "written": "writes {name}{data}",
    "deleted": "deletes {name}",
    "multi": "deletes {name}, in a multi",
    "closed": "closes its session, and {name} is deleted",
    "expired": "has no session any more: {name} is deleted",
    "reaped": "{name} is deleted by the servers",
    "unlogged": "{name} has been deleted, and is created again",
}


class StoryLine(NamedTuple):
    """One line of a story.

    ``rank`` says how much it matters, 0 most. ``record`` is the index of the record that shows it,
    of a change of a znode that of the call in which it was made; None if the history has none.
    ``client`` is whose it is; None for what faults and servers did.
    """

    time: int
    rank: int
    words: str
    record: int | None = None
    client: int | None = None


def story(timeline: Timeline, verdict: Verdict) -> list[str]:
    """What led to the first broken promise, or to the first hazard if none was broken.

    Args:
        timeline: the run.
        verdict: what is wrong with it.

    Returns:
        First what is wrong; then lines in order of time, each with its time in seconds since the
        run began. Empty if there is no anomaly.
    """
    anomaly = next(iter(verdict.anomalies), None)
    return [] if anomaly is None else story_of(timeline, anomaly)


def story_of(timeline: Timeline, anomaly: Anomaly) -> list[str]:
    """What an anomaly is, and what led to it, in at most ``MOST_LINES`` lines more."""
    origin = timeline.history.start
    return [
        f"{anomaly.kind}: {anomaly.description}",
        *(
            f"{(each.time - origin) / 1e9:9.3f} s  {each.words}"
            for each in story_lines(timeline, anomaly)
        ),
    ]


def story_lines(timeline: Timeline, anomaly: Anomaly) -> list[StoryLine]:
    """What led to an anomaly, in order of time: at most ``MOST_LINES`` lines, no two the same."""
    subject = Subject(timeline, anomaly)
    told = {
        each[:3]: each
        for each in sorted(_Teller(timeline, subject).events(), key=lambda each: each[:3])
    }
    near = sorted(
        told.values(), key=lambda each: (each.rank, subject.distance(each.time), *each[:3])
    )
    return sorted(near[:MOST_LINES], key=lambda each: each[:3])


class _Teller:
    """Tells what belongs to one anomaly."""

    def __init__(self, timeline: Timeline, subject: Subject) -> None:
        self._timeline, self._subject = timeline, subject

    def events(self) -> Iterator[StoryLine]:
        """Everything that belongs to the anomaly, in any order."""
        changes = sorted(
            map(self._of_change, self._subject.changes),
            key=lambda each: (each.rank, self._subject.distance(each.time)),
        )
        for number, each in enumerate(changes):
            yield each._replace(rank=each.rank + 2 * (number >= MOST_CHANGES))
        for call in self._subject.calls:
            if len(self._subject.calls) > MOST_CALLS:
                yield self._in_one_line(call)
            else:
                yield from self._of_call(call)
        for call in self._subject.related:
            yield self._in_one_line(call)
        yield from self._of_watches()
        yield from self._of_clients()
        yield from self._of_sessions()
        yield from self._of_faults()

    def _of_change(self, change: Change) -> StoryLine:
        name = znode_name(change.path)
        kind = "ephemeral node" if change.owner is not None else "node"
        who = f"session {change.session}" if change.client is None else f"c{change.client}"
        data = "" if not change.data else f" {change.data[:40]!r}"
        what = _HOW[change.how].format(kind=kind, name=name, data=data)
        own = change.owner == change.session or change.how in ("created", "written")
        strange = change.client not in self._subject.anomaly.clients or not own
        cited = change.call is not None and change.call in self._subject.calls
        if change in self._subject.standing:
            rank = -1
        else:
            usual = change.how == "created" or (change.how == "written" and not cited)
            rank = 0 if strange else 2 if usual else 1
        if change.how in ("reaped", "unlogged"):
            return StoryLine(change.time, 0, f"servers: node {what}")
        call = change.call
        inside = "" if call is None else f", in its {call.invoke.f}"
        record = None if call is None else call.invoke.index
        words = f"{who} {what}{self._made_by_another(change)}{inside}"
        return StoryLine(change.time, rank, words, record, change.client)

    def _made_by_another(self, change: Change) -> str:
        """Whose the znode is that a client deletes, if it is not the client's own."""
        if change.how not in ("deleted", "multi"):
            return ""
        every = lives(self._timeline.znodes[change.path])
        maker = next((made.client for made, gone in every if gone is change), change.client)
        return "" if maker in (None, change.client) else f", which c{maker} had made"

    def _of_call(self, call: Operation) -> Iterator[StoryLine]:
        invoke, done = call
        client = self._timeline.history.caller(call)
        words = f"c{client} calls {invoke.f}{_value(invoke)}"
        yield StoryLine(invoke.time, 2, words, invoke.index, client)
        if done is not None:
            error = f" ({done.error})" if done.error else ""
            words = f"c{client} {invoke.f}: {done.type}{_value(done)}{error}"
            yield StoryLine(done.time, 1, words, done.index, client)

    def _in_one_line(self, call: Operation) -> StoryLine:
        invoke, done = call
        client = self._timeline.history.caller(call)
        answer = "" if done is None else _value(done)
        words = f"c{client} calls {invoke.f}{_value(invoke)}: {call.outcome}{answer}"
        return StoryLine(invoke.time, 1, words, invoke.index, client)

    def _of_watches(self) -> Iterator[StoryLine]:
        paths = {each.path for each in self._subject.changes}
        for op in self._timeline.history.events("link", "watch"):
            value = op.value
            near = self._subject.since <= op.time <= self._subject.until
            if near and value["path"] in paths and value["client"] in self._subject.clients:
                told = f"{znode_name(value['path'])} {value['event']}"
                words = f"c{value['client']} is told: {told}"
                yield StoryLine(op.time, 2, words, op.index, value["client"])

    def _of_clients(self) -> Iterator[StoryLine]:
        cited = set(self._subject.anomaly.ops)
        history = self._timeline.history
        ends = self._ends_of_sessions()
        for op in history.events("session"):
            client = op.value.get("client")
            if (
                client in self._subject.clients
                and op.f in _SAID_OF_SESSIONS
                and self._subject.since <= op.time <= self._subject.until
            ):
                rank = 1 if op.index in cited else _RANKS.get(op.f, 3)
                if op.index in ends:
                    rank = 0
                line = f", at {op.value['at']}" if op.value.get("at") else ""
                words = f"c{client} {_SAID_OF_SESSIONS[op.f]}{line}"
                yield StoryLine(op.time, rank, words, op.index, client)
        acts = [op for op in history.events("witness") if op.index in cited]
        for op in (*acts[:1], *acts[-1:]):
            client = op.value["client"]
            yield StoryLine(op.time, 1, f"c{client} acts on the resource", op.index, client)

    def _ends_of_sessions(self) -> set[int]:
        """Where the anomaly's clients lost a connection for good, and learned of the end."""
        cut: dict[int, int] = {}
        found = set()
        for op in self._timeline.history.events("session"):
            client = op.value.get("client")
            if client not in self._subject.named_clients:
                continue
            if op.f == "suspended":
                cut[client] = op.index
            elif op.f == "connected":
                cut.pop(client, None)
            elif op.f == "lost":
                found |= {op.index, cut.pop(client, op.index)}
        return found

    def _of_sessions(self) -> Iterator[StoryLine]:
        """Sessions that ended on the servers, and how much later their clients knew."""
        logs = self._timeline.logs
        if logs is None:
            return
        owners = self._timeline.history.clients_of_sessions()
        learned = {
            op.value.get("session"): op.time
            for op in self._timeline.history.events("session", "lost")
        }
        for life in logs.truth.sessions().values():
            client = owners.get(life.session)
            if client not in self._subject.clients or life.closed_ms is None or not life.expired:
                continue
            time = logs.clock.monotonic(life.closed_ms)
            if self._subject.since <= time <= self._subject.until:
                late = (learned.get(life.session, time) - time) / 1e9
                known = f"; it learns so {late:.1f} s later" if late > 0 else ""
                words = f"servers: the session of c{client} expires{known}"
                yield StoryLine(time, 1, words, client=client)

    def _of_faults(self) -> Iterator[StoryLine]:
        records = {op.time: op.index for op in self._timeline.history.events("nemesis")}
        for fault in self._timeline.faults:
            end = self._timeline.end_of(fault)
            if (
                end < self._subject.since
                or fault.begun > self._subject.until
                or not self._mattered(fault, end)
            ):
                continue
            name = f"{fault.kind} {', '.join(fault.targets)}".strip()
            how = f" ({fault.how})" if fault.how else ""
            hit = {f"c{client}" for client in self._subject.named_clients}
            rank = 1 if hit.isdisjoint(fault.targets) else 0
            began = fault.in_force or fault.begun
            yield StoryLine(began, rank, f"fault: {name}{how}", records.get(began))
            if fault.ended is not None and fault.ended <= self._subject.until:
                yield StoryLine(fault.ended, 3, f"healed: {name}", records.get(fault.ended))

    def _mattered(self, fault: FaultWindow, end: int) -> bool:
        """Whether a fault hit a client of the story, or a server while one was cut off."""
        targets = {f"c{client}" for client in self._subject.clients}
        if not targets.isdisjoint(fault.targets):
            return True
        if fault.kind.startswith("client-"):
            return False
        return any(
            op.f in ("suspended", "lost")
            and op.value.get("client") in self._subject.clients
            and fault.begun <= op.time <= end
            for op in self._timeline.history.events("session")
        )


def _value(op: Op) -> str:
    """The value of a record, as short as it can be said."""
    if op.value is None:
        return ""
    if isinstance(op.value, dict):
        told = [f"{name}={value!r}" for name, value in op.value.items() if value is not None]
        words = ", ".join(told)
    else:
        words = repr(op.value)
    if len(words) > LONGEST_VALUE:
        words = f"{words[:LONGEST_VALUE]} ..."
    return f" {words}" if words else ""
