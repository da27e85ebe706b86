"""What a night would do, for ``rumpus nightly --dry-run``."""

from typing import Any, Final

from rumpus.nights.documents.summary import duration, many
from rumpus.nights.night_file import seconds_of
from rumpus.nights.planning import USUAL_CASE_S, NightPlan
from rumpus.nights.schedule import CASES
from rumpus.nights.subjects import OnTrial

USUAL_S: Final = {"sim": 3.0, "docker": 60.0}
"""How long a run is taken to take, of a subject that never had one."""


def longest_s(plan: NightPlan, jobs: int) -> float:
    """How long the night takes: its budget, if something is on trial."""
    budget = plan.file.seconds
    if plan.subjects:
        return budget
    return min(budget * CASES, _cases_s(plan, jobs)) + plan.reserved


def plan_lines(plan: NightPlan, source: str, jobs: int) -> list[str]:
    """The plan, line by line.

    Args:
        plan: the night's.
        source: who asks for it, in words.
        jobs: how many runs are performed at once.
    """
    real = "docker" in plan.worlds
    lines = [
        f"{source}: {duration(longest_s(plan, jobs))}, {jobs} runs at once"
        + (", one of them on real servers" if real else "")
    ]
    lines.append(
        f"1. {many(len(plan.cases), 'case')}, in about {duration(_cases_s(plan, jobs))}, "
        f"at most {CASES:.0%} of the time"
    )
    share = plan.file.canaries.share
    names = ", ".join(canary.name for canary in plan.canaries[:5])
    lines.append(
        f"2. canaries, for at most {share:.0%} of the time, of {len(plan.canaries)}: {names}"
        if plan.canaries
        else "2. no canaries: nobody knows mistakes of what is on trial"
    )
    lines.append(
        f"3. {many(len(plan.subjects), 'recipe')}, once each, in this order; then by weight"
    )
    lines += [f"   {_told(plan, on)}" for on in plan.subjects]
    for command in plan.commands:
        lines.append(f"4. {command.name}, at most {duration(seconds_of(command.timeout))}")
    lines += [f"trouble: {trouble.what}" for trouble in plan.troubles]
    return [*lines, *(f"note: {note}" for note in [*plan.notes, *plan.left_out])]


def plan_document(plan: NightPlan, jobs: int) -> dict[str, Any]:
    """The same for ``--json``. Times are seconds."""
    return {
        "seconds": round(longest_s(plan, jobs), 1),
        "jobs": jobs,
        "worlds": list(plan.worlds),
        "cases": [kept.name for kept in plan.cases],
        "canaries": [
            {"name": each.name, "rate": each.rate, "tries": each.tries} for each in plan.canaries
        ],
        "subjects": [
            {
                "subject": on.subject.key,
                "why": plan.reason(on),
                "kinds": list(on.kinds),
                "weight": on.weight,
                "run_seconds": round(_run_s(plan, on), 1),
            }
            for on in plan.subjects
        ],
        "commands": [each.name for each in plan.commands],
        "troubles": [each.what for each in plan.troubles],
        "notes": [*plan.notes, *plan.left_out],
    }


def _told(plan: NightPlan, on: OnTrial) -> str:
    weight = f", weight {on.weight:g}" if on.weight != 1 else ""
    return (
        f"{on.subject.key}: {plan.reason(on)}; {', '.join(on.kinds)}; "
        f"about {_run_s(plan, on):.0f} s each{weight}"
    )


def _run_s(plan: NightPlan, on: OnTrial) -> float:
    past = plan.past.get(on.subject.key)
    return past.seconds if past is not None and past.seconds else USUAL_S[on.subject.world]


def _cases_s(plan: NightPlan, jobs: int) -> float:
    return len(plan.cases) * USUAL_CASE_S / max(1, jobs)
