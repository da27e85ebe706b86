"""Generation numbers of files and locks: none of them ever goes back, and holds have new ones.

Operations: ``stat`` {key}, ok: {key, instance, content, lock, acl}; ``recreate``, ok: {key,
instance} of the new file; ``set-acl`` {key}, ok: {key, instance, generation}; and grants of a lock,
which have a ``generation``.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.families.file_contents import GENERATION_REGRESSION
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.holds import Hold
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult

Number = tuple[int, ...]
"""A generation number; with the instance in front of those that begin anew with each instance."""


@check("generation numbers", finds=[GENERATION_REGRESSION])
def check_generation_numbers(timeline: Timeline) -> CheckResult:
    """Judge the generation numbers that calls returned (``generation-regression``); O(n log n).

    - A call that was made after another's return is not told a lower number. A change of the access
      control list, and the creation of a file, get a higher one.
    - Exclusive holds have different lock generations, in the order of their znodes' czxids: a
      holder ahead in the queue held it earlier.
    """
    history, holds = timeline.history, timeline.holds
    result = CheckResult(name="generation numbers")
    told: dict[tuple[str, str], list[tuple[Operation, Number, bool]]] = {}

    def tell(operation: Operation, key: str, what: str, number: Number, *, new: bool) -> None:
        told.setdefault((key, what), []).append((operation, number, new))

    for operation, done in history.answered("stat", "recreate", "set-acl"):
        value: Any = done.value
        if done.f == "stat":
            key, instance = value["key"], value["instance"]
            tell(operation, key, "instance", (instance,), new=False)
            tell(operation, key, "lock", (value["lock"],), new=False)
            for what in ("content", "acl"):
                tell(operation, key, what, (instance, value[what]), new=False)
        elif done.f == "recreate":
            tell(operation, value["key"], "instance", (value["instance"],), new=True)
        else:
            number = value["instance"], value["generation"]
            tell(operation, value["key"], "acl", number, new=True)
    for (key, what), numbers in told.items():
        result.anomalies += _regressions(history, f"{what} generation of {key}".rstrip(), numbers)
    generations = _generations(history, holds)
    result.anomalies += _repeated(history, generations)
    result.stats = {
        "stats": sum(len(numbers) for (_, what), numbers in told.items() if what == "lock"),
        "exclusive_holds": len(generations),
    }
    return result


def _regressions(
    history: History, name: str, numbers: Iterable[tuple[Operation, Number, bool]]
) -> list[Anomaly]:
    found = []
    ended: Callable[[tuple[Operation, Number, bool]], int] = lambda each: each[0].done.time  # noqa: E731
    coming = sorted(numbers, key=ended, reverse=True)
    highest: tuple[Operation, Number] | None = None
    for operation, number, new in sorted(numbers, key=lambda each: each[0].invoke.time):
        while coming and coming[-1][0].done.time < operation.invoke.time:
            before, earlier, _ = coming.pop()
            if highest is None or earlier > highest[1]:
                highest = before, earlier
        if highest is None or number > highest[1] or (number == highest[1] and not new):
            continue
        found.append(
            anomaly_of(
                history,
                "generation-regression",
                f"the {name} was {number[-1]} in a call at "
                f"{at(history, operation.invoke.time)}, after it had been {highest[1][-1]}",
                highest[0],
                operation,
            )
        )
    return found


def _generations(history: History, holds: Sequence[Hold]) -> list[tuple[Hold, int]]:
    """Each exclusive hold that told its token and its lock generation, in order of the tokens."""
    grants = {
        done.index: done.value["generation"]
        for _, done in history.answered()
        if isinstance(done.value, dict) and done.value.get("generation") is not None
    }
    found = [
        (hold, grants[hold.ops[1]])
        for hold in holds
        if not hold.shared and hold.token is not None and hold.ops[1] in grants
    ]
    return sorted(found, key=lambda each: each[0].token or 0)


def _repeated(history: History, generations: Sequence[tuple[Hold, int]]) -> list[Anomaly]:
    return [
        Anomaly(
            kind="generation-regression",
            description=(
                f"c{later.client} was granted the lock at {at(history, later.granted)} with lock "
                f"generation {second}, after c{earlier.client} had held it with {first}"
            ),
            ops=sorted({*earlier.ops, *later.ops}),
            clients=sorted({earlier.client, later.client}),
            start=earlier.granted,
            end=later.granted,
        )
        for (earlier, first), (later, second) in pairwise(generations)
        if second <= first
    ]
