"""A history that came alone is held to what its workload promises, or is refused."""

import json
import shlex

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.results.first_record import FirstRecord
from rumpus.results.run_directory import RunDirectory
from rumpus.results.seal import SEAL
from rumpus.results.store_error import UnreadableRun
from rumpus.runs.lone_history import judge_history
from rumpus.usage_error import UsageError
from rumpus.workloads.registry import WORKLOADS, fitting_workloads
from tests.harness.generators.dry_run import dry_run, imperfect
from tests.own_tests import of_families
from tests.rumpus import lone_histories
from tests.rumpus.conftest import record, turns
from tests.rumpus.lone_histories import Story, counted
from tests.sampling import sampled

LONE = {**lone_histories.LONE, **of_families("LONE")}


def first_record(workload, clients=2):
    recipe = next(iter(WORKLOADS[workload].recipes))
    return FirstRecord(
        workload=workload,
        recipe=recipe,
        promises=WORKLOADS[workload].recipes[recipe].promises,
        clients=clients,
        session_timeout=2.0,
    )


def told(story, test=None):
    """The records of a story, after the first record if there is one."""
    whole = Story(story.clients)
    if test is not None:
        whole.add(1, "control", "info", "test", test.value())
    for op in story.ops:
        whole.ops.append(msgspec.structs.replace(op, index=len(whole.ops)))
    return whole


@pytest.fixture
def alone(tmp_path):
    """Put a history on disk, without the rest of a run."""

    def write(story, test=None, name="alone.jsonl"):
        path = tmp_path / name
        path.unlink(missing_ok=True)
        with RunDirectory(tmp_path, history=path).history_writer() as writer:
            for op in told(story, test).ops:
                writer.append(op)
        return path

    return write


def judged(rumpus, path, *words):
    answer = rumpus("check", path, "--json", *words)
    assert answer.code in (0, 1, 3), answer.err
    document = json.loads(answer.out)
    assert document["exit_code"] == answer.code
    return document


def broken(document):
    return {each["kind"] for each in document["anomalies"] if each["promised"]}


def test_every_workload_has_its_pair():
    assert LONE.keys() == WORKLOADS.keys()


@sampled("workload", LONE, of=5)
def test_a_broken_history_is_a_violation_whoever_says_which_workload_it_is(rumpus, alone, workload):
    sound, wrong, anomaly = LONE[workload]
    for test, words in (
        (None, ["--workload", workload]),
        (None, ["--workload", workload, "--recipe", next(iter(WORKLOADS[workload].recipes))]),
        (first_record(workload, wrong.clients), []),
    ):
        document = judged(rumpus, alone(wrong, test), *words)
        assert document["exit_code"] == 1, (words, document["reasons"])
        assert anomaly in broken(document)
        assert document["workload"] == workload
        document = judged(rumpus, alone(sound, test), *words)
        assert document["exit_code"] == 3, (words, document["reasons"])


@pytest.mark.parametrize("workload", LONE)
def test_a_history_that_does_not_say_it_is_judged_or_refused_with_names(rumpus, alone, workload):
    _, wrong, anomaly = LONE[workload]
    path = alone(wrong)
    fitting = fitting_workloads(wrong.history())
    assert workload in fitting
    if len(fitting) == 1:
        assert anomaly in broken(judged(rumpus, path))
    else:
        answer = rumpus("check", path)
        assert (answer.code, answer.out) == (2, "")
        assert f"--workload {'|'.join(fitting)}" in answer.err


def test_a_semaphore_is_not_judged_as_a_lock(rumpus, alone):
    path = alone(LONE["semaphore"][0])
    assert broken(judged(rumpus, path, "--workload", "lock")) == {"split-brain"}
    assert broken(judged(rumpus, path, "--workload", "semaphore")) == set()


def test_the_command_that_is_printed_works(rumpus, alone, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for words in (["--workload", "counter"], ["--workload", "counter", "--recipe", "receipts"], []):
        answer = rumpus("check", alone(counted(7), name="a file.jsonl"), *words)
        again = next(line for line in answer.err.splitlines() if line.startswith("again:"))
        program, *command = shlex.split(again.removeprefix("again:"))
        assert program == "rumpus"
        repeated = rumpus(*command)
        assert (answer.code, repeated.code) == (1, 1)
        assert repeated.err == answer.err


def whole_counter():
    """A counter's run that ends well, and in which enough happened."""
    story = Story(1)
    for total in range(1, 101):
        story.did(0, "add", {"key": total % 8, "value": 1}, {"key": total % 8, "value": -1})
    totals = dict.fromkeys(range(8), 0)
    for at, op in enumerate(story.ops):
        if op.type == "ok":
            totals[op.value["key"]] += 1
            value = {"key": op.value["key"], "value": totals[op.value["key"]]}
            story.ops[at] = msgspec.structs.replace(op, value=value)
    at = 10 + len(story.ops)
    story.add(at, "control", "info", "phase", {"phase": "final", "healed": True})
    for key, total in totals.items():
        story.did(0, "read", {"key": key}, {"key": key, "value": total})
    at = 10 + len(story.ops)
    return story.add(at, "control", "info", "phase-end", {"phase": "final"}).end(at + 1)


def test_a_whole_history_is_valid_and_too_little_of_one_is_not(rumpus, alone):
    story, test = whole_counter(), first_record("counter", 1)
    assert judged(rumpus, alone(story, test), "--believe")["outcome"] == "valid"
    words = ("--workload", "counter", "--believe")
    assert judged(rumpus, alone(story), *words)["outcome"] == "valid"
    unknown = judged(rumpus, alone(story, test))
    assert unknown["outcome"] == "unknown"
    assert "--believe takes it at its word" in unknown["reasons"][0]
    faulted = msgspec.structs.replace(test, nemesis=["kill"])
    reasons = judged(rumpus, alone(story, faulted))["reasons"]
    assert any("kill" in reason for reason in reasons)
    final = next(at for at, op in enumerate(story.ops) if op.f == "phase")
    cut = Story(1)
    cut.ops = story.ops[:final]
    document = judged(rumpus, alone(cut, test))
    assert document["outcome"] == "unknown"
    assert any("it has no end" in reason for reason in document["reasons"])
    cut.ops = [*story.ops[:final], story.ops[-1]]
    document = judged(rumpus, alone(cut, test))
    assert document["outcome"] == "inconclusive"
    assert any("final phase" in reason for reason in document["reasons"])


def test_what_only_the_servers_logs_tell_stays_open(rumpus, alone, recorded_run):
    document = judged(rumpus, alone(turns(), first_record("lock", 3)))
    assert document["outcome"] == "unknown"
    assert document["reasons"][-1].endswith(
        "these are needed to rule out double-grant, false-reentry, false-release"
    )
    promises = WORKLOADS["lock"].recipes["fair"].promises
    run = recorded_run(turns(), promises=promises)
    assert judged(rumpus, run.path)["outcome"] == "unknown"


def test_a_history_in_a_directory_of_its_own_is_a_history_alone(rumpus, recorded_run):
    recorded = told(LONE["counter"][1], first_record("counter"))
    run = recorded_run(recorded, workload="counter")
    run.record.unlink()
    (run.path / SEAL).unlink()
    assert broken(judged(rumpus, run.path)) == {"miscount"}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--workload", "teapot"], "unknown workload 'teapot'; there are lock"),
        (["--workload", "counter", "--recipe", "tea"], "unknown recipe 'tea' of workload counter"),
        (["--workload", "lock"], "no history of lock (record 0: lock has no operation 'add'"),
        (
            ["--workload", "counter", "--model", "counter"],
            "--workload cannot be given with --model",
        ),
    ],
)
def test_a_wrong_name_is_refused_with_the_names_that_there_are(rumpus, alone, words, named):
    answer = rumpus("check", alone(counted(1)), *words)
    assert (answer.code, answer.out) == (2, "")
    assert named in answer.err


def test_more_clients_than_there_can_be_are_refused(rumpus, alone):
    story = Story(1).did(10_000, "add", {"key": 0, "value": 1}, {"key": 0, "value": 1})
    answer = rumpus("check", alone(story), "--workload", "counter")
    assert answer.code == 2
    assert "those of 10001 clients" in answer.err


def test_values_that_no_run_has_are_refused(rumpus, alone):
    endless = Story(2).call(0, "acquire", {"timeout": float("1e10")}).answer(0, "acquire", {})
    answer = rumpus("check", alone(endless), "--workload", "semaphore")
    assert answer.code == 2
    assert "timeout" in answer.err
    known = {"key": "r0", "version": 1, "session": "0x1", "zxid": 10}
    nameless = Story(2).did(0, "write", {"key": "r0", "value": "a"}, known)
    swapped = {"key": "r0", "value": [1, "b"]}
    nameless.did(0, "cas", swapped, {**known, "version": None, "zxid": None})
    answer = rumpus("check", alone(nameless), "--workload", "register")
    assert answer.code == 2
    assert "value.version: Expected `int`, got `null`" in answer.err


def test_two_who_say_different_things_are_refused(rumpus, alone, recorded_run):
    path = alone(counted(1), first_record("counter"))
    for words, said in (
        (["--workload", "lock"], "its workload is counter"),
        (["--recipe", "kazoo"], "its recipe is receipts"),
    ):
        answer = rumpus("check", path, *words)
        assert answer.code == 2
        assert said in answer.err
    assert broken(
        judged(rumpus, alone(counted(7), first_record("counter")), "--workload", "counter")
    )
    run = recorded_run(told(counted(1), first_record("counter")))
    answer = rumpus("check", run.path)
    assert answer.code == 2
    assert (
        "a history of counter / receipts, in the directory of a run of lock / yours" in answer.err
    )
    run.history.unlink()
    answer = rumpus("check", recorded_run(turns()).path, "--workload", "lock")
    assert answer.code == 2
    assert "says what was run" in answer.err


def test_a_first_record_that_cannot_be_read_is_refused(rumpus, alone):
    twice = Story(2).add(1, "control", "info", "test", first_record("counter").value())
    answer = rumpus("check", alone(twice, first_record("counter")))
    assert answer.code == 2
    assert "record 1" in answer.err
    strange = Story(2).add(1, "control", "info", "test", {"workload": "counter"})
    answer = rumpus("check", alone(strange))
    assert answer.code == 2
    assert "record 0 (control test)" in answer.err
    elsewhere = msgspec.structs.replace(first_record("counter"), workload="teapot")
    answer = rumpus("check", alone(counted(1), elsewhere))
    assert answer.code == 2
    assert "'teapot' is unknown here; known are lock" in answer.err


@pytest.mark.parametrize("name", WORKLOADS)
def test_what_a_workload_asks_of_its_clients_is_what_it_says_that_it_does(name):
    workload = WORKLOADS[name]
    for recipe in [each for each in workload.catalogue.values() if not each.faulty]:
        setting = WorkloadContext(Seed(3), recipe.recipe, 5, 2.0, until=2 * 10**9)
        for generator in (workload.final_of(setting), workload.load_of(setting)):
            log = dry_run(
                generator, clients=5, nemesis=False, behaviour=imperfect, most=150,
                cleanup=workload.cleanup,
            )  # fmt: skip
            asked = {each.what.f for each in log.dispatches}
            assert asked <= workload.shapes.keys()


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("mangled")


MANGLED = {
    "process": ["0", "oracle", "nemesis", "session", 1.5, -1, None],
    "type": ["okay", "OK", None],
    "f": ["READ", "increment", "write", None],
    "value": [None, 7, "7", [], {}, {"key": "0", "value": 7}, {"key": 8, "value": 7}, {"key": 1}],
    "time": ["1", 1.5, None],
}


@given(st.data())
def test_records_mangled_in_form_never_make_a_violation_pass(directory, data):
    """Under a workload; ``--model`` is in test_mangled_histories."""
    story = counted(7)
    records = [msgspec.to_builtins(op) for op in story.ops]
    chosen = data.draw(st.sets(st.integers(0, len(records) - 1), min_size=1, max_size=2))
    for number in chosen:
        field = data.draw(st.sampled_from(sorted(MANGLED)))
        records[number][field] = data.draw(st.sampled_from(MANGLED[field]))
    path = directory / "history"
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in records))
    try:
        verdict = judge_history(RunDirectory(directory, history=path), "counter")[2]
    except (UnreadableRun, UsageError):
        return
    assert verdict.outcome == "violation"


def test_a_record_keeps_what_its_run_said():
    run = record(
        workload="counter", recipe="receipts", nemesis=["kill"], options={"directed": True}
    )
    said = run.first_record()
    assert msgspec.convert(said.value(), FirstRecord) == said
    assert (said.nemesis, said.directed, said.clients) == (["kill"], True, 3)
