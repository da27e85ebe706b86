import msgspec
import pytest

from rumpus.campaigns.case import Case
from rumpus.nemesis.plan import FaultPlan
from rumpus.nights.memory.store import Store
from rumpus.nights.records import NightRow, RunRow, Subject, Trouble
from rumpus.results.fingerprint import Fingerprint
from rumpus.usage_error import UsageError
from tests.rumpus.nights.conftest import DAY, FAIR, failure, night, run

CASE = Case(
    settings={"workload": "lock", "recipe": "fair"},
    seed=7,
    plan=FaultPlan(version=1, entries=()),
    expects=Fingerprint(kind="double-grant"),
)
FULL_NIGHT = NightRow(
    name="2026-11-26",
    began=5.5,
    ended=9.0,
    budget=60.0,
    seconds=3.5,
    seed=2**62,
    interrupted=True,
    branch="main",
    commit="abc123",
    versions={"kazoo": "2.11.0"},
    asked={"subjects": [{"workload": "lock"}], "deep": {"list": [1, None, True]}},
    headline="all is well\nor is it?",
    exit_code=3,
    counts={"runs": 3},
    troubles=(Trouble(kind="unstable", what="a canary\x1b stayed green", runs=2),),
    shard="1/2",
)
FULL_RUN = RunRow(
    role="case",
    subject=FAIR.key,
    name="a.case.json",
    kind="case",
    seed=2**62,
    outcome="violation",
    why="broken",
    exit_code=1,
    at=12.5,
    seconds=1.5,
    cpu_seconds=1.25,
    virtual_seconds=30.0,
    operations=400,
    digest="d1",
    versions={"kazoo": "2.11.0", "zookeeper": "3.9.3"},
    figures={"latency": 1.5, "fairness": 0.0},
    failures=(failure().id,),
    faults=("kill", "pause"),
)


def test_what_is_put_in_comes_out(path):
    with Store.opened(path, write=True) as store:
        store.begin_night(msgspec.structs.replace(FULL_NIGHT, ended=None, headline=""))
        store.update_night(FULL_NIGHT)
        store.note_failure(failure(case=CASE, shrunk=True, blamed="servers"))
        store.note_run("2026-11-26", FULL_RUN)
        store.note_run("2026-11-26", run(outcome=None, why="no docker", versions={}))
    with Store.opened(path) as store:
        assert store.nights() == [FULL_NIGHT]
        assert store.runs("2026-11-26") == [
            FULL_RUN,
            run(outcome=None, why="no docker", versions={}),
        ]
        assert store.failures() == [
            failure(
                case=CASE,
                shrunk=True,
                blamed="servers",
                first_night="2026-11-26",
                last_night="2026-11-26",
                first_seen=12.5,
                last_seen=12.5,
                runs=1,
            )
        ]
        assert store.failure(failure().id[:4]) == store.failures()[0]
        assert store.case_text(failure().id) == CASE.to_json().decode()


def test_nights_have_names(store):
    assert store.new_name("2026-11-26") == "2026-11-26"
    for number, name in enumerate(["2026-11-26", "2026-11-26.2", "2026-11-26.3"]):
        assert store.new_name("2026-11-26") == name
        store.begin_night(NightRow(name=name, began=float(number), ended=number or None))
    assert store.night("last").name == "2026-11-26.3"
    assert store.night("last~0").name == "2026-11-26.3"
    assert store.night("last~2").name == "2026-11-26"
    assert store.night("2026-11-26.2").began == 1.0
    assert store.unfinished() == store.night("2026-11-26")
    with pytest.raises(UsageError, match="already"):
        store.begin_night(NightRow(name="2026-11-26", began=9.0))


@pytest.mark.parametrize("name", ["last~7", "last~", "last~x", "2026-11-8", ""])
def test_a_night_that_does_not_exist_is_refused_with_those_that_do(store, name):
    with pytest.raises(UsageError, match="no nights yet"):
        store.night(name)
    for number in range(1, 8):
        store.begin_night(night(number))
    with pytest.raises(UsageError, match="no such night") as refused:
        store.night(name)
    assert str(refused.value).endswith(
        "the newest are 2026-11-07, 2026-11-06, 2026-11-05, 2026-11-04, 2026-11-03"
    )
    for method in (store.runs, lambda name: store.note_run(name, run())):
        with pytest.raises(UsageError, match="no such night"):
            method("2027-01-01")


def test_failures_are_named_by_the_beginning_of_their_names(store):
    with pytest.raises(UsageError, match="none so far"):
        store.failure("abcd")
    names = set()
    kinds = (f"kind-{number}" for number in range(100_000))
    while len({name[:4] for name in names}) == len(names):
        made = failure(next(kinds))
        store.note_failure(made)
        names.add(made.id)
    with pytest.raises(UsageError, match="at least 4 digits"):
        store.failure(made.id[:3])
    with pytest.raises(UsageError, match="several failures"):
        store.failure(made.id[:4])
    assert store.failure(made.id.upper()).id == made.id
    with pytest.raises(UsageError, match="no such failure; the last ones are"):
        store.failure("%%%%")


def test_a_failure_keeps_its_case_and_when_it_was_seen(store):
    store.begin_night(night(1))
    store.begin_night(night(2))
    store.note_failure(failure())
    store.note_run(night(1).name, run(failures=(failure().id,), outcome="violation", at=10.0))
    store.note_failure(failure(case=CASE, shrunk=True))
    store.note_run(night(2).name, run(failures=(failure().id,) * 2, outcome="violation", at=20.0))
    store.note_failure(failure(runs=99, last_seen=1e9))
    kept = store.failure(failure().id)
    assert (kept.case, kept.shrunk, kept.runs) == (CASE, True, 2)
    assert (kept.first_night, kept.first_seen) == (night(1).name, 10.0)
    assert (kept.last_night, kept.last_seen) == (night(2).name, 20.0)
    with pytest.raises(ValueError, match="not been noted"):
        store.note_run(night(1).name, run(failures=("0123456789",)))
    assert len(store.runs(night(1).name)) == 1


def test_a_case_that_this_program_cannot_read_does_not_hide_the_failure(store):
    store.note_failure(failure(case=CASE))
    with store._file.change() as connection:
        text = '{"settings": {"workload": "lock", "gone": 1}, "seed": 1}'
        connection.execute("UPDATE failures SET kept_case = ?", [text])
    assert store.failures()[0].case is None
    assert store.case_text(failure().id) == text
    with pytest.raises(ValueError, match="beef"):
        store.case_text("beef")


def test_a_failure_that_shrinking_gave_another_fingerprint(store):
    """All that was seen of the old one was seen of the new one; a run with both counts once."""
    old, new = failure(), failure(fingerprint=Fingerprint(kind="double-grant", faults=("kill",)))
    store.begin_night(night(1))
    store.begin_night(night(2))
    store.note_failure(old)
    store.note_run(night(1).name, run(1, failures=(old.id,), outcome="violation", at=1.0))
    store.replace_failure(old.id, new)
    assert [(each.id, each.runs) for each in store.failures()] == [(new.id, 1)]
    assert store.failures()[0].first_night == night(1).name

    store.note_failure(old)
    store.note_run(night(2).name, run(2, failures=(old.id, new.id), outcome="violation", at=2.0))
    store.note_run(night(2).name, run(3, failures=(old.id,), outcome="violation", at=3.0))
    store.note_run(night(2).name, run(4, at=4.0))
    store.replace_failure(old.id, msgspec.structs.replace(new, case=CASE))
    (merged,) = store.failures()
    assert (merged.id, merged.runs, merged.case) == (new.id, 3, CASE)
    assert (merged.first_night, merged.first_seen) == (night(1).name, 1.0)
    assert (merged.last_night, merged.last_seen) == (night(2).name, 3.0)
    assert store.sightings(new.id) == [(night(2).name, 2, 3), (night(1).name, 1, 1)]
    assert [each.failures for each in store.runs(night(2).name)] == [(new.id,), (new.id,), ()]

    store.replace_failure(new.id, msgspec.structs.replace(new, shrunk=True, case=CASE))
    assert store.failures()[0].shrunk
    with pytest.raises(ValueError, match="not been noted"):
        store.replace_failure("0123456789", new)


def test_sightings_count_the_runs_of_the_workload_and_recipe(store):
    elsewhere = msgspec.structs.replace(FAIR, world="docker")
    other = Subject(workload="lock", recipe="fairer")
    for number in (1, 2, 3):
        store.begin_night(night(number))
    store.note_failure(failure())
    shown = {"failures": (failure().id,), "outcome": "violation"}
    store.note_run(night(1).name, run(1, **shown))
    store.note_run(night(1).name, run(2, subject=elsewhere.key))
    store.note_run(night(1).name, run(3, subject=other.key))
    store.note_run(night(1).name, run(4, role="case", name="a", **shown))
    store.note_run(night(2).name, run(5))
    store.note_run(night(3).name, run(6, outcome=None))
    assert store.sightings(failure().id) == [(night(2).name, 0, 1), (night(1).name, 2, 3)]
    assert store.sightings(failure().id, roles=["run"]) == [
        (night(2).name, 0, 1),
        (night(1).name, 1, 2),
    ]


def test_runs_are_found_by_software(store):
    store.begin_night(night(1))
    store.begin_night(night(2))
    store.note_run(night(1).name, run(1, versions={"kazoo": "2.10.0", "python": "3.11.2"}))
    store.note_run(night(2).name, run(2, versions={"kazoo": "2.10.0"}))
    store.note_run(night(2).name, run(3, versions={"kazoo": "2.11.0"}))
    assert [each.seed for each in store.runs_with("kazoo", "2.10.0")] == [1, 2]
    assert store.runs_with("kazoo", "2.10") == []
    assert store.runs_with('ka"zoo', "2.10") == []
    (one, two) = store.rates(version=("kazoo", "2.10.0"), figures=False)
    assert (one.night, two.night, one.figures) == (night(1).name, night(2).name, {})
    assert store.rates([night(1).name], version=("kazoo", "2.11.0")) == []
    assert store.versions() == {"kazoo": ["2.10.0", "2.11.0"], "python": ["3.11.2"]}


def test_what_is_known_of_subjects(store):
    other = Subject(workload="lock", recipe="other")
    for number in (1, 2, 3):
        store.begin_night(night(number))
    store.note_source(night(1).name, FAIR, "s1")
    store.note_run(night(1).name, run(1, outcome="violation", at=1.0, seconds=2.0))
    store.note_run(night(1).name, run(2, outcome=None, at=2.0, seconds=50.0, subject=other.key))
    store.note_source(night(2).name, FAIR, "s2")
    store.note_run(night(2).name, run(3, at=DAY, seconds=4.0, versions={"kazoo": "2.12.0"}))
    store.note_run(night(3).name, run(4, role="case", name="c", at=9 * DAY, outcome="violation"))
    past = store.subjects_last()
    assert past.keys() == {FAIR.key, other.key}
    fair = past[FAIR.key]
    assert (fair.last, fair.night, fair.failed, fair.unperformed) == (
        DAY,
        night(2).name,
        False,
        False,
    )
    assert (fair.versions, fair.source, fair.seconds, fair.runs) == (
        {"kazoo": "2.12.0"},
        "s2",
        3.0,
        2,
    )
    assert past[other.key].unperformed
    assert not past[other.key].failed
    assert (past[other.key].seconds, past[other.key].source) == (0.0, "")


def test_canaries_are_counted(store):
    store.begin_night(night(1))
    for outcome in ("violation", "valid", "violation", None):
        store.note_run(night(1).name, run(role="canary", name="lock / greedy", outcome=outcome))
    assert store.canary_past() == {"lock / greedy": (2, 3)}
