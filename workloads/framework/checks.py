"""What workloads declare as their checks and needs, in words that read well there.

A check takes what a run left (``Evidence``) and says what it found, or None if it does not apply.
A need says what must have happened for a verdict to mean anything, or None likewise. Checkers are
imported when they are called: a client's process imports its workload, too, and judges nothing.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from rumpus.checker.history import History, final_phase
from rumpus.checker.verdict import CheckResult, Requirement
from rumpus.workloads.framework.judgement import Evidence

Check = Callable[[Evidence], CheckResult | None]
Need = Callable[[History, Sequence[CheckResult]], Requirement | None]

LEAST_ACTIONS = 10
"""How many actions of holders must have been accepted."""


def follows(model: str, anomaly: str, *functions: str, initial: Hashable = None) -> Check:
    """The operations follow a model.

    Args:
        model: its name (docs/models.md).
        anomaly: what it is called if they do not.
        functions: the operations that count; all that the model knows if none are named.
        initial: what the model begins with.
    """

    def check(evidence: Evidence) -> CheckResult:
        from rumpus.checker.deciders.registry import MODELS  # noqa: PLC0415 - see the module
        from rumpus.checker.every_run.model_check import check_model  # noqa: PLC0415

        entry = MODELS[model]
        asked = functions or None
        return check_model(evidence.history, entry, anomaly, functions=asked, initial=initial)

    return check


def of_history(judge: Callable[..., CheckResult], *values: Any, **more: Any) -> Check:
    """A checker that takes a history and these values."""
    return lambda evidence: judge(evidence.history, *values, **more)


def promised(anomaly: str, check: Check) -> Check:
    """A check of recipes that promise to prevent an anomaly."""

    def conditional(evidence: Evidence) -> CheckResult | None:
        return check(evidence) if anomaly in evidence.promises.prevents else None

    return conditional


def accepted_actions(history: History, _: Sequence[CheckResult]) -> Requirement:
    """That holders acted: holds in which nobody does anything say nothing."""
    return Requirement(
        "accepted actions of holders",
        LEAST_ACTIONS,
        sum(bool(op.value["accepted"]) for op in history.events("witness", "act")),
    )


def counted(number: int, stat: str, check: str, what: str) -> Need:
    """A check must have counted so many, where it applies and can be counted.

    Args:
        number: how many.
        stat: its name among the check's ``stats``.
        check: the check's name.
        what: what they are called in the report.
    """

    def need(_: History, results: Sequence[CheckResult]) -> Requirement | None:
        for result in results:
            if result.name == check and result.stats[stat] is not None:
                return Requirement(name=what, needed=number, observed=result.stats[stat])
        return None

    return need


def answered(number: int, *functions: str) -> Need:
    """So many operations of clients must have ended ok; of these functions, if any are named."""

    def need(history: History, _: Sequence[CheckResult]) -> Requirement:
        done = sum(
            op.type == "ok" and isinstance(op.process, int) and (not functions or op.f in functions)
            for op in history
        )
        return Requirement(name="operations answered", needed=number, observed=done)

    return need


def at_least(number: int, f: str | Callable[[History], int], what: str) -> Need:
    """So many operations must have ended ok.

    Args:
        number: how many.
        f: the operation; or what counts them, where not all of one operation do.
        what: what they are called in the report.
    """

    def need(history: History, _: Sequence[CheckResult]) -> Requirement:
        done = f(history) if callable(f) else sum(op.f == f and op.type == "ok" for op in history)
        return Requirement(name=what, needed=number, observed=done)

    return need


def everybody_at_the_end(f: str, keys: int, what: str) -> Need:
    """Every client must have had an answer for every key in the final phase.

    Args:
        f: the operation.
        keys: how many keys there are.
        what: what these are called in the report.
    """

    def need(history: History, _: Sequence[CheckResult]) -> Requirement:
        phase = final_phase(history)
        since = history.end + 1 if phase is None else phase.time
        answered = {
            (history.client_of(op.process), op.value["key"])
            for op in history
            if isinstance(op.process, int) and op.f == f and op.type == "ok" and op.time >= since
        }
        return Requirement(name=what, needed=keys * history.clients, observed=len(answered))

    return need
