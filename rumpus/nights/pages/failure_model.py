"""The page of a failure: what it says, before it is HTML."""

from collections import defaultdict
from collections.abc import Sequence

from rumpus.campaigns.replaying import ENDING, as_test
from rumpus.nights.memory.evidence import wilson
from rumpus.nights.pages.charts import rate_chart, sparkline
from rumpus.nights.pages.gathering import Gathered
from rumpus.nights.pages.model import Fact, FailureModel
from rumpus.nights.pages.night_groups import SPARKS, seen_by_night
from rumpus.nights.pages.night_model import day_of
from rumpus.nights.pages.places import case_place, failure_place, night_place, subject_place
from rumpus.nights.pages.standing import standing
from rumpus.nights.records import FailureRow
from rumpus.results.escapes import in_shell
from rumpus.results.reports.measure_text import version_line

_STATES = {
    "new": ("new", "violation"),
    "known": ("still there", "violation"),
    "expected": ("expected", "unknown"),
    "base": ("also without the change", "unknown"),
}


def failure_models(gathered: Gathered) -> list[FailureModel]:
    """All failures: those that the newest night has shown first, new ones before the others."""
    tonight = {}
    if gathered.nights:
        tonight = {each.failure.id: each for each in standing(gathered, gathered.nights[-1])}
    versions: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    subjects: dict[str, set[str]] = defaultdict(set)
    for tallies in gathered.tallies.values():
        for each in tallies:
            for failure in each.shown:
                subjects[failure].add(each.subject)
                for software, version in each.versions.items():
                    versions[failure][software].add(version)
    found = []
    order = list(_STATES)

    def place(row: FailureRow) -> tuple[int, float, str]:
        now = tonight.get(row.id)
        return order.index(now.state) if now is not None else len(order), -row.last_seen, row.id

    for row in sorted(gathered.failures.values(), key=place):
        now = tonight.get(row.id)
        state, tone = _STATES[now.state] if now is not None else ("not seen now", "plain")
        told = {name: ", ".join(sorted(each)) for name, each in sorted(versions[row.id].items())}
        found.append(
            _model(
                gathered,
                row,
                (state, tone, now.owner if now is not None else ""),
                version_line(told) if told else "",
                sorted(subjects[row.id]),
            )
        )
    return found


def _model(
    gathered: Gathered,
    row: FailureRow,
    stands: tuple[str, str, str],
    versions: str,
    subjects: Sequence[str],
) -> FailureModel:
    seen = seen_by_night(gathered, row)
    state, tone, owner = stands
    name = f"{row.case.name()}-{row.id}" if row.case is not None else row.id
    path = f"cases/{name}{ENDING}"
    there = row.case is not None
    write = in_shell(["rumpus", "failure", row.id, "--case", path])
    return FailureModel(
        id=row.id,
        place=failure_place(row.id),
        case_place=case_place(row.id) if there else "",
        case_json=row.case.to_json().decode() if row.case is not None else "",
        thing=f"{row.workload} / {row.recipe}",
        what=str(row.fingerprint),
        state=state,
        tone=tone,
        facts=_facts(gathered, row),
        spark=sparkline(seen[-SPARKS:], str(row)),
        chart=rate_chart(seen[-SPARKS * 3 :], f"how many runs of each night showed {row}"),
        nights=[
            (each.night, night_place(each.night), f"{each.hits} of {each.runs}")
            for each in reversed(seen)
            if each.hits
        ],
        story=row.case.story if row.case is not None else (),
        repeat=[write, in_shell(["rumpus", "replay", path])] if there else [],
        keep=[write, in_shell(["pytest", path])] if there else [],
        send=in_shell(["rumpus", "bundle", row.id, "-o", f"{row.id}.zip"]),
        test=as_test({name: row.case}) if row.case is not None else "",
        versions=versions,
        subjects=[(key, subject_place(key)) for key in subjects],
        last_place=night_place(row.last_night) if row.last_night else "",
        owner=owner,
    )


def _facts(gathered: Gathered, row: FailureRow) -> list[Fact]:
    seen = seen_by_night(gathered, row)
    first = next((place for place, each in enumerate(seen) if each.night == row.first_night), 0)
    hits = sum(each.hits for each in seen[first:])
    runs = sum(each.runs for each in seen[first:])
    facts = [
        Fact("first seen", row.first_night or "never", day_of(row.first_seen)),
        Fact("last seen", row.last_night or "never", day_of(row.last_seen)),
        Fact("runs", f"{hits:,} of {runs:,}", "since it was first seen"),
    ]
    if runs:
        rate = wilson(min(hits, runs), runs)
        share = f"{100 * rate.low:.3g} to {100 * rate.high:.3g} % with 95 %"
        facts.append(Fact("rate", f"{100 * rate.value:.3g} %", share))
    blamed = Fact("breaks a promise of", "the servers" if row.blamed == "servers" else "the recipe")
    kept = "none was kept" if row.case is None else "small" if row.shrunk else "not small yet"
    return [*facts, blamed, Fact("case", kept)]
