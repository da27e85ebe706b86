"""Measures (performance figures of a run) in words, for the terminal, summary and report."""

from collections.abc import Mapping
from typing import Final

from rumpus.checker.availability import Availability
from rumpus.checker.measures import Cause, Handovers, Measures, Messages, Spread
from rumpus.checker.timeline.host import Host
from rumpus.results.wording import milliseconds

AFTER: Final[Mapping[Cause, str]] = {
    "release": "a release",
    "death": "the holder's death",
    "loss": "the holder's loss of its grant",
}
"""What ended a hold, in words."""


def measure_lines(measures: Measures | None) -> list[tuple[str, str]]:
    """Each measure that was taken: its name, and its figures in one line."""
    if measures is None:
        return []
    lines = [("handover", _handover(row)) for row in measures.handovers]
    if measures.spread is not None and measures.spread.grants:
        lines.insert(0, ("spread", _spread(measures.spread)))
    wakeups = measures.wakeups
    if wakeups is not None and wakeups.per_grant is not None:
        released = wakeups.per_release
        figures = f"{wakeups.events:,} of waiters, {wakeups.per_grant:.2f} a grant"
        figures += "" if released is None else f", {released:.2f} by each release"
        lines.append(("wake-ups", figures))
    if measures.availability is not None:
        lines.append(("available", _availability(measures.availability)))
    if measures.host is not None:
        lines.append(("host", _host(measures.host)))
    if measures.messages is not None:
        lines.append(("messages", _messages(measures.messages)))
    return lines


def _spread(spread: Spread) -> str:
    each = f"{spread.least:,} to {spread.most:,}"
    return (
        f"{spread.grants:,} {spread.f} that ended ok over {spread.clients} clients, {each} each, "
        f"Jain's index {spread.jain:.3f}"
    )


def _handover(row: Handovers) -> str:
    return (
        f"after {AFTER[row.after]}: median {milliseconds(row.median)}, "
        f"95 % {milliseconds(row.p95)}, longest {milliseconds(row.longest)} ({row.count:,} times)"
    )


def _messages(messages: Messages) -> str:
    shares = ((messages.per_operation, "an operation"), (messages.per_grant, "a grant"))
    told = "".join(f", {share:.1f} {what}" for share, what in shares if share is not None)
    return f"{messages.total:,} without heartbeats, {messages.watch_events:,} of them events{told}"


def _availability(found: Availability) -> str:
    """``quorum 93 %, clients 81 % (c3 55 %)``: the clients' mean, and the one with the least."""
    told = [] if found.quorum is None else [f"quorum {found.quorum:.0%}".replace("%", " %")]
    if found.clients:
        least = min(found.clients)
        mean = sum(found.clients) / len(found.clients)
        words = f"clients {mean:.0%} (c{found.clients.index(least)} {least:.0%})"
        told.append(words.replace("%", " %"))
    return ", ".join(told)


def _host(found: Host) -> str:
    """``woken 178 ms late at worst, 16.5 tasks for each processor; late for 12.0 of 67.2 s``."""
    words = f"woken {milliseconds(found.worst_ms)} late at worst"
    if found.queue is not None:
        words += f", {found.queue:g} tasks for each processor"
    return words + (f"; late for {found.late_s} of {found.measured_s} s" if found.late_s else "")


def version_line(versions: Mapping[str, str]) -> str:
    """The software versions of a run, in one line: ``kazoo 2.10.0, python 3.11.2, ...``."""
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
