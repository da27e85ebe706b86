"""The page of a night: what it says, before it is HTML."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rumpus.nights.comparing.comparing import compare
from rumpus.nights.comparing.comparison import NONE, Comparison
from rumpus.nights.comparing.comparison_text import change_cells, headline
from rumpus.nights.comparing.sides import Side
from rumpus.nights.documents.document import outcomes_of
from rumpus.nights.documents.summary import STATES, duration
from rumpus.nights.memory.evidence import Moments, geometric_mean
from rumpus.nights.memory.store_rows import NOT_PERFORMED
from rumpus.nights.pages.gathering import Gathered
from rumpus.nights.pages.model import Fact, Group, NightModel, Row
from rumpus.nights.pages.night_groups import groups_of, world_of
from rumpus.nights.pages.places import night_place, subject_place
from rumpus.nights.pages.standing import document_of, standing
from rumpus.nights.records import NightRow
from rumpus.results.reports.measure_text import version_line

GOES_ON: Final = "not ended"
"""The state of a night that goes on, or was killed."""

_TONES: Final[Mapping[str, tuple[str, str]]] = {
    "green": ("valid", "✔"),
    "OPEN": ("unknown", "?"),
    GOES_ON: ("unknown", "…"),
}
"""State -> tone and symbol; of all others those of a violation."""


def state_of(night: NightRow) -> tuple[str, str, str]:
    """A night's state in a word, its tone, and its symbol."""
    state = GOES_ON if night.ended is None else STATES.get(night.exit_code, "OPEN")
    tone, symbol = _TONES.get(state, ("violation", "✘"))
    return state, tone, symbol


def sentence_of(night: NightRow) -> str:
    """What is gravest of a night: its headline without its name and its state."""
    _, found, rest = night.headline.partition(f" is {state_of(night)[0]}")
    return rest.lstrip(":, ") if found else night.headline or "nothing has been said of it yet"


def day_of(seconds: float) -> str:
    """A moment for people, in UTC."""
    return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%Y-%m-%d %H:%M} UTC"


def compared(gathered: Gathered, night: NightRow) -> Comparison | None:
    """The comparison of the night before with a night; None if there was none before."""
    before = gathered.before(night)
    if before is None:
        return None
    return compare(_side(gathered, before), _side(gathered, night))


def night_model(gathered: Gathered, night: NightRow) -> NightModel:
    """What a night's page says."""
    state, tone, symbol = state_of(night)
    comparison, before = compared(gathered, night), gathered.before(night)
    changes = comparison.changes if comparison is not None else ()
    groups = groups_of(gathered, night, comparison)
    return NightModel(
        name=night.name,
        place=night_place(night.name),
        state=state,
        tone=tone,
        symbol=symbol,
        sentence="; ".join([sentence_of(night), *_worse(groups)]),
        about=_about(night),
        facts=_facts(gathered, night),
        faults=sorted(gathered.faults.get(night.name, {}).items()),
        groups=groups,
        rows=_rows(gathered, night),
        before=before.name if before is not None else "",
        before_place=night_place(before.name) if before is not None else "",
        compared=[change_cells(each) for each in changes if each.verdict != NONE],
        comparison=headline(comparison) if comparison is not None else "",
    )


def _worse(groups: Sequence[Group]) -> Iterator[str]:
    """What a night itself does not say in its headline, for it takes other nights to see it."""
    lines = {each.kind.tag: each.lines for each in groups}
    if worse := lines["worse"]:
        yield f"{len(worse)} slower or failing more often than before"
    if trend := lines["trend"]:
        yield f"{len(trend)} worse for some nights"


def counts_of(counts: Mapping[str, int]) -> tuple[int, int, int, int]:
    """Of outcomes: runs, valid ones, violations, others."""
    total = sum(counts.values())
    valid, broken = counts.get("valid", 0), counts.get("violation", 0)
    return total, valid, broken, total - valid - broken


def _side(gathered: Gathered, night: NightRow) -> Side:
    tallies = gathered.tallies.get(night.name, ())
    shown = {failure for each in tallies for failure in each.shown}
    return Side(
        name=night.name,
        what="night",
        nights=(night.name,),
        tallies=tallies,
        failures={failure: gathered.failures[failure] for failure in shown},
    )


def _about(night: NightRow) -> list[str]:
    said = [day_of(night.began)]
    at = "@".join(each for each in (night.branch, night.commit) if each)
    said += [at] if at else []
    said += [f"part {night.shard}"] if night.shard else []
    said += ["ended early"] if night.interrupted else []
    return [*said, version_line(night.versions)] if night.versions else said


def _facts(gathered: Gathered, night: NightRow) -> list[Fact]:
    """Whether a night has really tested something."""
    tallies = gathered.of(night.name, "run")
    worlds: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    quorum = Moments()
    for each in tallies:
        worlds[world_of(each.subject)] += each.runs
        outcomes.update(each.outcomes)
        quorum += each.figures.get("quorum", Moments())
    total, valid, broken, other = counts_of(outcomes)
    where = ", ".join(f"{runs:,} {world}" for world, runs in sorted(worlds.items(), reverse=True))
    kinds = gathered.faults.get(night.name, {})
    facts = [
        Fact("runs", f"{total:,}", where or "nothing was run", not total),
        Fact("recipes", f"{len({each.subject for each in tallies}):,}", "and worlds"),
        Fact("valid", f"{valid:,}", f"{other:,} others" if other else "", not valid),
        Fact("violations", f"{broken:,}", "runs that broke a promise", broken > 0),
        Fact("kinds of fault", f"{len(kinds)}", "verified in force", bool(total) and not kinds),
    ]
    facts += _canary_fact(gathered, night)
    if quorum.count:
        share = min(1.0, geometric_mean(quorum).value)
        facts.append(Fact("quorum", f"{share:.0%}", "of the load a leader served", share < 0.3))
    facts += _case_fact(gathered, night)
    if missed := outcomes[NOT_PERFORMED]:
        facts.append(Fact("tested nothing", f"{missed:,}", "runs that were not performed", True))
    facts.append(Fact("took", duration(night.seconds), f"{duration(night.budget)} at most"))
    return facts


def _canary_fact(gathered: Gathered, night: NightRow) -> list[Fact]:
    told = document_of(gathered, night).canaries
    if told:
        found, known = sum(each.state == "found" for each in told), len(told)
        blind = sum(each.state == "blind" for each in told)
        return [Fact("canaries", f"{found} of {known}", f"found, {blind} blind", blind > 0)]
    by_name: dict[str, int] = {}
    for each in gathered.of(night.name, "canary"):
        by_name[each.name] = by_name.get(each.name, 0) + each.outcomes.get("violation", 0)
    if not by_name:
        return [Fact("canaries", "none", "no known mistake was put in")]
    return [Fact("canaries", f"{sum(map(bool, by_name.values()))} of {len(by_name)}", "found")]


def _case_fact(gathered: Gathered, night: NightRow) -> list[Fact]:
    told = document_of(gathered, night).cases
    if not told:
        names = {each.name for each in gathered.of(night.name, "case")}
        return [Fact("cases", f"{len(names)}", "replayed")] if names else []
    right = sum(each.state in ("shown", "mended") for each in told)
    wrong = sum(each.state in ("regression", "stale") for each in told)
    return [Fact("cases", f"{right} of {len(told)}", "as they should be", wrong > 0)]


def _rows(gathered: Gathered, night: NightRow) -> Sequence[Row]:
    counted = (
        (each.subject, "", outcome, runs)
        for each in gathered.of(night.name, "run")
        for outcome, runs in each.outcomes.items()
    )
    rows = [
        Row(
            subject=key,
            place=subject_place(key),
            counts=counts_of(counts),
            broken=bool(counts["violation"]),
        )
        for key, counts in outcomes_of(counted).items()
    ]
    return sorted(rows, key=lambda row: (-row.counts[2], row.subject))


def new_and_known(gathered: Gathered, night: NightRow) -> tuple[int, int]:
    """How many failures of a night are new, and how many known."""
    states = [each.state for each in standing(gathered, night)]
    return states.count("new"), states.count("known")
