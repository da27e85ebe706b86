"""Functions that make the checks and needs which workloads declare.

A check (``checker.check``) is a function of a run's timeline: it gives what it found, or None if it
does not apply. A need returns what must have happened for the verdict to mean anything, or None if
it does not apply. What is heavy is imported only when they are called: a client's process imports
its workload, too, but judges nothing.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rumpus.checker.check import Check, Declaration, declaration
from rumpus.checker.history import History, Op, final_phase
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind, Requirement
from rumpus.workloads.own.references import referred

if TYPE_CHECKING:
    from rumpus.checker.models.model import Model

Need = Callable[[History, Sequence[CheckResult]], Requirement | None]

LEAST_ACTIONS = 10
"""How many actions of holders the witness must have accepted."""


def follows(
    model: "str | type[Model]",
    anomaly: Kind | str,
    *functions: str,
    initial: Hashable = None,
    seen_as: Callable[[History], History] | None = None,
) -> Check:
    """A check that the operations follow a model.

    Args:
        model: the model's name (docs/reference/models.md), ``package.module:Class``, or the class.
        anomaly: the kind of anomaly that is reported if they do not, or its name.
        functions: the operations to check; all that the model knows if none are named.
        initial: the model's initial state.
        seen_as: rewrites the history into operations of the model.
    """
    name = anomaly.name if isinstance(anomaly, Kind) else anomaly

    def check(timeline: Timeline) -> CheckResult:
        from rumpus.checker.deciders.registry import MODELS  # noqa: PLC0415 - heavy: see the module
        from rumpus.checker.every_run.model_check import check_model  # noqa: PLC0415

        known = model if not isinstance(model, str) or model in MODELS else referred(model)
        if seen_as is not None:
            timeline = replace(timeline, history=seen_as(timeline.history))
        return check_model(timeline, known, name, functions=functions or None, initial=initial)

    finds = (anomaly,) if isinstance(anomaly, Kind) else ()
    check.__dict__["declared"] = Declaration("", finds)
    return check


def of_history(judge: Callable[..., Any], *values: Any, **more: Any) -> Check:
    """A check that calls a function with the history and these values.

    A declared check (``checker.check``) is called with the timeline and these values.
    """

    def check(timeline: Timeline) -> CheckResult | Iterable[Anomaly] | None:
        declared = declaration(judge).name
        found: CheckResult | Iterable[Anomaly] | None = judge(
            timeline if declared else timeline.history, *values, **more
        )
        return found

    check.__module__ = judge.__module__  # whose it is: see `is_own`
    check.__dict__["declared"] = declaration(judge)
    return check


def promised(anomaly: str, check: Check) -> Check:
    """A check that applies only to recipes that promise to prevent the anomaly."""

    def conditional(timeline: Timeline) -> CheckResult | Iterable[Anomaly] | None:
        return check(timeline) if anomaly in timeline.promises.prevents else None

    conditional.__module__ = check.__module__
    conditional.__dict__["declared"] = declaration(check)
    return conditional


def is_own(made: Any) -> bool:
    """Whether a class or function is one of another repository, not of rumpus."""
    function = made
    while isinstance(function, partial):
        function = function.func
    module = str(getattr(function, "__module__", ""))
    return module != "rumpus" and not module.startswith("rumpus.")


def accepted_actions(history: History, _: Sequence[CheckResult]) -> Requirement:
    """Holders must have acted: a hold without any action cannot show a violation."""
    return Requirement(
        "accepted actions of holders",
        LEAST_ACTIONS,
        sum(bool(op.value["accepted"]) for op in history.events("witness", "act")),
    )


def stats_of(results: Sequence[CheckResult], check: str) -> dict[str, Any]:
    """The counts (``stats``) of the check with this name."""
    return next(result.stats for result in results if result.name == check)


def counted(number: int, stat: str, check: str, what: str) -> Need:
    """A check's count must reach a number; no need if the check did not apply or could not count.

    Args:
        number: the least count.
        stat: the count's name among the check's ``stats``; its value is None if it is unknown.
        check: the check's name.
        what: what the counted things are called in the report.
    """

    def need(_: History, results: Sequence[CheckResult]) -> Requirement | None:
        for result in results:
            if result.name == check and result.stats[stat] is not None:
                return Requirement(name=what, needed=number, observed=result.stats[stat])
        return None

    return need


def answered(number: int) -> Need:
    """This many operations of clients must have ended ok."""

    def count(history: History) -> int:
        return sum(op.type == "ok" and isinstance(op.process, int) for op in history)

    return at_least(number, count, "operations answered")


def at_least(number: int, f: str | Callable[[History], int], what: str) -> Need:
    """This many operations must have ended ok.

    Args:
        number: the least number.
        f: the operation; or a function that counts, where not every such operation counts.
        what: what the operations are called in the report.
    """

    def need(history: History, _: Sequence[CheckResult]) -> Requirement:
        done = f(history) if callable(f) else sum(op.f == f and op.type == "ok" for op in history)
        return Requirement(name=what, needed=number, observed=done)

    return need


def everybody_at_the_end(f: str, keys: int, what: str) -> Need:
    """Every client must have had an answer for every key in the final phase.

    Args:
        f: the operation; the key is what its calls give for the parameter ``key``.
        keys: how many keys there are; 1 if calls have no key.
        what: what these answers are called in the report.

    Raises:
        ValueError: ``keys`` is less than 1; or, when a history is judged, calls have no key though
            there is more than one.
    """
    if keys < 1:
        raise ValueError(f"everybody_at_the_end({f!r}, keys={keys}): there is at least 1 key")

    def need(history: History, _: Sequence[CheckResult]) -> Requirement:
        phase = final_phase(history)
        since = history.end + 1 if phase is None else phase.time
        answered = {
            (history.client_of(call.process), _key_of(call, keys))
            for call, done in history.operations()
            if call.f == f and isinstance(call.process, int)
            if done is not None and done.type == "ok" and done.time >= since
        }
        return Requirement(name=what, needed=keys * history.clients, observed=len(answered))

    return need


def _key_of(call: Op, keys: int) -> Any:
    """The key that a call gives; None if it gives none and needs none."""
    value = call.value
    if isinstance(value, Mapping) and "key" in value:
        return value["key"]
    if keys > 1:
        raise ValueError(
            f"everybody_at_the_end({call.f!r}, keys={keys}): calls of {call.f} have no `key`; say "
            "keys=1, or let the operation take a `key`"
        )
    return None
