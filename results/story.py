"""A violation told in a few lines: what went wrong, and what led to it.

The story goes backwards from an anomaly along its causes:

- what the anomaly cites: its calls, and the znodes that its words or these calls name (a zxid, a
  path, an element, the key of a transaction). If they name none, the znodes of contenders that were
  there or had just gone: its clients may have waited for them;
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

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rumpus.checker.history import Op, Operation
from rumpus.checker.timeline.changes import SLACK_NS, Change
from rumpus.checker.timeline.faults import FaultWindow
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, Verdict
from rumpus.results.wording import SEQUENCE, znode_name

BEFORE_NS: Final = 3_000_000_000
"""How long before an anomaly, and before its znodes were made, the story begins."""

MOST_LINES: Final = 12
LONGEST_VALUE: Final = 100
"""Letters of a record's value."""

MOST_ZNODES: Final = 6
MOST_WRITES: Final = 4
MOST_CHANGES: Final = 5
"""Of more changes of znodes the others are told if there is room."""

LIVES: Final = 3
"""How many lives of a znode that is made again and again are told."""

MOST_CALLS: Final = 4
"""Each of more calls that an anomaly cites is told in one line."""

MOST_RELATED: Final = 5
MOST_ALIKE: Final = 2
"""How many calls of one operation by one client are told because they are about the same."""

_KEYS: Final = frozenset({"key", "value", "token", "epoch", "element", "node", "job"})
"""Fields of values that say what an operation is about."""

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

_PATH: Final = re.compile(r"/[^\s,;:'\"()\[\]]+")
_SESSION: Final = re.compile(r"session (0x[0-9a-f]+)")
_ZXID: Final = re.compile(r"zxid 0x([0-9a-f]+)")
_WORD: Final = re.compile(r"[A-Za-z0-9_.-]+")
_CLIENT: Final = re.compile(r"c\d+")
_LEAST_WORD: Final = 2
"""Letters of a word that may name a znode: shorter ones are in too many names."""


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
    teller = _Teller(timeline, anomaly)
    told = {each[:3]: each for each in sorted(teller.events(), key=lambda each: each[:3])}
    near = sorted(
        told.values(), key=lambda each: (each.rank, teller.distance(each.time), *each[:3])
    )
    return sorted(near[:MOST_LINES], key=lambda each: each[:3])


class _Teller:
    """Finds what belongs to one anomaly."""

    def __init__(self, timeline: Timeline, anomaly: Anomaly) -> None:
        self._timeline = timeline
        self._anomaly = anomaly
        history = timeline.history
        cited = set(anomaly.ops)
        self._calls = [each for each in history.operations() if not cited.isdisjoint(each.indices)]
        self._start, self._until = anomaly.start, max(anomaly.start, anomaly.end)
        self._at_zxids = self._changes_named()
        if self._at_zxids and anomaly.start <= history.start:  # it has no time of its own
            times = [each.time for each in self._at_zxids]
            self._start, self._until = min(times), max(times)
        owners = history.clients_of_sessions()
        sessions = {each for each in _SESSION.findall(anomaly.description) if each in owners}
        self._named_clients = {*anomaly.clients, *(owners[each] for each in sessions)}
        self._clients = {*self._named_clients, *map(history.caller, self._calls)}
        self._changes = self._contested()
        self._standing = [
            made
            for path in sorted({each.path for each in self._changes})
            for made, gone in _lives(self._timeline.znodes[path])
            if self._stood(made, gone)
        ]
        self._related = self._calls_of_the_same()
        self._clients |= {each.client for each in self._changes if each.client is not None}
        begun = [self._start, *(call.invoke.time for call in self._calls)]
        begun += [made.time for made in self._standing]
        self._since = min(begun) - BEFORE_NS

    def distance(self, time: int) -> int:
        """How far a time is from the anomaly's beginning or end."""
        return min(abs(time - self._start), abs(time - self._until))

    def events(self) -> Iterator[StoryLine]:
        """Everything that belongs to the anomaly, in any order."""
        changes = sorted(
            map(self._of_change, self._changes),
            key=lambda each: (each.rank, self.distance(each.time)),
        )
        for number, each in enumerate(changes):
            yield each._replace(rank=each.rank + 2 * (number >= MOST_CHANGES))
        for call in self._calls:
            if len(self._calls) > MOST_CALLS:
                yield self._inznode_name(call)
            else:
                yield from self._of_call(call)
        for call in self._related:
            yield self._inznode_name(call)
        yield from self._of_watches()
        yield from self._of_clients()
        yield from self._of_sessions()
        yield from self._of_faults()

    def _contested(self) -> list[Change]:
        """What happened to the znodes that the anomaly is about, until it was over."""
        znodes = self._timeline.znodes
        paths = {each.path for each in self._at_zxids} or self._named() or self._held()
        found: list[Change] = []
        for path in sorted(paths, key=self._likely)[:MOST_ZNODES]:
            changes = [each for each in znodes[path] if each.time <= self._until + SLACK_NS]
            # The last lives that began before the anomaly, and all that followed.
            made = [n for n, each in enumerate(changes) if each.how == "created"]
            before = [n for n in made if changes[n].time <= self._start]
            lately = changes[before[-LIVES:][0] if before else 0 :]
            written = [each for each in lately if each.how == "written"]
            near = sorted(written, key=lambda each: self.distance(each.time))[:MOST_WRITES]
            found += [each for each in lately if each.how != "written" or each in near]
        return found

    def _likely(self, path: str) -> tuple[bool, bool, int, str]:
        """Znodes that stood all the time come first, then those that others made.

        The anomaly's clients may have waited for them. Of znodes alike the order is that of paths:
        a story must not depend on that of a set.
        """
        changes = self._timeline.znodes[path]
        own = all(each.client in self._named_clients for each in changes)
        stood = any(self._stood(*life) for life in _lives(changes))
        return not stood, own, min(self.distance(each.time) for each in changes), path

    def _stood(self, made: Change, gone: Change | None) -> bool:
        """Whether a znode was there from before an anomaly that lasted until it was over."""
        lasted = self._start < self._until
        return lasted and made.time < self._start and (gone is None or gone.time >= self._until)

    def _changes_named(self) -> list[Change]:
        """The changes whose zxids its words name."""
        zxids = {int(zxid, 16) for zxid in _ZXID.findall(self._anomaly.description)}
        if not zxids:
            return []
        every = self._timeline.znodes.values()
        return [each for changes in every for each in changes if each.zxid in zxids]

    def _named(self) -> set[str]:
        """The znodes that its words name, else those that the values of its calls name."""
        znodes = self._timeline.znodes
        above = {path for path in znodes if f"{self._timeline.path}/".startswith(f"{path}/")}
        for texts in ([self._anomaly.description], self._values()):
            paths = {path for text in texts for path in _PATH.findall(text)}
            if found := paths & znodes.keys() - above:
                return found
        words = _names([self._anomaly.description, *self._values()])
        return {path for path, changes in znodes.items() if _is_called(path, changes, words)}

    def _values(self) -> list[str]:
        ops = [op for call in self._calls for op in call]
        return [str(op.value) for op in ops if op is not None and op.value is not None]

    def _calls_of_the_same(self) -> list[Operation]:
        """Other calls about what the cited ones are about, and its clients' that had no end."""
        keys = {each for call in self._calls for each in _keys(call)}
        names = _names([self._anomaly.description])
        cited = {call.invoke.index for call in self._calls}
        history = self._timeline.history
        same: dict[tuple[int, str], list[Operation]] = {}
        endless = []
        for call in history.operations():
            if call.invoke.time > self._until or call.invoke.index in cited:
                continue
            client = history.caller(call)
            if any(each in keys or each.text in names for each in _keys(call)):
                same.setdefault((client, call.invoke.f), []).append(call)
            elif call.outcome == "info" and client in self._anomaly.clients:
                endless.append(call)
        found = [*endless[-2:]]
        for calls in same.values():
            calls.sort(key=lambda call: self.distance(call.invoke.time))
            found += calls[:MOST_ALIKE]
        found.sort(key=lambda call: self.distance(call.invoke.time))
        calls_of = self._timeline.calls
        at_start = [calls_of.before(each, self._start) for each in self._named_clients]
        last = [call for call in at_start if call is not None]
        makers = {each.client for each in self._changes if each.client is not None}
        for client in sorted(makers - self._named_clients):
            last += calls_of.about(client, self._start)
        every = [*last[:MOST_RELATED], *found[:MOST_RELATED], *self._calls_beside()]
        return [call for call in every if call.invoke.index not in cited]

    def _calls_beside(self) -> Iterator[Operation]:
        """What the anomaly's clients did when others changed its znodes; and when makers released.

        A client that should have noticed a change, or removed what it had made, did not then.
        """
        calls = self._timeline.calls
        yield from [made.call for made in self._standing if made.call is not None]
        near = sorted(self._changes, key=lambda change: self.distance(change.time))
        for change in near[:MOST_RELATED]:
            if change.client not in self._named_clients:
                for client in self._named_clients:
                    yield from calls.about(client, change.time)
            if change.how == "created" and change.client is not None:
                later = calls.after(change.client, change.time)
                words = self._timeline.words
                yield from [call for call in later if call.invoke.f == words.release][:1]

    def _held(self) -> set[str]:
        """Contenders' znodes that were there when it began, or had just gone: others may wait."""
        time, until = self._start, self._until
        return {
            path
            for path, changes in self._timeline.znodes.items()
            for made, gone in _lives(changes)
            if (made.owner is not None or SEQUENCE.search(path))
            and made.time <= until
            and (gone is None or gone.time >= time - BEFORE_NS // 3)
        }

    def _of_change(self, change: Change) -> StoryLine:
        name = znode_name(change.path)
        kind = "ephemeral node" if change.owner is not None else "node"
        who = f"session {change.session}" if change.client is None else f"c{change.client}"
        data = "" if not change.data else f" {change.data[:40]!r}"
        what = _HOW[change.how].format(kind=kind, name=name, data=data)
        own = change.owner == change.session or change.how in ("created", "written")
        strange = change.client not in self._anomaly.clients or not own
        if change in self._standing:
            rank = -1
        else:
            rank = 0 if strange else 2 if change.how in ("created", "written") else 1
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
        lives = _lives(self._timeline.znodes[change.path])
        maker = next((made.client for made, gone in lives if gone is change), change.client)
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

    def _inznode_name(self, call: Operation) -> StoryLine:
        invoke, done = call
        client = self._timeline.history.caller(call)
        answer = "" if done is None else _value(done)
        words = f"c{client} calls {invoke.f}{_value(invoke)}: {call.outcome}{answer}"
        return StoryLine(invoke.time, 1, words, invoke.index, client)

    def _of_watches(self) -> Iterator[StoryLine]:
        paths = {each.path for each in self._changes}
        for op in self._timeline.history.events("link", "watch"):
            value = op.value
            near = self._since <= op.time <= self._until
            if near and value["path"] in paths and value["client"] in self._clients:
                told = f"{znode_name(value['path'])} {value['event']}"
                words = f"c{value['client']} is told: {told}"
                yield StoryLine(op.time, 2, words, op.index, value["client"])

    def _of_clients(self) -> Iterator[StoryLine]:
        cited = set(self._anomaly.ops)
        history = self._timeline.history
        ends = self._ends_of_sessions()
        for op in history.events("session"):
            client = op.value.get("client")
            if (
                client in self._clients
                and op.f in _SAID_OF_SESSIONS
                and self._since <= op.time <= self._until
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
            if client not in self._named_clients:
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
            if client not in self._clients or life.closed_ms is None or not life.expired:
                continue
            time = logs.clock.monotonic(life.closed_ms)
            if self._since <= time <= self._until:
                late = (learned.get(life.session, time) - time) / 1e9
                known = f"; it learns so {late:.1f} s later" if late > 0 else ""
                words = f"servers: the session of c{client} expires{known}"
                yield StoryLine(time, 1, words, client=client)

    def _of_faults(self) -> Iterator[StoryLine]:
        records = {op.time: op.index for op in self._timeline.history.events("nemesis")}
        for fault in self._timeline.faults:
            end = self._timeline.end_of(fault)
            if end < self._since or fault.begun > self._until or not self._mattered(fault, end):
                continue
            name = f"{fault.kind} {', '.join(fault.targets)}".strip()
            how = f" ({fault.how})" if fault.how else ""
            hit = {f"c{client}" for client in self._named_clients}
            rank = 1 if hit.isdisjoint(fault.targets) else 0
            began = fault.in_force or fault.begun
            yield StoryLine(began, rank, f"fault: {name}{how}", records.get(began))
            if fault.ended is not None and fault.ended <= self._until:
                yield StoryLine(fault.ended, 3, f"healed: {name}", records.get(fault.ended))

    def _mattered(self, fault: FaultWindow, end: int) -> bool:
        """Whether a fault hit a client of the story, or a server while one was cut off."""
        targets = {f"c{client}" for client in self._clients}
        if not targets.isdisjoint(fault.targets):
            return True
        if fault.kind.startswith("client-"):
            return False
        return any(
            op.f in ("suspended", "lost")
            and op.value.get("client") in self._clients
            and fault.begun <= op.time <= end
            for op in self._timeline.history.events("session")
        )


class _About(NamedTuple):
    """What a call is about. A value is one of its key's: all votes are yes or no."""

    field: str
    key: str
    text: str


def _keys(call: Operation) -> Iterator[_About]:
    """What a call is about, by the fields of its values."""
    for op in call:
        if op is not None and isinstance(op.value, dict):
            key = str(op.value.get("key", ""))
            for field in _KEYS & op.value.keys():
                if isinstance(op.value[field], (str, int)):
                    yield _About(field, key, str(op.value[field]))


def _names(texts: Iterable[str]) -> set[str]:
    """Words that may name something: those with a digit in them."""
    words = {word for text in texts for word in _WORD.findall(text)}
    return {
        word
        for word in words
        if len(word) >= _LEAST_WORD
        and any(letter.isdigit() for letter in word)
        and not _CLIENT.fullmatch(word)
    }


def _lives(changes: Iterable[Change]) -> Iterator[tuple[Change, Change | None]]:
    """Pairs of a znode's creation and its end."""
    made: Change | None = None
    for each in changes:
        if each.how == "created":
            if made is not None:
                yield made, each
            made = each
        elif each.how != "written" and made is not None:
            yield made, each
            made = None
    if made is not None:
        yield made, None


def _is_called(path: str, changes: Iterable[Change], words: set[str]) -> bool:
    """Whether one of these words is a part of a znode's path, or all of its data."""
    if not words.isdisjoint(_WORD.findall(path)):
        return True
    texts = (each.data.decode(errors="replace") for each in changes if each.data is not None)
    return any(text in words for text in texts)


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
