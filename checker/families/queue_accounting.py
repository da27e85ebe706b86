"""What became of each element of a queue: none lost, none delivered twice, none never enqueued.

Operations: ``enqueue`` {value}; ``dequeue`` -> {value}, null where there was nothing; where
consumers claim elements first also ``acknowledge`` and ``release`` {value} of what the client
has dequeued. A dequeue of unknown outcome names the element that it may have taken, if its client
knows. Every value is put in once. ``enqueue-all`` {values} puts several, all or none of them.

**At most once** (elements are removed when they are taken): an element may come out once, and is
lost if it was put, is not there at the end, and came out to no client. A dequeue of unknown outcome
that names no element (its client was killed, say) may have taken one: the servers' logs tell which
client removed an element, and without them each such dequeue excuses one loss.

**At least once** (elements are claimed, and removed when they are acknowledged): an element may
come out again until it is acknowledged. A client that acknowledges one has held its claim ever
since it came out, so it must not have come out to another client in between, nor later. It is lost
if it is not there at the end and no client acknowledged it, or may have.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec.structs import replace

from rumpus.checker.families.batches import each_put_alone, put_with_others
from rumpus.checker.history import History, Op, Operation
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

LOST_ELEMENT = Kind("lost-element", "an element whose put was acknowledged never came out")
DUPLICATE_ELEMENT = Kind("duplicate-element", "an element came out twice")
PHANTOM_ELEMENT = Kind("phantom-element", "an element came out that no client had put in")
OUT_OF_ORDER = Kind("out-of-order", "an element came out although another had to come first")

SLACK_NS = 5_000_000_000
"""How long after its client's death a request that was on its way may still be carried out."""


@dataclass(eq=False)
class Element:
    """One element's operations, each list in order of call.

    ``takes`` gave it to somebody, ``doubtful`` dequeues may have; ``done`` acknowledgements were
    acknowledged themselves, ``maybe_done`` may have been carried out.
    """

    value: Any
    put: Operation | None = None
    takes: list[Operation] = field(default_factory=list)
    doubtful: list[Operation] = field(default_factory=list)
    done: list[Operation] = field(default_factory=list)
    maybe_done: list[Operation] = field(default_factory=list)

    @property
    def inside(self) -> bool:
        """Whether it was put for certain."""
        return self.put is not None and self.put.outcome == "ok"

    @property
    def awaited(self) -> bool:
        """Whether it came out to somebody who had asked before it was put."""
        put = self.put
        return put is not None and any(take.invoke.time < put.invoke.time for take in self.takes)


@dataclass(eq=False)
class Accounts:
    """All elements by value, and the dequeues of unknown outcome that name none."""

    elements: dict[Any, Element]
    nameless: list[Operation]


class Removal(NamedTuple):
    """The removal of an element's node by a client; ``time`` in nanoseconds."""

    client: int
    time: int


def accounts(history: History) -> Accounts:
    """Sort a history's operations by elements. Linear in the number of records."""
    elements: dict[Any, Element] = {}
    nameless: list[Operation] = []
    for operation in each_put_alone(history).operations():
        f, outcome = operation.invoke.f, operation.outcome
        if f == "enqueue":
            value = operation.invoke.value["value"]
            elements.setdefault(value, Element(value)).put = operation
        elif f == "dequeue" and outcome != "fail":
            value = taken(operation)
            if value is not None:
                element = elements.setdefault(value, Element(value))
                (element.takes if outcome == "ok" else element.doubtful).append(operation)
            elif outcome == "info":
                nameless.append(operation)
        elif f == "acknowledge" and outcome != "fail":
            element = elements.setdefault(operation.invoke.value["value"], Element(None))
            (element.done if outcome == "ok" else element.maybe_done).append(operation)
    return Accounts(elements, nameless)


def count_awaited(history: History) -> int:
    """How many elements came out to somebody who had asked before they were put."""
    return sum(element.awaited for element in accounts(history).elements.values())


def taken(operation: Operation) -> Any:
    """What a dequeue took, or may have; None if nothing, or nobody knows what."""
    completion = operation.completion
    return (completion.value or {}).get("value") if completion is not None else None


def judge_elements(
    history: History,
    books: Accounts,
    *,
    claimed: bool,
    left: Collection[Any] | None,
    removals: Mapping[Any, Removal] | None = None,
) -> CheckResult:
    """Judge what became of each element.

    Args:
        history: the run.
        books: its accounts.
        claimed: whether elements are claimed first and acknowledged.
        left: values of the elements still in the queue at the end; None if that is not asked or
            nobody could look: then nothing is said to be lost.
        removals: who removed which element; None when the servers' logs are not at hand.
    """
    result = CheckResult(name="elements")
    for element in books.elements.values():
        result.anomalies += _phantom(history, element)
        result.anomalies += _twice(history, element, claimed=claimed)
    if left is not None:
        elements = books.elements
        others = put_with_others(
            {value: each.put for value, each in elements.items() if each.put is not None},
            {value for value, each in elements.items() if each.takes or value in left},
        )
        lost = [
            element
            for element in elements.values()
            if (element.inside or element.value in others)
            and element.value not in left
            and not _gone(element, claimed=claimed)
        ]
        if not claimed:
            lost = _without_excuse(history, lost, books.nameless, removals)
        result.anomalies += [
            _lost(history, element, others.get(element.value), claimed=claimed) for element in lost
        ]
    result.stats = {
        "put": sum(element.inside for element in books.elements.values()),
        "came out": sum(bool(element.takes) for element in books.elements.values()),
        "came out again": sum(len(element.takes) > 1 for element in books.elements.values()),
        "left": len(left) if left is not None else None,
    }
    return result


def _phantom(history: History, element: Element) -> Iterable[Anomaly]:
    put = element.put
    for take in element.takes:
        if put is None:
            why = "although no client had put it in"
        elif put.outcome == "fail":
            why = f"although c{history.caller(put)}'s put of it had failed"
        elif take.done.time < put.invoke.time:
            why = f"before c{history.caller(put)} called its put"
        else:
            continue
        whom = f"{element.value!r} came out to c{history.caller(take)}"
        yield _anomaly(history, "phantom-element", f"{whom} {why}", [take])


def _twice(history: History, element: Element, *, claimed: bool) -> Iterable[Anomaly]:
    """Deliveries of one element that cannot all be right."""
    takes = element.takes
    if not claimed:
        wrong, why = (takes, "") if len(takes) > 1 else ([], "")
    else:
        wrong, why = _acknowledged_and_out(history, element)
    if wrong:
        came = Counter(history.caller(take) for take in wrong if take.invoke.f == "dequeue")
        whom = " and ".join(
            f"c{client}" + (f" ({times} times)" if times > 1 else "")
            for client, times in came.items()
        )
        yield _anomaly(
            history, "duplicate-element", f"{element.value!r} came out to {whom}{why}", wrong
        )


def _acknowledged_and_out(history: History, element: Element) -> tuple[list[Operation], str]:
    """An acknowledgement, and times that the element came out after its claim, or its end."""
    for done in element.done:
        client = history.caller(done)
        own = [
            take
            for take in element.takes
            if history.caller(take) == client and take.done.time <= done.invoke.time
        ][-1:]
        since = (own[0] if own else done).done.time
        others = [take for take in element.takes if take.invoke.time > since]
        if others:
            why = f", although c{client} had claimed it until it acknowledged it"
            return [*own, done, *others], why
    if len(element.done) > 1:
        return [*element.takes, *element.done], ", and was acknowledged more than once"
    return [], ""


def _gone(element: Element, *, claimed: bool) -> bool:
    """Whether it came to its end, or may have, as far as its own operations tell."""
    if claimed:
        return bool(element.done or element.maybe_done)
    return bool(element.takes or element.doubtful)


def _without_excuse(
    history: History,
    missing: list[Element],
    nameless: list[Operation],
    removals: Mapping[Any, Removal] | None,
) -> list[Element]:
    """Those that no dequeue of unknown outcome can have taken."""
    if removals is None:
        return missing[len(nameless) :]
    return [
        element
        for element in missing
        if (removal := removals.get(element.value)) is None
        or not any(_can_have_done(history, take, removal) for take in nameless)
    ]


def _can_have_done(history: History, take: Operation, removal: Removal) -> bool:
    ended = take.completion.time if take.completion is not None else history.end
    return (
        history.caller(take) == removal.client
        and take.invoke.time - SLACK_NS <= removal.time <= ended + SLACK_NS
    )


def _lost(history: History, element: Element, other: Any, *, claimed: bool) -> Anomaly:
    put = element.put
    assert put is not None
    words = f"c{history.caller(put)}'s put of {element.value!r} was acknowledged"
    if other is not None:
        words = f"c{history.caller(put)} put {element.value!r} in one call with {other!r}"
        words += ", which was there"
    if not claimed:
        words += ", it never came out, and it is not in the queue"
    else:
        times = f"came out {len(element.takes)} times" if element.takes else "never came out"
        words += f", it {times}, no client acknowledged it, and it is not in the queue"
    return _anomaly(history, "lost-element", words, [put, *element.takes])


def first_claims(history: History, books: Accounts) -> History:
    """A history of a queue without claims: each element comes out when it was first claimed.

    If its first claim may have been one that got no answer, its dequeue begins with that. So an
    element that came out late for this reason does not look overtaken.
    """
    ops: list[Op] = []
    for number, element in enumerate(books.elements.values()):
        put = element.put
        if put is None or put.outcome == "fail" or not element.takes:
            continue
        process = history.clients * number
        _append(ops, put, process + history.caller(put), put.invoke.time)
        first = min(element.takes, key=lambda each: each.done.time)
        called = min(take.invoke.time for take in [*element.takes, *element.doubtful])
        for take in books.nameless:
            if take.invoke.time < first.invoke.time and put.invoke.time < _ended(history, take):
                called = min(called, max(take.invoke.time, put.invoke.time))
        _append(ops, first, process + history.clients * len(books.elements), called)
    return History(ops, clients=history.clients)


def blamed(history: History, result: CheckResult) -> set[Any]:
    """The elements of anomalies that were found, and those that were put in one call with them."""
    told = {index for anomaly in result.anomalies for index in anomaly.ops}
    return {
        _about(operation)
        for operation in history.operations()
        if told.intersection(operation.indices)
    }


def without(history: History, values: Collection[Any]) -> History:
    """A history without some elements' operations, which are accounted for elsewhere."""
    # Puts of one batch have the same indices (`each_put_alone`), and processes of their own.
    dropped = {
        (op.index, op.process)
        for operation in history.operations()
        if (about := _about(operation)) is not None and about in values
        for op in operation
        if op is not None
    }
    kept = (op for op in history if (op.index, op.process) not in dropped)
    return History(kept, clients=history.clients)


def _about(operation: Operation) -> Any:
    """The element that an operation is about, None if there is none."""
    if operation.invoke.f == "dequeue":
        return taken(operation)
    value = operation.invoke.value
    return value.get("value") if isinstance(value, dict) else None


def _append(ops: list[Op], operation: Operation, process: int, called: int) -> None:
    call, done = operation
    ops.append(replace(call, process=process, time=called))
    if done is not None:
        ops.append(replace(done, process=process))


def _ended(history: History, operation: Operation) -> int:
    return operation.completion.time if operation.completion is not None else history.end


def _anomaly(
    history: History, kind: str, description: str, operations: Iterable[Operation]
) -> Anomaly:
    operations = list(operations)
    return Anomaly(
        kind=kind,
        description=description,
        ops=sorted(index for operation in operations for index in operation.indices),
        clients=sorted({history.caller(operation) for operation in operations}),
        start=min(operation.invoke.time for operation in operations),
        end=max(_ended(history, operation) for operation in operations),
    )
