"""``rumpus nights``, ``failure`` and ``compare``: what they print, and how they end."""

import json

import pytest

from rumpus.campaigns.case import Case, load_case
from rumpus.nemesis.plan import FaultPlan
from rumpus.nights.memory.store import DEFAULT, Store
from rumpus.nights.records import FailureRow, NightRow, RunRow, Subject, Trouble
from rumpus.results.fingerprint import Fingerprint
from tests.rumpus.campaigns.conftest import deadlocked
from tests.rumpus.commands.refusals import refused

FAIR = Subject(workload="lock", recipe="fair")
ON_DOCKER = Subject(workload="lock", recipe="fair", world="docker")
CASE = Case(
    settings={"workload": "lock", "recipe": "fair"},
    seed=7,
    plan=FaultPlan(version=1, entries=()),
    expects=Fingerprint(kind="double-grant", operations=("acquire",)),
    story=("c0 was granted the lock", "c1 was granted it\ntoo"),
)
GRANT = FailureRow(workload="lock", recipe="fair", fingerprint=CASE.expects, case=CASE, shrunk=True)
DEATH = FailureRow(workload="lock", recipe="fair", fingerprint=Fingerprint(kind="death"))
DAY = 86_400.0


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def nights():
    """Two nights: in the second a failure appears, and the lock is slower."""
    with Store.opened(DEFAULT, write=True) as store:
        store.note_failure(GRANT)
        store.note_failure(DEATH)
        for number, slowness in ((1, 1.0), (2, 1.5)):
            name = f"2026-11-0{number}"
            row = NightRow(name=name, began=number * DAY, branch="main", commit=f"c{number}")
            store.begin_night(row)
            for seed in range(20):
                broken = number == 2 and seed < 4
                run = RunRow(
                    role="run",
                    subject=FAIR.key,
                    kind="usual",
                    seed=seed,
                    outcome="violation" if broken else "valid",
                    at=number * DAY + seed,
                    versions={"kazoo": f"2.1{number}.0"},
                    figures={"latency": slowness * (10 + seed % 3)},
                    failures=(GRANT.id,) if broken else (),
                )
                store.note_run(name, run)
        store.note_run(name, RunRow(role="run", subject=ON_DOCKER.key, outcome="valid"))
        troubles = (Trouble(kind="unstable", what="a canary stayed green"),)
        headline = "1 new failure\x1b[31m"
        store.update_night(
            NightRow(
                name=name,
                began=2 * DAY,
                ended=3 * DAY,
                seconds=3700.0,
                headline=headline,
                branch="main",
                commit="c2",
                troubles=troubles,
            )
        )


@pytest.mark.usefixtures("nights")
def test_nights_are_listed(rumpus):
    code, out, _ = rumpus("nights")
    assert code == 0
    newer = (
        "2026-11-02  1 new failure\\x1b[31m; runs: 1 on docker, 20 on sim, "
        "1 new, 0 known failures, 1 troubles, 1 h 02 min; main@c2"
    )
    older = (
        "2026-11-01  no headline; runs: 20 on sim, 0 new, 0 known failures, 0 troubles, "
        "not ended; main@c1"
    )
    assert out.splitlines() == [newer, older]
    code, out, _ = rumpus("nights", "--json")
    first, second = json.loads(out)["nights"]
    assert first["new_failures"] == [GRANT.id]
    assert first["runs"] == {"docker": 1, "sim": 20}
    assert second["new_failures"] == []


@pytest.mark.usefixtures("nights")
def test_rates_are_told_over_all_nights(rumpus):
    with Store.opened(DEFAULT, write=True) as store:
        night = store.nights()[0].name
        for outcome in ("inconclusive", None):
            store.note_run(night, RunRow(role="run", subject=FAIR.key, outcome=outcome))
        for role in ("case", "canary"):  # they are there because they fail
            store.note_run(night, RunRow(role=role, subject=FAIR.key, outcome="violation"))
    answer = rumpus("nights", "--rates")
    assert answer.code == 0
    on_docker = "violations: 0 of 1 runs, 0 % (0 to 79.3 with 95 %); decided: 1"
    on_sim = "violations: 4 of 41 runs, 9.76 % (3.86 to 22.5 with 95 %); decided: 40"
    assert answer.out.splitlines() == [
        f"lock / fair, docker  {on_docker}",
        f"lock / fair, sim  {on_sim}; double-grant in 4",
    ]
    _, rate = json.loads(rumpus("nights", "--rates", "--json").out)["rates"]
    assert (rate["runs"], rate["decided"], rate["kinds"]) == (41, 40, {"double-grant": 4})


def test_a_rate_says_whose_fault_an_anomaly_is(rumpus):
    lost = FailureRow(
        workload="lock",
        recipe="fair",
        fingerprint=Fingerprint(kind="lost-transaction"),
        blamed="servers",
    )
    with Store.opened(DEFAULT, write=True) as store:
        store.note_failure(lost)
        store.begin_night(NightRow(name="n", began=1.0))
        run = RunRow(role="run", subject=FAIR.key, failures=(lost.id,), outcome="violation")
        store.note_run("n", run)
    assert rumpus("nights", "--rates").out.endswith("decided: 1; lost-transaction (servers) in 1\n")


def test_there_are_no_rates_without_runs(rumpus):
    with Store.opened(DEFAULT, write=True):
        assert rumpus("nights", "--rates").out == "no runs yet: rumpus nightly makes them\n"


def test_a_failure_is_known_after_its_first_night(rumpus):
    with Store.opened(DEFAULT, write=True) as store:
        store.note_failure(GRANT)
        for number in (1, 2):
            store.begin_night(NightRow(name=f"n{number}", began=float(number)))
            run = RunRow(role="run", subject=FAIR.key, failures=(GRANT.id,), outcome="violation")
            store.note_run(f"n{number}", run)
    rows = json.loads(rumpus("nights", "--json")[1])["nights"]
    assert [(each["new_failures"], each["known_failures"]) for each in rows] == [
        ([], [GRANT.id]),
        ([GRANT.id], []),
    ]


def test_what_is_worse_since_a_night_is_told(rumpus):
    def begin(number, branch, broken):
        name = f"{branch}-{number:02}"
        store.begin_night(NightRow(name=name, began=number * DAY, branch=branch))
        for run in range(40):
            outcome = "violation" if run < broken else "valid"
            store.note_run(name, RunRow(role="run", subject=FAIR.key, seed=run, outcome=outcome))

    with Store.opened(DEFAULT, write=True) as store:
        for number in range(12):
            begin(number, "main", 0 if number < 10 else 4)
        begin(5, "other", 20)
    code, out, _ = rumpus("nights")
    assert code == 0
    said = "worse: failure rate of lock / fair, sim: from 0 % to 10 % since main-10"
    assert out.splitlines()[-1] == said
    (trend,) = json.loads(rumpus("nights", "--json")[1])["trends"]
    assert (trend["what"], trend["first"]) == ("failure rate", "main-10")


@pytest.mark.parametrize("words", [["nights"], ["failure", "abcd"], ["compare", "last", "last~1"]])
def test_without_a_store_it_is_said_how_one_is_made(rumpus, words):
    assert "runs/nights.sqlite: no nights yet: rumpus nightly makes them" in refused(rumpus(*words))


def test_a_file_that_is_no_store_is_refused(rumpus, tmp_path):
    file = tmp_path / "notes"
    file.write_text("some notes")
    assert "it is no store of nights" in refused(rumpus("nights", "--store", str(file)))


@pytest.mark.usefixtures("nights")
def test_a_failure_is_told_with_its_rate_and_its_replay(rumpus, tmp_path):
    code, out, _ = rumpus("failure", GRANT.id[:5])
    assert code == 0
    assert f"{GRANT.id}  lock / fair: double-grant of acquire" in out
    assert "first seen: 2026-11-02 (1970-01-03 00:00 UTC)" in out
    assert "4 of 21 runs since then, 19 % (7.67 to 40 with 95 %)" in out
    assert "2026-11-02: 4 of 21 runs" in out
    assert "kazoo 2.12.0" in out
    assert "c1 was granted it\\ntoo" not in out
    assert "c0 was granted the lock" in out
    file = "cases/lock-fair-double-grant.case.json"
    assert f"write it:   rumpus failure {GRANT.id} --case {file}" in out
    assert f"again:      rumpus replay {file}" in out
    code, out, _ = rumpus("failure", GRANT.id, "--case", file, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["rate"]["runs"] == 4
    assert told["again"] == f"rumpus replay {file}"
    assert load_case(tmp_path / file) == CASE


@pytest.mark.usefixtures("nights")
def test_a_failure_without_a_case_has_none_to_write(rumpus, tmp_path):
    code, out, _ = rumpus("failure", DEATH.id)
    assert code == 0
    assert "none was kept" in out
    assert "first seen: never" in out
    said = refused(rumpus("failure", DEATH.id, "--case", "a.case.json"))
    assert "no case of it was kept" in said
    assert not (tmp_path / "a.case.json").exists()


@pytest.mark.usefixtures("nights")
def test_failures_that_do_not_exist_are_refused(rumpus):
    assert "at least 4 digits" in refused(rumpus("failure", "abc"))
    said = refused(rumpus("failure", "zzzz"))
    assert "there is no such failure; the last ones are: " in said
    assert GRANT.id in said


@pytest.mark.usefixtures("nights")
def test_two_nights_are_compared(rumpus):
    code, out, _ = rumpus("compare", "last~1", "last")
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "last is worse than last~1: 1 new failure, 1 rate or figure worse"
    assert lines[1:3] == [
        "A: last~1, 20 runs of 1 night",
        "B: last, 20 runs of 1 night",
    ]
    grant = f"lock / fair: double-grant of acquire ({GRANT.id})"
    assert lines[4] == f"new   {grant}: 0 of 20, then 4 of 20 runs"
    (latency,) = [line for line in lines if line.startswith("latency")]
    assert "1.5 (1.43 to 1.57) times" in latency
    assert "worse, p = " in latency
    (rate,) = [line for line in lines if line.startswith("failure rate")]
    assert "no evidence of change" in rate
    assert lines[-1] == "only in B, not compared: lock / fair, docker"
    back = rumpus("compare", "last", "last~1")
    assert back[0] == 0
    assert back[1].startswith("last~1 is not worse than last")


@pytest.mark.usefixtures("nights")
def test_a_comparison_is_a_document_or_markdown(rumpus):
    code, out, _ = rumpus("compare", "kazoo=2.11.0", "kazoo=2.12.0", "--json")
    told = json.loads(out)
    assert (code, told["exit_code"], told["outcome"], told["regressions"]) == (1, 1, "violation", 2)
    assert told["failures"][0]["state"] == "new"
    assert {each["what"]: each["verdict"] for each in told["changes"]} == {
        "latency": "worse",
        "failure rate": "no evidence of change",
    }
    code, out, _ = rumpus("compare", "last~1", "last", "--markdown")
    assert code == 1
    assert out.startswith("### last is worse than last\\~1: ")
    assert "| latency | lock / fair, sim | 20, 20 | 10.9 ms (10.5 to 11.3) | 16.4 ms" in out
    both = rumpus("compare", "last", "last", "--json", "--markdown")
    assert both.code == 2
    assert "cannot be given together" in both.err


@pytest.mark.usefixtures("nights")
def test_nothing_in_common_is_neither_good_nor_bad(rumpus):
    with Store.opened(DEFAULT, write=True) as store:
        store.begin_night(NightRow(name="n", began=9 * DAY, branch="other"))
        store.note_run("n", RunRow(role="run", subject="queue / fifo, sim", outcome="valid"))
    code, out, _ = rumpus("compare", "main", "other")
    assert code == 3
    assert "no subject in common" in out


def test_directories_of_runs_are_compared(rumpus):
    """Judged from disk, without a store. The later runs have the same failures."""
    words = ["run", "lock", "--recipe", "kazoo-bare", "--ensemble", "sim", "--clients", "2"]
    words += ["--nemesis", "none", "--time-limit", "2"]
    for place, seed in (("a", 1), ("a", 2), ("b", 3)):
        assert rumpus(*words, "--seed", str(seed), "--runs", place).code == 0
    code, out, _ = rumpus("compare", "a", "b/latest", "--json")
    told = json.loads(out)
    assert told["subjects"] == ["lock / kazoo-bare, sim, clients=2, time_limit=2.0"]
    assert (code, told["runs"]) == (0, [2, 1])


def test_a_failure_of_a_run_alone_is_new(rumpus, tmp_path):
    """The directory of a run without faults, and that of one that has deadlocked."""
    words = ["run", "lock", "--recipe", "kazoo-bare", "--ensemble", "sim", "--clients", "3"]
    words += ["--time-limit", "1.1", "--preemption", "blocking", "--nemesis", "none"]
    assert rumpus(*words, "--seed", "1", "--runs", "sound").code in (0, 3)
    run = deadlocked(tmp_path)
    answer = rumpus("compare", "sound/latest", run)
    assert answer.code == 1
    assert "new   lock / kazoo-bare: deadlock of acquire (" in answer.out
    assert rumpus("compare", run, run).code == 0
