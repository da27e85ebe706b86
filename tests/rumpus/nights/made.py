"""What nights are made of, made up: subjects, runs and what came of them, without a run."""

from pathlib import Path

from rumpus.campaigns.case import Case
from rumpus.campaigns.tasks import Attempt
from rumpus.campaigns.trial_task import Seen, TrialOutcome, TrialTask
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.targets import Targets
from rumpus.nights.canaries import Canary
from rumpus.nights.kept_cases import Kept
from rumpus.nights.records import Subject
from rumpus.nights.subjects import OnTrial
from rumpus.results.fingerprint import Fingerprint
from rumpus.runs.run_settings import RunSettings

EMPTY = FaultPlan(version=1)


def plan_of(*kinds):
    """A plan with a fault of each kind."""
    entries = [
        Entry(id=number, kind=kind, at=number, targets=Targets(role="leader"), duration=0.5)
        for number, kind in enumerate(kinds, start=1)
    ]
    return FaultPlan(version=1, entries=tuple(entries))


def settings_of(recipe="fair", *, workload="lock", world="sim", **more):
    return RunSettings(argv=(), workload=workload, recipe=recipe, ensemble=world, **more)


def on(recipe="fair", *, workload="lock", world="sim", weight=1.0, source="s", **more):
    """A subject on trial."""
    kinds = ("usual",) if world == "docker" else ("usual", "swarm")
    given = {"kinds": kinds, "time_limit": 15.0, "files": (), **more}
    return OnTrial(
        subject=Subject(workload=workload, recipe=recipe, world=world),
        settings=settings_of(
            recipe, workload=workload, world=world, time_limit=given.pop("time_limit")
        ),
        profile="normal",
        weight=weight,
        source=source,
        **given,
    )


def seen_of(kind, *operations, promised=True, story=(), traits=None):
    print_ = Fingerprint(kind=kind, operations=operations)
    return Seen(fingerprint=print_, promised=promised, story=tuple(story), traits=traits)


def outcome_of(*seen, seed=0, faults=(), digest="d", settings=None, **more):
    """What a run showed: a violation if it has broken promises, else a valid run."""
    broken = any(each.promised for each in seen)
    given = {
        "outcome": "violation" if broken else "valid",
        "reasons": ("a promise is broken",) if broken else (),
        "blamed": "recipe",
        "virtual_seconds": 20.0,
        "operations": 50,
        "cpu_seconds": 0.5,
        "versions": {"kazoo": "2.11.0"},
        **more,
    }
    return TrialOutcome(
        seen=seen,
        plan=plan_of(*faults),
        seed=seed,
        digest=digest,
        settings=settings or settings_of(seed=seed),
        **given,
    )


def shown(*seen, **more):
    return Attempt(outcome=outcome_of(*seen, **more))


def case_of_kind(kind="double-grant", recipe="fair", **more):
    given = {
        "settings": {"workload": "lock", "recipe": recipe},
        "seed": 7,
        "plan": EMPTY,
        "expects": Fingerprint(kind=kind),
        **more,
    }
    return Case(**given)


def kept(name="it", **more):
    return Kept(name, Path(f"cases/{name}.case.json"), case_of_kind(**more))


def canary_of(name="blind", *, rate=0.9, family="lock", **more):
    given = {
        "mistake": "forget all",
        "settings": settings_of("persistent-node"),
        "expected": frozenset({"double-grant"}),
        "blamed": "recipe",
        **more,
    }
    return Canary(name=name, family=family, rate=rate, **given)


def task_of(recipe="fair", **more):
    return TrialTask(settings=settings_of(recipe, **more))
