"""What a night puts on trial, and in which order: from its file, its project and nights before."""

import datetime as dt
import json
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.nights.asked import asked_before, asked_now
from rumpus.nights.expected import Expected, load_expected
from rumpus.nights.kept_cases import kept_cases
from rumpus.nights.memory.store_rows import SubjectPast
from rumpus.nights.night_file import Canaries, Job, NightFile
from rumpus.nights.planning import REASONS, make_plan, with_notes
from rumpus.nights.records import NightRow
from rumpus.nights.schedule import REAL_SPARE_S, rank
from rumpus.nights.subjects import on_trial, own_jobs
from rumpus.project_names import names_here
from rumpus.runs.shard import Shard
from rumpus.usage_error import UsageError
from tests.rumpus.nights.conftest import run
from tests.rumpus.nights.made import case_of_kind, on

PYPROJECT = """
[tool.rumpus.recipes.mine]
workload = "lock"
recipe = "nightshop_locks:Mine"

[tool.rumpus.recipes.poll]
workload = "election"
recipe = "nightshop_locks:Poll"

[tool.rumpus.workloads]
shop = "nightshop_trials:Shop"

[tool.rumpus.defaults]
clients = 4
"""
TRIALS = """
from rumpus.workloads.registry import WORKLOADS

class Shop(type(WORKLOADS["lock"])):
    pass
"""
NO_CANARIES = Canaries(share=0)


def again_of(row, path=None):
    return asked_before(row, path, names=names_here(), store=Path("runs/nights.sqlite"))


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    (tmp_path / "nightshop_locks.py").write_text("import nightshop_paths\n")
    (tmp_path / "nightshop_paths.py").write_text("")
    (tmp_path / "nightshop_trials.py").write_text(TRIALS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def trial(project):
    """The subjects of jobs of the project."""

    def make(*jobs):
        return on_trial(jobs, names_here(), project / "nightly.toml")

    return make


@pytest.fixture
def plan(project):
    """A plan of the project's own recipes, or of what is given."""

    def make(
        *jobs, past=None, last=(), engine=None, shard=None, seed=0, cases=(), canaries=NO_CANARIES,
        **file,
    ):  # fmt: skip
        for name, case in cases:
            path = project / "cases" / f"{name}.case.json"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(case.to_json())
        names = names_here()
        return make_plan(
            NightFile(jobs=jobs, canaries=canaries, **file),
            project / "nightly.toml",
            names,
            past=past or {},
            last=last,
            random=Random(seed),
            why_no_engine=engine,
            shard=shard,
        )

    return make


def keys(subjects):
    return [each.subject.key for each in subjects]


def test_own_recipes_are_those_of_the_project(trial):
    assert keys(trial(Job(workloads=("lock", "election")))) == [
        "lock / mine, sim",
        "election / poll, sim",
    ]


def test_a_project_that_says_nothing_runs_all_that_it_names(trial):
    jobs = own_jobs(names_here(), ["sim"])
    assert [job.workloads for job in jobs] == [("lock",), ("election",), ("shop",)]
    assert keys(trial(*jobs[:2])) == ["lock / mine, sim", "election / poll, sim"]


def test_an_own_workload_without_own_recipes_has_its_sound_ones(trial):
    of_lock = keys(trial(Job(workloads=("lock",), recipes="built-in")))
    assert of_lock
    assert keys(trial(Job(workloads=("shop",)))) == [
        key.replace("lock /", "shop /") for key in of_lock
    ]


def test_names_become_references_and_defaults_of_the_project_count(trial, project):
    (mine,) = trial(Job(workloads=("lock",)))
    assert mine.settings.recipe == "nightshop_locks:Mine"
    assert (mine.settings.clients, mine.settings.time_limit) == (4, 20.0)
    assert mine.files == [project / "nightshop_locks.py", project / "nightshop_paths.py"]


def test_built_in_recipes_are_the_sound_ones(trial):
    found = keys(trial(Job(workloads=("lock",), recipes="built-in")))
    assert "lock / fair, sim" in found
    assert not [key for key in found if "persistent-node" in key or "-bare" in key]


def test_the_source_of_a_built_in_recipe_is_known(trial):
    (fair,) = trial(Job(workloads=("lock",), recipes=("fair",)))
    assert {path.name for path in fair.files} >= {"contest_lock.py"}


@pytest.mark.parametrize("without", ["fair", "lock / fair"])
def test_what_is_left_out(trial, without):
    both = keys(trial(Job(workloads=("lock",), recipes="built-in")))
    rest = keys(trial(Job(workloads=("lock",), recipes="built-in", without=(without,))))
    assert rest == [key for key in both if key != "lock / fair, sim"]


def test_what_is_left_out_has_to_be_there(trial):
    job = Job(workloads=("lock",), recipes=("fair",), without=("election / fair", "fare"))
    with pytest.raises(UsageError, match=r"without: there is no election / fair, fare"):
        trial(job)


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (Job(workloads=("teapot",)), "teapot"),
        (Job(workloads=("lock",), recipes=("fiar",)), "'fiar'"),
        (Job(workloads=("lock",), recipes=("poll",)), "'poll'"),
        (Job(workloads=("barrier",)), "there is no recipe"),
        (Job(workloads=("lock",), without=("mine",)), "there is no recipe"),
        (Job(workloads=("lock",), options={"tea": 1}), "tea"),
        (Job(workloads=("lock",), options={"clients": "many"}), "clients"),
        (Job(workloads=("lock",), kazoo=("",), options={"clients": 0}), "clients"),
    ],
)
def test_what_does_not_exist_is_named(trial, job, words):
    with pytest.raises(UsageError) as refused:
        trial(Job(workloads=("election",)), job)
    assert words in str(refused.value)


def test_the_place_of_what_is_wrong_is_named(trial, project):
    with pytest.raises(UsageError) as refused:
        trial(Job(workloads=("election",)), Job(workloads=("lock",), options={"tea": 1}))
    assert str(refused.value).startswith(f"{project / 'nightly.toml'}: jobs[1].options")


def test_versions_of_servers_are_those_of_real_ones(trial):
    job = Job(
        workloads=("lock",),
        worlds=("sim", "docker"),
        zookeeper=("3.8.4", "3.9.3"),
        kazoo=("2.10.0", "2.11.0"),
    )
    assert keys(trial(job)) == [
        "lock / mine, sim, kazoo 2.10.0",
        "lock / mine, sim, kazoo 2.11.0",
        "lock / mine, docker, zookeeper 3.8.4, kazoo 2.10.0",
        "lock / mine, docker, zookeeper 3.8.4, kazoo 2.11.0",
        "lock / mine, docker, zookeeper 3.9.3, kazoo 2.10.0",
        "lock / mine, docker, zookeeper 3.9.3, kazoo 2.11.0",
    ]


def test_versions_reach_the_runs_and_the_source(trial):
    job = Job(workloads=("lock",), worlds=("docker",), zookeeper=("3.8.4", "3.9.3"))
    first, second = trial(job)
    assert (first.settings.zookeeper, second.settings.zookeeper) == ("3.8.4", "3.9.3")
    assert first.source != second.source
    assert (first.kinds, first.settings.time_limit) == (("usual",), 30.0)


def test_options_reach_the_runs_and_the_name(trial):
    job = Job(workloads=("lock",), options={"clients": 7, "time-limit": 20})
    (mine,) = trial(job)
    assert (mine.settings.clients, mine.settings.time_limit) == (7, 20.0)
    assert {"clients", "time_limit", "recipe"} <= set(mine.settings.fixed)
    assert mine.subject.key == "lock / mine, sim, clients=7, time-limit=20"


def test_of_two_that_are_alike_the_first_counts(trial):
    jobs = [Job(workloads=("lock",), weight=weight, kinds=("usual",)) for weight in (3, 1)]
    (mine,) = trial(*jobs)
    assert (mine.weight, mine.kinds) == (3, ("usual",))


def past_of(each, **more):
    return SubjectPast(**{"last": 5.0, "night": "2026-11-01", "source": each.source, **more})


def test_new_and_changed_ones_come_first_then_those_that_failed_then_the_oldest(trial, plan):
    job = Job(workloads=("lock",), recipes=("fair", "kazoo", "mine", "nightshop_locks:A"))
    fair, kazoo, mine, other = trial(job)
    past = {
        fair.subject.key: past_of(fair, last=2.0),
        kazoo.subject.key: past_of(kazoo, last=9.0, failed=True),
        mine.subject.key: past_of(mine, last=9.0, source="another"),
        other.subject.key: past_of(other, last=1.0),
    }
    made = plan(job, past=past)
    assert [each.subject.recipe for each in made.subjects] == [
        "mine",
        "kazoo",
        "nightshop_locks:A",
        "fair",
    ]
    assert [made.reason(each) for each in made.subjects] == [
        REASONS[0], REASONS[1], REASONS[2], REASONS[2]
    ]  # fmt: skip


pasts = st.none() | st.builds(
    SubjectPast,
    last=st.floats(0, 10),
    night=st.just("n"),
    failed=st.booleans(),
    unperformed=st.booleans(),
    source=st.sampled_from(["s", "t", ""]),
)


@given(st.lists(pasts, max_size=8))
def test_ranks_are_in_groups(given_pasts):
    pairs = [(on(f"r{number}"), past) for number, past in enumerate(given_pasts)]
    pairs.sort(key=lambda pair: rank(*pair))
    groups = []
    for each, past in pairs:
        if past is None or past.source != each.source:
            groups.append((0, 0.0))
        else:
            groups.append((1 if past.failed or past.unperformed else 2, past.last))
    assert groups == sorted(groups)


CASES = [(f"c{number}", case_of_kind(seed=number)) for number in range(7)]


def case_names(made):
    return [each.name for each in made.cases]


def test_cases_that_were_not_as_they_should_come_first_then_those_without_a_turn(plan):
    found = {"c0": "shown", "c2": "mended", "c3": "regression", "c4": "unperformed", "c6": "stale"}
    last = [run(role="case", name=name, found=state) for name, state in found.items()]
    made = plan(cases=CASES, last=last)
    assert case_names(made) == ["c3", "c4", "c6", "c1", "c5", "c0", "c2"]


@pytest.mark.parametrize("of", [2, 3, 9])
def test_shards_of_cases_and_canaries_are_disjoint_and_whole(plan, of):
    canaries = Canaries(share=0.1, families="all")
    whole = plan(cases=CASES, canaries=canaries)
    parts = [plan(cases=CASES, canaries=canaries, shard=Shard(number, of)) for number in range(of)]
    for names in (case_names, lambda made: [each.name for each in made.canaries]):
        told = [name for part in parts for name in names(part)]
        assert sorted(told) == sorted(names(whole))
        assert len(set(told)) == len(told)


def test_shards_are_disjoint_on_machines_that_remember_different_nights(plan):
    lasts = [[run(role="case", name="c6", found="stale")], []]
    parts = [
        plan(cases=CASES, last=last, shard=Shard(number, 2)) for number, last in enumerate(lasts)
    ]
    told = [name for part in parts for name in case_names(part)]
    assert sorted(told) == [name for name, _ in CASES]


def test_a_shard_knows_all_cases_that_are_to_show_their_failures(plan):
    known = [(f"k{number}", case_of_kind(seed=number, known=True)) for number in range(3)]
    made = plan(cases=[*CASES, *known], shard=Shard(0, 4))
    assert [each.name for each in made.to_show] == ["k0", "k1", "k2"]


def test_a_malformed_case_is_trouble_and_the_others_run(plan, project):
    (project / "cases").mkdir()
    (project / "cases" / "bad.case.json").write_text("{")
    made = plan(cases=CASES[:1])
    assert case_names(made) == ["c0"]
    (trouble,) = made.troubles
    assert (trouble.kind, "bad.case.json" in trouble.what) == ("usage", True)


def test_without_an_engine_real_servers_are_trouble_and_the_rest_runs(plan):
    job = Job(workloads=("lock",), worlds=("sim", "docker"))
    real = case_of_kind(settings={"workload": "lock", "ensemble": "docker"})
    made = plan(job, engine="no engine is here", cases=[*CASES[:1], ("real", real)])
    assert keys(made.subjects) == ["lock / mine, sim"]
    assert made.worlds == ["sim"]
    assert case_names(made) == ["c0"]
    (trouble,) = made.troubles
    assert trouble.kind == "world"
    assert "no engine is here" in trouble.what


def test_with_an_engine_real_servers_are_a_world(plan):
    made = plan(Job(workloads=("lock",), worlds=("sim", "docker")))
    assert (made.worlds, made.troubles, made.notes) == (["sim", "docker"], [], [])


def test_a_budget_too_small_for_real_servers_is_a_note(plan):
    job = Job(workloads=("lock",), worlds=("sim", "docker"))
    least = 30.0 + REAL_SPARE_S
    made = plan(job, budget=least - 1)
    assert keys(made.subjects) == ["lock / mine, sim"]
    assert made.worlds == ["sim"]
    (note,) = made.notes
    assert f"{least:.0f} s" in note
    assert plan(job, budget=least).notes == []


def test_canaries_are_of_the_families_on_trial(plan):
    usual = Canaries(share=0.1)
    lock = {each.family for each in plan(Job(workloads=("lock",)), canaries=usual).canaries}
    assert lock == {"lock"}
    assert plan(Job(workloads=("election",)), canaries=Canaries(families=("lock",))).canaries
    assert plan(Job(workloads=("lock",)), canaries=NO_CANARIES).canaries == []


def test_notes_are_added(plan):
    assert with_notes(plan(), "a", "", "b").notes == ["a", "b"]


def test_the_order_is_that_of_the_seed(plan):
    canaries = Canaries(families="all")
    one, two = ([each.name for each in plan(canaries=canaries, seed=5).canaries] for _ in range(2))
    assert one == two


EXPECTED = '[[expected]]\nfailure = "3f2a91"\nreason = "it is old"\nuntil = 2027-01-31\n'


def test_expected_failures_are_read_and_end(plan, project):
    (project / "expected-failures.toml").write_text(EXPECTED)
    (made,) = plan().expected
    assert str(made) == "3f2a91 (it is old, until 2027-01-31)"
    last = dt.date(2027, 1, 31)
    assert made.covers("3f2a91c0de", last)
    assert not made.covers("3f2a91c0de", last + dt.timedelta(days=1))
    assert not made.covers("4f2a91c0de", last)
    assert plan(expected="elsewhere.toml").expected == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("expected = 1", "expected"),
        ("[[expeced]]\nfailure = 1", "expeced"),
        (EXPECTED.replace("3f2a91", "3f2"), "'3f2'"),
        (EXPECTED.replace("2027-01-31", '"soon"'), "until"),
        (EXPECTED.replace('reason = "it is old"', ""), "reason"),
        (EXPECTED + "why = 1", "why"),
        ("= 1", "not TOML"),
    ],
)
def test_a_malformed_file_of_expectations_is_refused(tmp_path, text, words):
    path = tmp_path / "expected.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        load_expected(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert words in str(refused.value)


def test_a_file_that_is_not_there_expects_nothing(tmp_path):
    assert load_expected(tmp_path / "none.toml") == ()
    assert Expected(failure="abcd", reason="", until=dt.date.max).covers("abcdef", dt.date.max)


@pytest.mark.usefixtures("no_engine")
def test_the_usual_file_is_read_if_there_is_one(project):
    names = names_here()
    all_of_it = asked_now(None, names)
    assert all_of_it.file.jobs == tuple(own_jobs(names, ["sim"]))
    assert "real servers were not tested" in all_of_it.notes[0]
    (project / "nightly.toml").write_text("budget = 5\n")
    assert asked_now(None, names).file == NightFile(budget=5)


COMMANDS = '[[commands]]\nname = "x"\nrun = ["true"]\n'


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize("below", ["", "nodes"])
def test_the_usual_file_in_the_run_of_somebody_is_ignored(project, monkeypatch, below):
    place = project / "sent" / below
    place.mkdir(parents=True)
    for each in ("test.json", "seal.json"):
        (project / "sent" / each).write_text("{}")
    (place / "nightly.toml").write_text(COMMANDS)
    monkeypatch.chdir(place)
    asked = asked_now(None, names_here())
    assert asked.file.commands == ()
    assert asked.notes[0].startswith("nightly.toml is ignored: it lies in the run ")
    assert asked_now(Path("nightly.toml"), names_here()).file.commands != ()
    (project / "pyproject.toml").unlink()
    with pytest.raises(UsageError, match=r"nothing to run here.*nightly\.toml is ignored"):
        asked_now(None, names_here())


def test_a_night_of_a_stranger_does_not_go_on_with_commands_of_its_own(project):
    file = project / "nightly.toml"
    file.write_text(COMMANDS)
    asked = asked_now(None, names_here())
    row = NightRow(name="2026-11-26", began=0.0, asked=json.loads(json.dumps(asked.plain())))
    assert again_of(row).file == asked.file
    file.write_text(COMMANDS.replace("true", "false"))
    with pytest.raises(UsageError, match=r"commands that nightly\.toml does not have: name the"):
        again_of(row)
    named = project / "named.toml"
    named.write_text(COMMANDS)
    assert again_of(row, named).file == asked.file
    file.unlink()
    with pytest.raises(UsageError, match="commands that no file here has: name the"):
        again_of(row)


@pytest.mark.usefixtures("no_engine")
def test_nothing_to_run_is_refused(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[tool.rumpus]\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="there is nothing to run here"):
        asked_now(None, names_here())
    (tmp_path / "cases").mkdir()
    assert asked_now(None, names_here()).file.jobs == ()


@pytest.mark.usefixtures("no_engine")
def test_a_night_goes_on_with_what_it_was_asked(project):
    (project / "nightly.toml").write_text(
        'budget = "1h"\n[[jobs]]\nworkloads = ["lock"]\noptions = { clients = 3 }\n'
    )
    asked = asked_now(None, names_here())
    row = NightRow(name="2026-11-26", began=0.0, asked=json.loads(json.dumps(asked.plain())))
    again = again_of(row)
    assert (again.file, again.path) == (asked.file, asked.path)


@pytest.mark.parametrize("asked", [{}, {"path": 1, "notes": [], "file": {}}, {"path": "x"}])
def test_a_night_that_does_not_say_what_it_was_asked_cannot_go_on(asked):
    with pytest.raises(UsageError, match="2026-11-26"):
        again_of(NightRow(name="2026-11-26", began=0.0, asked=asked))


def test_a_night_of_another_program_cannot_go_on():
    file = msgspec.to_builtins(NightFile()) | {"more": 1}
    row = NightRow(name="n", began=0.0, asked={"path": "x", "notes": [], "file": file})
    with pytest.raises(UsageError, match="the night n"):
        again_of(row)


def test_cases_of_files_and_folders_have_names(tmp_path):
    for name in ("a.case.json", "b/c.case.json"):
        path = tmp_path / "cases" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(case_of_kind().to_json())
    (tmp_path / "cases" / "notes.json").write_text("{")
    lone = tmp_path / "cases" / "b" / "c.case.json"
    found, wrong = kept_cases([tmp_path / "cases", lone, tmp_path / "missing"])
    assert ([each.name for each in found], wrong) == (["a", "b/c", "c"], [])
