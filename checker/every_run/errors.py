"""Errors that a recipe raises and that no caller expects, and what the servers do not know.

An exception that escapes from a recipe's call ends the client's session, and the outcome is
unknown. kazoo's exceptions are part of what a caller must expect, and so are a package's own. An
``IndexError`` or the like is not: it tells of a mistake in the program. Nor are those of kazoo by
which a server refuses one request for certain (``ANSWERS``). A recipe knows what its znodes are
for; its callers do not, and would have to take the outcome for unknown.

A server that does not know an operation refuses it and closes the connection
(``UnimplementedError``): then the recipe needs a newer server, and nothing is learned about its
promises. A recipe may keep that error to itself, so the links note the refusal, too.

A recipe's own thread that ends by such a mistake has done less than the recipe thinks, and nobody
is told. So that is the same anomaly.

A client library can fail, too: kazoo's connection ends for good with the thread that serves it. The
program is told that the session is lost, and is never connected again. No recipe promises that its
library is sound, so that is a hazard.
"""

import builtins
from collections import Counter
from typing import Final

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.history import History, Op
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

UNEXPECTED_ERROR = Kind(
    "unexpected-error",
    "a call raised an error that is a mistake of the program, or one has ended a thread",
)

DEAD_CLIENT = Kind(
    "dead-client", "a client's library ended its connection for good, and nobody had asked it to"
)

MISTAKES: Final = frozenset(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type)
    and issubclass(kind, Exception)
    and not issubclass(kind, (OSError, Warning, StopIteration, StopAsyncIteration))
)
"""Names of exceptions that are mistakes of a program; I/O errors and timeouts are not."""

ANSWERS: Final = frozenset(
    {
        "CancelledError", "InvalidACLError", "NoChildrenForEphemeralsError", "NoNodeError",
        "NodeExistsError", "NotEmptyError", "RolledBackError",
    }
)  # fmt: skip
"""Errors of kazoo that are a server's answer to a request, and not the lack of one; and that a call
was cancelled, which it was not: of one that was, the operation says so. ``BadVersionError`` is not
among them: it says that others wrote meanwhile, which callers may have to be told."""

MOST_SHOWN: Final = 10
"""How many anomalies are reported for one kind of exception of one operation."""


UNIMPLEMENTED: Final = "UnimplementedError"
"""kazoo's exception for the code -6, the answer to an operation that the server does not know."""


def unimplemented(history: History) -> str | None:
    """Which client made a request that the servers do not know, in words; None if none did."""
    unknown = "a request that the servers do not know: the recipe needs a newer ZooKeeper"
    for operation in history.operations():
        call, done = operation
        error = done.error if done is not None else None
        if error is not None and error.partition(":")[0] == UNIMPLEMENTED:
            return f"c{history.caller(operation)}'s {call.f} made {unknown}"
    for op in history.events("link", "requests"):
        if op.value.get("unimplemented"):
            return f"c{op.value['client']} made {unknown}"
    return None


@check("errors", finds=[UNEXPECTED_ERROR, DEAD_CLIENT])
def check_errors(timeline: Timeline) -> CheckResult:
    """Report operations and threads that a mistake of the program has ended, and failed libraries.

    Exceptions are counted by their type: their texts often vary (paths, identifiers). Each count
    stands with the first text.
    """
    history = timeline.history
    result = CheckResult(name="errors")
    seen: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for operation in history.operations():
        call, done = operation
        error = done.error if done is not None else None
        kind = (error or "").partition(":")[0]
        mistaken = done is not None and done.type == "info" and kind in MISTAKES
        if error is None or not (mistaken or kind in ANSWERS):
            continue
        group = call.f, kind
        seen[group] += 1
        examples.setdefault(group, error)
        if seen[group] <= MOST_SHOWN:
            result.anomalies.append(
                anomaly_of(
                    history,
                    "unexpected-error",
                    f"c{history.caller(operation)}'s {call.f} raised {error}",
                    operation,
                )
            )
    for op in history.events("session", "thread-ended"):
        error = str(op.value.get("error", ""))
        kind = error.partition(":")[0]
        if kind not in MISTAKES:
            continue
        group = "thread", kind
        seen[group] += 1
        examples.setdefault(group, error)
        if seen[group] <= MOST_SHOWN:
            result.anomalies.append(_of_thread(history, op, error))
    result.stats = {
        f"{f}: {kind}": {"count": count, "example": examples[f, kind]}
        for (f, kind), count in seen.items()
    }
    result.anomalies += [
        Anomaly(
            kind=DEAD_CLIENT.name,
            description=(
                f"c{op.value['client']}'s kazoo closed its connection for good at "
                f"{at(history, op.time)}, and nobody had stopped it"
            ),
            ops=[op.index],
            clients=[op.value["client"]],
            start=op.time,
            end=op.time,
        )
        for op in history.events("session", "lost")
        if op.value.get("dead")
    ]
    return result


def _of_thread(history: History, op: Op, error: str) -> Anomaly:
    return Anomaly(
        kind=UNEXPECTED_ERROR.name,
        description=(
            f"{error} has ended a thread of c{op.value['client']} at {at(history, op.time)}, in "
            f"{op.value.get('of', '')}: nobody caught it"
        ),
        ops=[op.index],
        clients=[op.value["client"]],
        start=op.time,
        end=op.time,
    )
