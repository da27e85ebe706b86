"""A verdict in plain words, the same on the terminal, in the summary and in the report."""

import re
from typing import Final

from rumpus.checker.history import History
from rumpus.checker.verdict import Anomaly, Verdict
from rumpus.checker.wording import counted
from rumpus.recipes.promises import Promises

SYMBOLS = {"valid": "✔", "violation": "✘", "unknown": "?", "inconclusive": "?"}
"""A sign for each outcome."""

_KEPT = {
    "recipe": "every promise of the recipe was kept",
    "servers": "the servers kept every promise of ZooKeeper",
}
_BROKEN = {
    "recipe": "the recipe broke a promise",
    "servers": "the servers broke a promise of ZooKeeper",
}
SEQUENCE: Final = re.compile(r"(\d{10})$")
"""The end of the name of a sequential znode."""

_REMEDIES = {
    "inconclusive": (
        "More happens in a longer run (--time-limit) and with other seeds (rumpus explore). What "
        "stays at 0 there is not reached at all: by the recipe, the load or the faults."
    ),
    "unknown": "Nothing was found broken, and what is named here was not shown to hold.",
}
"""What an outcome that settles nothing means, and what to do about it."""

LITTLE = 0.5
"""A valid run in which the servers served, or clients were connected, for less says so at once."""

_HEADLINES = {
    "unknown": "the history does not settle the question",
    "inconclusive": "too little happened for a verdict",
}


def fails_run(anomaly: Anomaly, *, strict: bool) -> bool:
    """Whether an anomaly makes its run a violation (see ``checker.verdict.judge``)."""
    return anomaly.promised or (strict and anomaly.kind != "fenced")


def headline(verdict: Verdict) -> str:
    """The verdict in one line."""
    if verdict.outcome == "valid":
        hazards = sum(anomaly.kind != "fenced" for anomaly in verdict.anomalies)
        seen = [f"{counted(hazards, 'hazard')} seen"] if hazards else []
        if verdict.unjudged:
            seen.append(f"{len(verdict.unjudged)} not judged")
        return "; ".join([f"Valid: {_KEPT[verdict.blamed]}", *seen, *_rests_on_little(verdict)])
    if verdict.outcome == "violation":
        if any(anomaly.promised for anomaly in verdict.anomalies):
            return f"Violation: {_BROKEN[verdict.blamed]}"
        return f"Violation: {_KEPT[verdict.blamed]}, but hazards count too (--strict)"
    return f"{verdict.outcome.capitalize()}: {_HEADLINES[verdict.outcome]}"


def _rests_on_little(verdict: Verdict) -> list[str]:
    """What a valid run rests on, if the servers or the clients were away for most of its time."""
    measures = verdict.measures
    if measures is None or (found := measures.availability) is None:
        return []
    quorum = 1.0 if found.quorum is None else found.quorum
    connected = sum(found.clients) / len(found.clients) if found.clients else 1.0
    if min(quorum, connected) >= LITTLE:
        return []
    share = (
        f"a quorum served for only {quorum:.0%} of the time"
        if quorum <= connected
        else f"clients were connected for only {connected:.0%} of the time"
    )
    ended = f"{found.answered:,} operations answered, {found.failed:,} failed"
    return [f"but {share.replace('%', ' %')}: {ended}"]


def remarks(verdict: Verdict, history: History) -> list[str]:
    """What is told with the verdict, a line each: why it is not valid, and what it leaves out."""
    left_out = [f"Not judged: {what}" for what in verdict.unjudged]
    if verdict.outcome == "violation":  # else these are its reasons
        left_out += [f"Left open: {each}" for check in verdict.checks for each in check.unknown]
    return [
        *verdict.reasons,
        *filter(None, [_REMEDIES.get(verdict.outcome)]),
        *left_out,
        *verdict.notes,
        *filter(None, [incompleteness(history)]),
    ]


def incompleteness(history: History) -> str | None:
    """A remark about a history whose end is missing; None if it is complete."""
    if not history.truncated:
        return None
    return (
        "The run did not come to its orderly end: the verdict speaks of the "
        f"{seconds(history.end - history.start)} that were recorded."
    )


def promised(promises: Promises) -> list[str]:
    """What a recipe promises besides the kinds of anomaly that never happen, in sentences."""
    wakeups, delay = promises.wakeups, promises.lock_delay
    boundary = promises.time_boundary
    said = {
        "Each grant has a token, and a later grant a higher one.": promises.tokens,
        "The resource checks the tokens.": promises.fenced,
        "A holder may acquire again.": promises.reentrant,
        f"A release wakes at most {counted(wakeups or 0, 'waiter')} for each permitted holder.": (
            wakeups is not None
        ),
        f"After a holder's failure nobody is granted it for {delay:g} s.": delay > 0,
        f"A share is complete only when the members were the same for {boundary:g} s.": (
            boundary > 0
        ),
    }
    return [sentence for sentence, holds in said.items() if holds]


def znode_name(path: str) -> str:
    """A znode's name in a story: its sequence number, or the last part of its path."""
    last = path.rpartition("/")[2] or path
    sequence = SEQUENCE.search(last)
    return str(int(sequence[1])) if sequence else last


def seconds(nanoseconds: int, digits: int = 1) -> str:
    """A duration as text: ``12.3 s``."""
    return f"{nanoseconds / 1e9:.{digits}f} s"


def milliseconds(length: float | None) -> str:
    """A duration in milliseconds as text: ``0.42 ms``, ``12.3 ms``, ``6.2 s``; ``-`` for None."""
    if length is None:
        return "-"
    if length >= 1000:
        return f"{length / 1000:.1f} s"
    return f"{length:.2f} ms" if length < 10 else f"{length:.1f} ms"
