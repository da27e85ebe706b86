"""Errors that a recipe raises and that no caller expects: mistakes of its program.

An exception that escapes from a recipe's call ends the client's session, and the outcome is
unknown. kazoo's exceptions are part of what a caller must expect, and so are a package's own. An
``IndexError`` or the like is not: it tells of a mistake in the program.
"""

import builtins
from collections import Counter
from typing import Final

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.history import History
from rumpus.checker.verdict import CheckResult

MISTAKES: Final = frozenset(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type)
    and issubclass(kind, Exception)
    and not issubclass(kind, (OSError, Warning, StopIteration, StopAsyncIteration))
)
"""Names of exceptions that are mistakes of a program; I/O errors and timeouts are not."""

MOST_SHOWN: Final = 10
"""How many anomalies are reported for one error of one operation."""


def check_errors(history: History) -> CheckResult:
    """Report operations that ended with an exception that is a mistake of the program."""
    result = CheckResult(name="errors")
    seen: Counter[tuple[str, str]] = Counter()
    for operation in history.operations():
        call, done = operation
        error = done.error if done is not None and done.type == "info" else None
        if error is None or error.partition(":")[0] not in MISTAKES:
            continue
        seen[call.f, error] += 1
        if seen[call.f, error] <= MOST_SHOWN:
            result.anomalies.append(
                anomaly_of(
                    history,
                    "unexpected-error",
                    f"c{history.caller(operation)}'s {call.f} raised {error}",
                    operation,
                )
            )
    result.stats = {f"{f}: {error}": count for (f, error), count in seen.items()}
    return result
