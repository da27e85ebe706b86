import json
from functools import partial
from itertools import count

import pytest

from rumpus.campaigns import pieces
from rumpus.campaigns.case import load_case
from rumpus.campaigns.corners import AT_ONCE
from rumpus.campaigns.exploring import WINDOW, Explorer
from rumpus.campaigns.findings import Failure, explains
from rumpus.campaigns.merging import merge, part_of
from rumpus.campaigns.short_runs import COUNT, ShortRunsTask
from rumpus.campaigns.tasks import processes
from rumpus.command_line import main
from rumpus.results.fingerprint import Fingerprint
from rumpus.runs.run_settings import RunSettings
from rumpus.runs.shard import Shard
from tests.rumpus.campaigns.running import double_barrier
from tests.sampling import one_in

PLAN = {
    "version": 1,
    "entries": [{"at": 1, "kind": "kill", "targets": {"role": "all"}, "duration": 0.2}],
}


@pytest.fixture
def settings(tmp_path):
    """Each run of kazoo's double barrier breaks, as its clients lose their connections."""
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(PLAN))
    return double_barrier(clients=2, time_limit=1.5, seed=0, plan=plan)


def explored(settings, inline, *, shrink=0, **options):
    ticks = count()
    explorer = Explorer(
        settings, inline, jobs=1, shrink=shrink, clock=lambda: next(ticks), **options
    )
    return explorer.explore(seeds=3)


def test_one_failure_is_found_once(settings, inline):
    """A leave that hangs in two runs, and an enter that hangs in one: both keep others waiting."""
    told = []
    found = explored(settings, inline, notify=lambda seen: told.append(seen.runs))
    assert (found.runs, len(found.findings.found), found.outcomes) == (3, 2, {"violation": 3})
    assert [(each.seed, each.runs) for each in found.findings.found] == [(0, 2), (2, 1)]
    at = [each.looks[0].traits.places[0].partition(" in ")[2] for each in found.findings.found]
    assert at == ["_inner_leave", "_inner_enter"]
    assert found.findings.found[0].case.expects.kind == "stuck-waiter"
    assert found.virtual_seconds > 3
    assert len(found.signatures) > 10
    assert told == [1, 2, 3]


def test_a_failure_is_shrunk(settings, inline):
    found = explored(settings, inline, shrink=6)
    for failure in found.findings.found:
        assert failure.shrunk
        assert failure.case.expects.faults == ("kill",)
        assert failure.shrinking_runs > 0


def test_a_known_failure_is_accepted(settings, inline):
    known = Fingerprint(kind="stuck-waiter", operations=("enter",), faults=("kill",))
    found = explored(settings, inline, known=[known])
    assert (found.findings.found, found.findings.accepted) == ([], 3)
    other = Fingerprint(kind="stuck-waiter", operations=("leave",))
    assert explored(settings, inline, known=[other]).findings.accepted == 0


def test_a_failure_that_needs_other_faults_is_another_one():
    seen = Fingerprint(kind="deadlock", operations=("acquire",))
    known = seen.after(["kill", "pause"])

    def explained(fingerprint, *kinds):
        return explains(known, Failure(seed=1, fingerprint=fingerprint, kinds=kinds))

    assert explained(seen, "client-kill", "kill", "pause")
    assert not explained(seen, "client-kill", "kill")
    assert not explained(Fingerprint(kind="deadlock"), "kill", "pause")


def test_a_run_that_cannot_be_performed_is_told(inline):
    settings = RunSettings(argv=(), workload="lock", recipe="none", ensemble="sim", seed=4)
    found = explored(settings, inline)
    assert (found.runs, found.findings.found) == (0, [])
    assert [(error.seed, error.exit_code) for error in found.errors] == [(4, 2), (5, 2), (6, 2)]


def test_the_budget_ends_an_exploration_and_what_is_done_then_is_looked_at(inline):
    settings = RunSettings(
        argv=(), workload="lock", ensemble="sim", clients=2, time_limit=1, nemesis=(), seed=0
    )
    ticks = count()
    tasks = []
    explorer = Explorer(settings, Kept(inline, tasks), jobs=1, clock=lambda: next(ticks))
    assert explorer.explore(budget=4).runs == len(tasks) >= WINDOW


def test_an_exploration_whose_runs_are_all_refused_ends_soon(inline):
    settings = RunSettings(argv=(), workload="lock", recipe="none", ensemble="sim", seed=0)
    found = Explorer(settings, inline, jobs=1, profile="light").explore(seeds=1000)
    assert {error.seed for error in found.errors} == {0, 1, 2, 3}


def plain(explored):
    """What must not depend on who performs the runs."""
    findings = explored.findings
    return {
        "runs": explored.runs,
        "virtual_seconds": round(explored.virtual_seconds, 6),
        "outcomes": explored.outcomes,
        "signatures": explored.signatures,
        "found": [(each.case, each.seed, each.runs) for each in findings.found],
        "errors": explored.errors,
    }


@pytest.fixture(scope="module")
def swarmed():
    """Explores swarm runs of the double barrier, some of which fail."""
    settings = double_barrier(
        clients=2, time_limit=3, seed=0, swarm="normal", fixed=("clients", "time_limit")
    )

    def explore(executor, **options):
        explorer = Explorer(settings, executor, shrink=3, **options)
        return explorer.explore(seeds=8)

    return explore


@one_in(3)
def test_the_findings_depend_on_the_seeds_alone(swarmed):
    with processes(2) as executor:
        alone = swarmed(executor, jobs=1)
        seen = [(each.seed, each.runs) for each in alone.findings.found]
        assert seen == [(0, 1), (2, 1), (6, 1)]
        parts = [
            part_of(swarmed(executor, jobs=2, shard=shard), shard, {}, interrupted=False)
            for shard in (Shard(2, 3), Shard(0, 3), Shard(1, 3))
        ]
    assert [len(part.made) for part in parts] == [1, 2, 0]
    assert plain(merge(parts)) == plain(alone)


def test_a_run_that_ends_its_process_is_a_finding(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    recipe = "tests.rumpus.campaigns.deadly_recipe:Deadly"
    words = f"explore lock --recipe {recipe} --clients 2 --time-limit 1 --nemesis none"
    assert main([*words.split(), "--seed", "4", "--seeds", "1", "--jobs", "1", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    (finding,) = told["findings"]
    assert (told["runs"], told["errors"], finding["seed"]) == (0, [], 4)
    assert finding["fingerprint"] == "ended-process by SIGSEGV"
    assert "deadly_recipe.py" in "".join(finding["story"])
    assert finding["again"].startswith(f"rumpus run lock --recipe {recipe} --ensemble sim")
    assert finding["again"].endswith("--seed 4")


@one_in(2)
def test_a_short_run_that_ends_its_process_is_a_finding_too(monkeypatch):
    monkeypatch.setattr(pieces, "ShortRunsTask", partial(ShortRunsTask, count=2))
    settings = RunSettings(
        argv=(),
        workload="lock",
        recipe="tests.rumpus.campaigns.deadly_recipe:Deadly",
        ensemble="sim",
        clients=2,
        time_limit=2.0,
        nemesis=("client-pause",),
        seed=2,
    )
    with processes(1) as executor:
        found = Explorer(settings, executor, jobs=1, profile="light").explore(seeds=1)
    assert (found.runs, found.errors) == (0, [])
    (death,) = found.findings.deaths
    assert (death.how, death.runs, death.seed) == ("SIGSEGV", 2, 2)
    assert death.argv[:4] == ("rumpus", "explore", "lock", "--recipe")
    assert " ".join(death.argv).endswith("--nemesis client-pause --seed 2 --seeds 1")


@one_in(2)
def test_all_kinds_of_runs_take_turns(inline):
    settings = RunSettings(
        argv=(),
        workload="lock",
        recipe="fair",
        ensemble="sim",
        clients=2,
        time_limit=2.0,
        nemesis=("client-pause",),
        seed=0,
        fixed=("clients", "nemesis", "time_limit"),
    )
    kept = []
    explorer = Explorer(settings, Kept(inline, kept), jobs=1, profile="light", corners=5)
    found = explorer.explore(seeds=8)
    assert [
        (each.settings.seed, each.settings.swarm) for each in kept if hasattr(each, "plan")
    ] == [
        (0, None),
        (1, "light"),
        (4, None),
        (5, "light"),
    ]
    assert [each.settings.seed for each in kept if hasattr(each, "profile")] == [2, 6]
    assert [each.number for each in kept if hasattr(each, "number")] == [5, 6]
    systematic = 2 * (1 + AT_ONCE)
    assert (found.systematic, found.short_runs) == (2, 2 * COUNT + systematic)
    assert found.runs == found.short_runs + 4 == sum(found.outcomes.values())
    assert sum(found.short_outcomes.values()) == found.short_runs
    assert (found.findings.found, found.errors) == ([], [])


class Kept:
    """Passes calls on, and keeps what is to be performed."""

    def __init__(self, executor, tasks):
        self._executor, self._tasks = executor, tasks

    def submit(self, function, task, *rest):
        self._tasks.append(task)
        return self._executor.submit(function, task, *rest)


def test_the_command_tells_and_keeps_what_it_finds(settings, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = "explore double-barrier --recipe kazoo --clients 2 --time-limit 1.5 --seed 0"
    words += f" --seeds 1 --jobs 1 --shrink 0 --plan {settings.plan}"
    assert main([*words.split(), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    (finding,) = told["findings"]
    assert (told["runs"], finding["kind"], finding["faults"]) == (1, "stuck-waiter", ["kill"])
    assert load_case(tmp_path / finding["case"]).expects.kind == "stuck-waiter"
    assert main([*words.split(), "--json", "--known", finding["case"]]) == 3
    assert json.loads(capsys.readouterr().out)["accepted"] == 1


def test_what_cannot_be_run_is_refused(capsys):
    assert main(["explore", "lock", "--recipe", "none", "--seeds", "1", "--jobs", "1"]) == 2
    assert "unknown recipe 'none'" in capsys.readouterr().err
