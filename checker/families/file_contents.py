"""Contents of files with generation numbers: reads, writes, events and compare-and-swap.

Operations, per key: ``read``, ok: {key, version, data}; ``write`` {key, data, expected} and
``publish`` {key, data}, ok: {key, version}, where ``expected`` is null or the version (content
generation) that the contents must have had; ``await`` {key, version}, ok: {key, version} of the
change that the client was told of; ``add`` {child}, ok: {listed}: whether a new child of a file was
among its children after that.

Each acknowledged write tells its version, so the order of the writes is known, and comparing each
call with the highest version that any client had been told before is enough.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

GENERATION_REGRESSION = Kind(
    "generation-regression", "a generation number went back, or did not grow with a change"
)
STALE_READ = Kind(
    "stale-read", "a read returned older contents than some client had already been told"
)
LOST_UPDATE = Kind(
    "lost-update", "a write was carried out although the contents were not those it expected"
)
EARLY_EVENT = Kind("early-event", "a client was told of a change that it could not read yet")

KINDS: Final = {"read": "read", "write": "write", "publish": "write", "await": "await"}
"""Operation -> what it does to the contents."""


@dataclass(frozen=True)
class Sight:
    """An operation that told its client a version of a key. Times are nanoseconds."""

    operation: Operation
    f: str
    version: int
    called: int
    returned: int

    @property
    def told(self) -> str:
        """What was told, in words."""
        return f"generation {self.version} by a {self.f}"


@check("file contents", finds=[GENERATION_REGRESSION, STALE_READ, LOST_UPDATE, EARLY_EVENT])
def check_file_contents(timeline: Timeline) -> CheckResult:
    """Judge the versions that clients were told; O(n log n).

    - ``stale-read``: a read returned an older version than one that had been told to a reader or
      writer before it was called; or other contents than those that were written as its version;
      or a client did not find the child that it had created.
    - ``lost-update``: a compare-and-swap succeeded although the contents had another version than
      the expected one; or two writes were acknowledged as one version.
    - ``generation-regression``: a write was acknowledged as a version that is not higher than one
      told before it was called.
    - ``early-event``: a client was told of a change, and a read that was called after that did not
      show it.
    """
    history = timeline.history
    result = CheckResult(name="file contents")
    keys: dict[str, list[Sight]] = defaultdict(list)
    for operation, done in history.answered(*KINDS):
        value, called = done.value, operation.invoke.time
        keys[value["key"]].append(
            Sight(operation, KINDS[done.f], value["version"], called, done.time)
        )
    cached = 0
    for key, sights in keys.items():
        _judge_contents(history, key, sights, result)
        _judge_order(history, key, sights, result)
        cached += sum(_is_cached(sight) for sight in sights)
    result.anomalies += [
        anomaly_of(
            history,
            "stale-read",
            f"c{history.caller(operation)} created child {operation.invoke.value['child']} of a "
            f"file, and did not find it there",
            operation,
        )
        for operation, done in history.answered("add")
        if not done.value["listed"]
    ]
    every = [sight for sights in keys.values() for sight in sights]
    result.stats = {
        "reads": sum(sight.f == "read" for sight in every),
        "reads_from_cache": cached,
        "writes": sum(sight.f == "write" for sight in every),
        "compared_writes": sum(
            sight.f == "write" and sight.operation.invoke.value.get("expected") is not None
            for sight in every
        ),
        "events": sum(sight.f == "await" for sight in every),
    }
    return result


def _is_cached(sight: Sight) -> bool:
    done = sight.operation.completion
    return done is not None and bool(done.value.get("cached"))


def _judge_order(history: History, key: str, sights: list[Sight], result: CheckResult) -> None:
    events = [sight for sight in sights if sight.f == "await"]
    others = [sight for sight in sights if sight.f != "await"]
    for sight, before in _with_highest_before(others, others):
        if sight.f == "read" and sight.version < before.version:
            where = "from its cache " if _is_cached(sight) else ""
            _add(history, result, "stale-read", key, sight, before, f"read {where}")
        elif sight.f == "write" and sight.version <= before.version:
            _add(history, result, "generation-regression", key, sight, before, "wrote ")
    reads = [sight for sight in others if sight.f == "read"]
    for sight, before in _with_highest_before(reads, events):
        if sight.version < before.version:
            _add(history, result, "early-event", key, sight, before, "read ")


def _with_highest_before(
    sights: Iterable[Sight], others: Iterable[Sight]
) -> Iterator[tuple[Sight, Sight]]:
    """Each sight with the highest version of the others that was told before it was called."""
    coming = iter(sorted(others, key=lambda each: each.returned))
    following = next(coming, None)
    highest: Sight | None = None
    for sight in sorted(sights, key=lambda each: each.called):
        while following is not None and following.returned < sight.called:
            if highest is None or following.version > highest.version:
                highest = following
            following = next(coming, None)
        if highest is not None:
            yield sight, highest


def _judge_contents(history: History, key: str, sights: list[Sight], result: CheckResult) -> None:
    written: dict[int, Sight] = {}

    def wrong(kind: str, text: str, *involved: Sight) -> None:
        operations = (sight.operation for sight in involved)
        result.anomalies.append(anomaly_of(history, kind, text, *operations))

    for sight in sights:
        if sight.f != "write":
            continue
        other = written.setdefault(sight.version, sight)
        if other is not sight:
            wrong(
                "lost-update",
                f"two writes of {key} were acknowledged as generation {sight.version}",
                other,
                sight,
            )
        expected = sight.operation.invoke.value.get("expected")
        if expected is not None and sight.version != expected + 1:
            wrong(
                "lost-update",
                f"a write of {key} that expected generation {expected} was carried out as "
                f"generation {sight.version}",
                sight,
            )
    for sight in sights:
        origin = written.get(sight.version)
        if sight.f != "read" or origin is None or sight.operation.completion is None:
            continue
        data = origin.operation.invoke.value["data"]
        found = sight.operation.completion.value["data"]
        if found != data:
            wrong(
                "stale-read",
                f"generation {sight.version} of {key} was written as {data!r}, and read as "
                f"{found!r}",
                origin,
                sight,
            )


def _add(
    history: History,
    result: CheckResult,
    kind: str,
    key: str,
    sight: Sight,
    before: Sight,
    did: str,
) -> None:
    caller: Callable[[Operation], int] = history.caller
    result.anomalies.append(
        anomaly_of(
            history,
            kind,
            f"c{caller(sight.operation)} {did}generation {sight.version} of {key} in a call at "
            f"{at(history, sight.called)}, although c{caller(before.operation)} had been told "
            f"{before.told} at {at(history, before.returned)}",
            before.operation,
            sight.operation,
        )
    )
