"""What people read of a night: its first line, and ten lines with a table in Markdown."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from rumpus.exit_codes import DEFECT, ENVIRONMENT, UNDECIDED, USAGE, VALID, VIOLATION
from rumpus.nights.documents.document import FailureResult, NightDocument, troubled_runs
from rumpus.results.escapes import Markdown, in_markdown

STATES: Final[Mapping[int, str]] = {
    VIOLATION: "BROKEN",
    DEFECT: "NOT TO BE TRUSTED",
    ENVIRONMENT: "IN TROUBLE",
    USAGE: "IN TROUBLE",
    UNDECIDED: "OPEN",
    VALID: "green",
}
"""Exit code -> what is said of the night."""

NAMED: Final = 3
"""How many of many are named in a line."""

LONGEST_TABLE: Final = 60
"""Rows of the table; the rest is in ``night.json``."""


def headline(document: NightDocument) -> str:
    """The first line: the night's state, and what is gravest, in words."""
    state = STATES[document.exit_code]
    early = ", ended early" if document.night.interrupted else ""
    part = f" (part {document.night.shard})" if document.night.shard else ""
    what = "; ".join(_gravest(document)) or _looked_at(document)
    return f"{document.night.name}{part} is {state}{early}: {what}"


def headed(document: NightDocument) -> NightDocument:
    """The document with what follows from it in its night's row: headline, exit code, counts."""
    row = msgspec.structs.replace(
        document.night,
        headline=headline(document),
        exit_code=document.exit_code,
        counts=document.counts,
    )
    return msgspec.structs.replace(document, night=row)


def summary(document: NightDocument) -> str:
    """At most ten lines and a table, in Markdown: for a job's summary, or a message."""
    lines = [f"**{in_markdown(headline(document))}**"]
    lines += [in_markdown(line) for line in _details(document)]
    return "\n".join([*(f"{line}  " for line in lines), "", *_table(document), ""])


def in_text(document: NightDocument) -> list[str]:
    """The same lines for a terminal, without the table."""
    return [headline(document), *_details(document)]


def duration(seconds: float) -> str:
    """A time as people say it: ``45 s``, ``12 min``, ``1 h 30 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def many(number: int, what: str, plural: str = "") -> str:
    """A number of things: ``1 case``, ``2 cases``."""
    return f"{number} {what if number == 1 else plural or what + 's'}"


def _gravest(document: NightDocument) -> list[str]:
    """What is not as it should be, gravest first."""
    new, known = document.new, [e for e in document.broken if e.state == "known"]
    said: list[str] = []
    if new:
        names = _by_recipe(new)
        said.append(f"{many(len(new), 'new failure')}: {names}")
    if known:
        names = _by_recipe(known)
        said.append(f"{many(len(known), 'known failure')} still there: {names}")
    for subject, runs in document.unexplained.items():
        said.append(f"{many(runs, 'violation')} of {subject} by hazards")
    for state, words in (
        ("regression", "back"),
        ("stale", "stale"),
        ("unperformed", "not performed"),
    ):
        cases = [each for each in document.cases if each.state == state]
        if cases:
            is_are = "is" if len(cases) == 1 else "are"
            names = _named([each.name for each in cases])
            said.append(f"{many(len(cases), 'case')} {is_are} {words}: {names}")
    if document.expired:
        said.append(f"an expectation is over: {_named(document.expired)}")
    if document.failed_commands:
        said.append(f"failed: {_named([each.name for each in document.failed_commands])}")
    if document.blind:
        unseen = [
            f"nobody sees {' or '.join(e.expected) or 'a broken promise'} any more: {e.name} "
            f"stayed green in {many(e.runs, 'run')}"
            for e in document.blind
        ]
        said.append(f"a check has gone blind: {_named(unseen, '; ')}")
    if document.night.troubles:
        said.append(f"trouble: {_named([each.what for each in document.night.troubles])}")
    if document.unexercised:
        said.append(f"nothing was exercised in {_named(document.unexercised)}")
    if document.undecided:
        said.append(f"undecided: {_named(document.undecided)}")
    if document.idle or document.nothing_run:
        said.append(document.idle or document.nothing_run)
    return said


def _looked_at(document: NightDocument) -> str:
    counts = document.outcomes
    parts = [f"{many(len(document.trials), 'run')} of {many(len(counts), 'recipe')}"]
    if document.cases:
        parts.append(many(len(document.cases), "case"))
    if document.canaries:
        found = sum(each.state == "found" for each in document.canaries)
        parts.append(f"{found} of {many(len(document.canaries), 'canary', 'canaries')} found")
    return f"{', '.join(parts)}, in {duration(document.night.seconds)}"


def _details(document: NightDocument) -> list[str]:
    """The lines after the first one: at most nine."""
    lines = [_ran(document)]
    for each in document.broken[:NAMED]:
        story = f", case {each.file}" if each.file else ""
        lines.append(
            f"{each.state}: {_with_owner(str(each.failure), each.owner)}, in "
            f"{many(each.runs, 'run')}{story}: rumpus failure {each.failure.id}"
        )
    expected = [each for each in document.failures if each.state in ("expected", "base")]
    if expected or document.gone:
        words = [f"{each.failure} ({each.why or 'also without the change'})" for each in expected]
        gone = [f"{each} was not seen" for each in document.gone]
        lines.append(f"Expected: {_named([*words, *gone])}")
    if told := _cases(document):
        lines.append(told)
    if document.canaries:
        lines.append(_canaries(document))
    lines += _troubles(document)
    left = _not_looked_at(document)
    last = [f"Not looked at: {left}"] if left else []
    last += [f"Note: {'; '.join(document.notes)}"] if document.notes else []
    if last:
        lines.append(". ".join(last))
    return lines


def _ran(document: NightDocument) -> str:
    night, runs = document.night, document.trials
    real = sum(", docker" in run.subject for run in runs)
    virtual = sum(run.virtual_seconds for run in runs) / 3600
    worlds = f"{len(runs) - real} simulated ({virtual:.1f} virtual hours), {real} on real servers"
    outcomes: dict[str, int] = {}
    for counts in document.outcomes.values():
        for outcome, number in counts.items():
            outcomes[outcome] = outcomes.get(outcome, 0) + number
    names = {"none": "not performed", "short": "short ones with too little in them"}
    told = ", ".join(
        f"{number} {names.get(outcome, outcome)}" for outcome, number in sorted(outcomes.items())
    )
    faults = {kind for run in runs for kind in run.faults}
    return (
        f"Ran: {many(len(runs), 'run')} of {many(len(document.outcomes), 'recipe')}, {worlds}: "
        f"{told or 'none'}; {many(len(faults), 'kind')} of fault; "
        f"{duration(night.seconds)} of {duration(night.budget)}"
    )


def _cases(document: NightDocument) -> str:
    if not document.cases:
        return ""
    near = sum(each.near for each in document.cases if each.state == "stale")
    words = [
        f"{len(of_state)} {said}"
        for state, said in (
            ("shown", "shown, as they should be"),
            ("mended", "mended, as they should be"),
            ("regression", "back"),
            ("stale", f"stale ({many(near, 'run')} near their plans did not show them)"),
            ("undecided", "undecided"),
            ("unperformed", "not performed"),
        )
        if (of_state := [each for each in document.cases if each.state == state])
    ]
    moved = [each for each in document.cases if each.moved]
    if moved:
        words.append(
            f"{len(moved)} found anew near their plans: {_named([e.moved for e in moved])}"
        )
    return f"Cases: {'; '.join(words)}"


def _canaries(document: NightDocument) -> str:
    rate = sum(each.rate for each in document.canaries) / len(document.canaries)
    found = [each for each in document.canaries if each.state == "found"]
    other = [f"{each.name} {each.state}" for each in document.canaries if each.state != "found"]
    runs = sum(each.runs for each in document.canaries)
    words = (
        f"Canaries: {len(found)} of {len(document.canaries)} known mistakes found in "
        f"{many(runs, 'run')}; a run is expected to find one with {rate:.0%}"
    )
    return f"{words}; {_named(other)}" if other else words


def _troubles(document: NightDocument) -> list[str]:
    why = troubled_runs(document.runs)
    said = []
    if why:
        reasons = _named([f"{number} x {reason}" for reason, number in why.items()])
        said.append(f"{sum(why.values())} of {len(document.runs)} runs tested nothing ({reasons})")
    for each in document.night.troubles:
        what = each.what
        for reason in why:
            what = what.replace(f": {reason}", "")
        said += [what] if what not in why else []
    return [f"Trouble: {'; '.join(said)}"] if said else []


def _not_looked_at(document: NightDocument) -> str:
    words = []
    if document.waiting:
        words.append(
            f"{many(len(document.waiting), 'recipe')} had no turn, and come first next time "
            f"({_named(document.waiting)})"
        )
    if document.cases_left:
        words.append(f"{many(document.cases_left, 'case')} had no turn, and come first next time")
    return "; ".join(words)


def _table(document: NightDocument) -> list[str]:
    rows = list(document.outcomes.items())
    if not rows:
        return []
    broken: dict[str, int] = {}
    for run in document.trials:
        if run.failures:
            broken[run.subject] = broken.get(run.subject, 0) + 1
    rows.sort(key=lambda row: (-broken.get(row[0], 0), row[0]))
    lines = [
        "| on trial | runs | valid | violations | other |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for key, counts in rows[:LONGEST_TABLE]:
        total, valid = counts.total(), counts["valid"]
        violations = counts["violation"]
        cells = [in_markdown(key), total, valid, violations, total - valid - violations]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    if rest := rows[LONGEST_TABLE:]:
        lines.append(f"| {Markdown(f'and {len(rest)} more')} | | | | |")
    return lines


def _named(names: Sequence[str], between: str = ", ") -> str:
    """Some of the names, and how many more there are."""
    rest = len(names) - NAMED
    return between.join(names[:NAMED]) + (f", and {rest} more" if rest > 0 else "")


def _by_recipe(failures: Sequence[FailureResult]) -> str:
    """The recipes and their kinds of anomaly, each once."""
    kinds: dict[str, list[str]] = {}
    for each in failures:
        row = each.failure
        thing = _with_owner(f"{row.workload} / {row.recipe}", each.owner)
        kinds.setdefault(thing, []).append(row.fingerprint.kind)
    return _named([f"{thing}: {', '.join(dict.fromkeys(of))}" for thing, of in kinds.items()], "; ")


def _with_owner(words: str, owner: str) -> str:
    return f"{words} [{owner}]" if owner else words
