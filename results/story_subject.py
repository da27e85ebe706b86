"""What an anomaly is about: its calls, its clients, and the znodes that it was about.

- Its calls are those that it cites; others are about the same key, or are what its clients did
  meanwhile.
- Its znodes are those that its words or its calls name (a zxid, a path, an element, the key of a
  transaction). If they name none, the znodes of contenders that were there or had just gone: its
  clients may have waited for them. If there were none of these either, those that its clients
  changed: a lock may be a name in a persistent znode.
- Whoever changed one of these znodes is one of its clients, though it may not name that client.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rumpus.checker.history import Operation
from rumpus.checker.timeline.changes import SLACK_NS, Change
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly
from rumpus.results.wording import SEQUENCE

BEFORE_NS: Final = 3_000_000_000
"""How long before an anomaly, and before its znodes were made, the story begins."""

MOST_ZNODES: Final = 6
MOST_WRITES: Final = 4
"""How many changes of a znode's data are told."""

LIVES: Final = 3
"""How many lives of a znode that is made again and again are told."""

MOST_RELATED: Final = 5
MOST_ALIKE: Final = 2
"""How many calls of one operation by one client are told because they are about the same."""

_KEYS: Final = frozenset({"key", "value", "token", "epoch", "element", "node", "job"})
"""Fields of values that say what an operation is about."""

_PATH: Final = re.compile(r"/[^\s,;:'\"()\[\]]+")
_SESSION: Final = re.compile(r"session (0x[0-9a-f]+)")
_ZXID: Final = re.compile(r"zxid 0x([0-9a-f]+)")
_WORD: Final = re.compile(r"[A-Za-z0-9_.-]+")
_CLIENT: Final = re.compile(r"c\d+")
_LEAST_WORD: Final = 2
"""Letters of a word that may name a znode: shorter ones are in too many names."""


class Subject:
    """What one anomaly is about.

    Args:
        timeline: the run.
        anomaly: one of its anomalies.

    Attributes:
        anomaly: the anomaly.
        calls: those that it cites.
        related: other calls that have to do with it.
        changes: what happened to its znodes until it was over.
        standing: creations of those of its znodes that were there, as they were, all the time.
        named_clients: those that it names.
        clients: these, and whoever changed its znodes.
        since: when its story begins (ns on the run's clock).
        until: when it was over.
    """

    def __init__(self, timeline: Timeline, anomaly: Anomaly) -> None:
        self._timeline = timeline
        self.anomaly = anomaly
        history = timeline.history
        cited = set(anomaly.ops)
        self.calls = [each for each in history.operations() if not cited.isdisjoint(each.indices)]
        self._start, self.until = anomaly.start, max(anomaly.start, anomaly.end)
        self._at_zxids = self._changes_named()
        if self._at_zxids and anomaly.start <= history.start:  # it has no time of its own
            times = [each.time for each in self._at_zxids]
            self._start, self.until = min(times), max(times)
        owners = history.clients_of_sessions()
        sessions = {each for each in _SESSION.findall(anomaly.description) if each in owners}
        self.named_clients = {*anomaly.clients, *(owners[each] for each in sessions)}
        self.clients = {*self.named_clients, *map(history.caller, self.calls)}
        self.changes = self._contested()
        written = {each.path for each in self.changes if each.how == "written"}
        self.standing = [
            made
            for path in sorted({each.path for each in self.changes} - written)
            for made, gone in lives(self._timeline.znodes[path])
            if self._stood(made, gone)
        ]
        self.related = self._calls_of_the_same()
        self.clients |= {each.client for each in self.changes if each.client is not None}
        begun = [self._start, *(call.invoke.time for call in self.calls)]
        begun += [made.time for made in self.standing]
        self.since = min(begun) - BEFORE_NS

    def distance(self, time: int) -> int:
        """How far a time is from the anomaly's beginning or end."""
        return min(abs(time - self._start), abs(time - self.until))

    def _contested(self) -> list[Change]:
        """What happened to the znodes that the anomaly is about, until it was over."""
        znodes = self._timeline.znodes
        paths = (
            {each.path for each in self._at_zxids}
            or self._named()
            or self._held()
            or self._changed()
        )
        found: list[Change] = []
        for path in sorted(paths, key=self._likely)[:MOST_ZNODES]:
            changes = [each for each in znodes[path] if each.time <= self.until + SLACK_NS]
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
        own = all(each.client in self.named_clients for each in changes)
        stood = any(self._stood(*life) for life in lives(changes))
        return not stood, own, min(self.distance(each.time) for each in changes), path

    def _stood(self, made: Change, gone: Change | None) -> bool:
        """Whether a znode was there from before an anomaly that lasted until it was over."""
        lasted = self._start < self.until
        return lasted and made.time < self._start and (gone is None or gone.time >= self.until)

    def _changes_named(self) -> list[Change]:
        """The changes whose zxids its words name."""
        zxids = {int(zxid, 16) for zxid in _ZXID.findall(self.anomaly.description)}
        if not zxids:
            return []
        every = self._timeline.znodes.values()
        return [each for changes in every for each in changes if each.zxid in zxids]

    def _named(self) -> set[str]:
        """The znodes that its words name, else those that the values of its calls name."""
        znodes = self._timeline.znodes
        above = {path for path in znodes if f"{self._timeline.path}/".startswith(f"{path}/")}
        for texts in ([self.anomaly.description], self._values()):
            paths = {path for text in texts for path in _PATH.findall(text)}
            if found := paths & znodes.keys() - above:
                return found
        words = _names([self.anomaly.description, *self._values()])
        return {path for path, changes in znodes.items() if _is_called(path, changes, words)}

    def _values(self) -> list[str]:
        ops = [op for call in self.calls for op in call]
        return [str(op.value) for op in ops if op is not None and op.value is not None]

    def _calls_of_the_same(self) -> list[Operation]:
        """Other calls about what the cited ones are about, and its clients' that had no end."""
        keys = {each for call in self.calls for each in _keys(call)}
        names = _names([self.anomaly.description])
        cited = {call.invoke.index for call in self.calls}
        history = self._timeline.history
        same: dict[tuple[int, str], list[Operation]] = {}
        endless = []
        for call in history.operations():
            if call.invoke.time > self.until or call.invoke.index in cited:
                continue
            client = history.caller(call)
            if any(each in keys or each.text in names for each in _keys(call)):
                same.setdefault((client, call.invoke.f), []).append(call)
            elif call.outcome == "info" and client in self.anomaly.clients:
                endless.append(call)
        found = [*endless[-2:]]
        for calls in same.values():
            calls.sort(key=lambda call: self.distance(call.invoke.time))
            found += calls[:MOST_ALIKE]
        found.sort(key=lambda call: self.distance(call.invoke.time))
        calls_of = self._timeline.calls
        at_start = [calls_of.before(each, self._start) for each in self.named_clients]
        last = [call for call in at_start if call is not None]
        makers = {each.client for each in self.changes if each.client is not None}
        for client in sorted(makers - self.named_clients):
            last += calls_of.about(client, self._start)
        every = [*last[:MOST_RELATED], *found[:MOST_RELATED], *self._calls_beside()]
        return [call for call in every if call.invoke.index not in cited]

    def _calls_beside(self) -> Iterator[Operation]:
        """What the anomaly's clients did when others changed its znodes; and when makers released.

        A client that should have noticed a change, or removed what it had made, did not then.
        """
        calls = self._timeline.calls
        yield from [made.call for made in self.standing if made.call is not None]
        near = sorted(self.changes, key=lambda change: self.distance(change.time))
        for change in near[:MOST_RELATED]:
            if change.client not in self.named_clients:
                for client in self.named_clients:
                    yield from calls.about(client, change.time)
            if change.how == "created" and change.client is not None:
                later = calls.after(change.client, change.time)
                words = self._timeline.words
                yield from [call for call in later if call.invoke.f == words.release][:1]

    def _changed(self) -> set[str]:
        """Znodes that its clients changed shortly before it, or while it lasted."""
        since = self._start - BEFORE_NS
        return {
            path
            for path, changes in self._timeline.znodes.items()
            if any(
                each.client in self.named_clients and since <= each.time <= self.until
                for each in changes
            )
        }

    def _held(self) -> set[str]:
        """Contenders' znodes that were there when it began, or had just gone: others may wait."""
        time, until = self._start, self.until
        return {
            path
            for path, changes in self._timeline.znodes.items()
            for made, gone in lives(changes)
            if (made.owner is not None or SEQUENCE.search(path))
            and made.time <= until
            and (gone is None or gone.time >= time - BEFORE_NS // 3)
        }


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


def lives(changes: Iterable[Change]) -> Iterator[tuple[Change, Change | None]]:
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
