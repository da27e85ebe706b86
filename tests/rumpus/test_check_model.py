"""Any history, any model: the verdict, both forms of the answer, and what is refused."""

import json
import os
import subprocess
import sys
from heapq import heappop, heappush
from pathlib import Path
from random import Random

import pytest

from rumpus.checker.deciders.registry import MODELS
from rumpus.results.formats.history_formats import FORMATS
from tests.checker.recorded import Recorded
from tests.rumpus.commands.refusals import refused
from tests.sampling import one_in

MEGABYTE = 1_000_000
PEAK = """
import resource, sys
from rumpus.program import main
try:
    sys.exit(main())
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""
"""The program, which says at its end how much memory it had at most."""

GOLDEN = Path(__file__).parents[3] / "shared" / "histories"
golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the histories of others are not at hand")

GOOD = """\
{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :ok, :f :write, :value 1}
{:process 1, :type :invoke, :f :read, :value nil}
{:process 1, :type :ok, :f :read, :value 1}
"""
BAD = GOOD.replace(":read, :value 1", ":read, :value 2")


def decided(rumpus, path, *words):
    """The document, after both forms of the answer have been seen to agree."""
    answer = rumpus("check", path, *words, "--json")
    document = json.loads(answer.out)
    plain = rumpus("check", path, *words)
    assert plain.code == answer.code == document["exit_code"]
    assert plain.err == ""
    first = {True: "✔ Valid", False: "✘ Violation", "unknown": "? Unknown"}[document["valid"]]
    assert plain.out.startswith(first)
    assert f"model:      {document['model']}\n" in plain.out
    assert f"algorithm:  {document['algorithm']}\n" in plain.out
    assert document["algorithm"]
    assert "Traceback" not in plain.err + answer.err
    return document


def test_a_history_that_follows_its_model(rumpus, file):
    document = decided(rumpus, file(GOOD), "--model", "cas-register")
    assert document["valid"] is True
    assert (document["model"], document["operations"]) == ("cas-register", 2)
    assert (document["witness"], document["description"]) == ([], None)
    assert document["format"] == "edn"
    assert document["seconds"] >= 0


def test_a_history_that_does_not_comes_with_its_reason(rumpus, file):
    path = file(BAD)
    document = decided(rumpus, path, "--model", "cas-register")
    assert (document["valid"], document["exit_code"]) == (False, 1)
    assert document["witness"]
    assert set(document["witness"]) <= {0, 2}  # names of records that are calls
    assert "process 1" in document["description"]
    drawn = rumpus("check", path, "--model", "cas-register").out
    assert "process 1" in drawn.split("for reading\n")[1]


@pytest.mark.parametrize(
    ("content", "model"),
    [
        ("{:process 0 :type :invoke :f :write :value 1}", "register"),
        ("{:process 0 :type :invoke :f :read} {:process 0 :type :fail :f :read}", "register"),
        ("{:process 0 :type :invoke :f :work} {:process 0 :type :ok :f :work}", "mutex"),
    ],
)
def test_a_history_in_which_no_operation_was_answered_is_not_valid(rumpus, file, content, model):
    document = decided(rumpus, file(content), "--model", model)
    assert (document["valid"], document["exit_code"]) == ("unknown", 3)
    assert f"no operation of {model} was answered" in document["unknown"][0]


def test_the_picture(rumpus, file, tmp_path):
    picture = tmp_path / "why.svg"
    answer = rumpus("check", file(BAD), "--model", "cas-register", "--svg", picture)
    assert answer.code == 1
    assert picture.read_text().startswith("<svg")
    picture.unlink()
    answer = rumpus("check", file(GOOD), "--model", "cas-register", "--svg", picture)
    assert (answer.code, picture.exists()) == (0, False)
    assert "no contradiction" in answer.out
    answer = rumpus("check", file(BAD), "--model", "cas-register", "--svg", tmp_path)
    assert answer.code == 1
    assert "cannot write it" in answer.out
    assert answer.out.rstrip().endswith("or use --svg FILE")


def test_the_first_value_is_json_or_text(rumpus, file):
    path = file(GOOD.splitlines(keepends=True)[2] + "{:process 1 :type :ok :f :read :value 7}")
    assert decided(rumpus, path, "--model", "register", "--initial", "7")["valid"] is True
    assert decided(rumpus, path, "--model", "register", "--initial", "seven")["valid"] is False
    assert decided(rumpus, path, "--model", "register")["valid"] is False
    text = file(path.read_text().replace(":value 7", ':value "seven"'))
    assert decided(rumpus, text, "--model", "register", "--initial", "seven")["valid"] is True
    refused(rumpus("check", path, "--model", "register", "--initial", "[" * 100_000), "--initial")


def test_a_run_by_its_directory_or_its_history(rumpus, recorded_run):
    recorded = Recorded(2).acquire(1, 2, 0, token=5).release(3, 4, 0)
    run = recorded_run(recorded.acquire(2, 5, 1, token=6).release(6, 7, 1))
    for path in (run.path, run.history):
        document = decided(rumpus, path, "--model", "mutex")
        assert (document["valid"], document["format"]) == (True, "jsonl")
        assert document["operations"] == 4
    assert not run.results.exists()  # the run itself has not been judged


OWN = '''
from rumpus.checker.models.model import ILLEGAL, UNKNOWN, Model

class Odd(Model):
    """Reads odd numbers only."""
    functions = frozenset({"read", "write"})
    observers = frozenset({"read"})

    def step(self, state, f, argument, result):
        if f == "read" and result is not UNKNOWN:
            if result == 9:
                raise RuntimeError("nine")
            return state if result % 2 else ILLEGAL
        return state

def function():
    pass
'''


def test_a_model_of_ones_own(rumpus, file, tmp_path, monkeypatch):
    (tmp_path / "own_models.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    document = decided(rumpus, file(GOOD), "--model", "own_models:Odd")
    assert (document["valid"], document["model"]) == (True, "own_models:Odd")
    assert decided(rumpus, file(BAD), "--model", "own_models:Odd")["valid"] is False
    nine = file(GOOD.replace(":read, :value 1", ":read, :value 9"))
    refused(rumpus("check", nine, "--model", "own_models:Odd"), "RuntimeError: nine", "Odd fails")
    other = file(GOOD.replace(":f :write", ":f :cas"))
    refused(rumpus("check", other, "--model", "own_models:Odd"), "knows no operation 'cas'")
    refused(
        rumpus("check", nine, "--model", "own_models:function"), "own_models:function is no class"
    )
    refused(rumpus("check", nine, "--model", "own_models:Even"), "has no 'Even'")
    refused(rumpus("check", nine, "--model", "no_such_module:X"), "no module 'no_such_module'")


def test_what_the_model_does_not_know_is_named_with_those_that_do(rumpus, file):
    answer = rumpus("check", file(GOOD), "--model", "mutex")
    refused(answer, "history.edn", "'read', 'write'", "--model register, cas-register")
    strange = file(GOOD.replace(":f :write", ":f :dance"))
    refused(rumpus("check", strange, "--model", "register"), "'dance'", "write one")


def test_a_model_that_is_not_there(rumpus, file):
    refused(rumpus("check", file(GOOD), "--model", "mutexes"), "'mutexes'; did you mean mutex?")
    refused(rumpus("check", file(GOOD), "--model", "tea"), "'tea'", *MODELS)


def test_without_a_model_it_says_which_there_are(rumpus, file):
    for words in ([], ["--format", "edn"]):
        answer = rumpus("check", file(GOOD), *words)
        refused(answer, "history.edn", "is judged by a model", "--model register, cas-register")
    for option in (["--initial", "1"], ["--budget", "1"], ["--svg", "x"]):
        refused(rumpus("check", file(GOOD), *option), f"{option[0]} requires --model")


def test_what_is_no_history_is_refused(rumpus, file, tmp_path):
    words = "--model", "register"
    refused(rumpus("check", file("hello"), *words), "none of the formats", "--format jsonl|edn")
    refused(rumpus("check", file(""), *words), "history.edn")
    refused(rumpus("check", file(GOOD[:-20]), *words), "line 4", "cut off")
    refused(rumpus("check", file(GOOD), "--format", "jsonl", *words), "line 1")
    refused(rumpus("check", file(GOOD), "--format", "yaml", *words), "yaml", *FORMATS)
    refused(rumpus("check", tmp_path / "nothing", *words), "does not exist")
    refused(rumpus("check", tmp_path, *words), "not a run")
    os.mkfifo(tmp_path / "pipe")
    refused(rumpus("check", tmp_path / "pipe", *words), "neither a file nor a directory")
    refused(rumpus("check", file(GOOD), "--budget", "0", *words), "--budget")


def test_hostile_words_do_not_reach_the_terminal(rumpus, file):
    hostile = r'"\u001b[2J\u0007"'
    bad = file(BAD.replace(":read, :value 2", f":read, :value {hostile}"))
    answer = rumpus("check", bad, "--model", "register")
    assert answer.code == 1
    strange = file(GOOD.replace(":f :read", f":f {hostile}"))
    told = rumpus("check", strange, "--model", "register")
    assert told.code == 2
    broken = rumpus("check", file("{:process 1 :type \x1b[2J}"), "--model", "register")
    assert broken.code == 2
    for said in (answer.out, told.err, broken.err):
        assert "\x1b[2J" not in said
        assert "\x07" not in said


@golden
def test_the_histories_of_etcd_get_their_known_verdicts(rumpus):
    folder = GOLDEN / "porcupine-etcd"
    known = [line.split("\t") for line in (folder / "VERDICTS.tsv").read_text().splitlines()]
    assert len(known) == len(list(folder.glob("*.log")))
    for name, verdict in known:
        answer = rumpus("check", folder / name, "--model", "cas-register", "--json")
        assert json.loads(answer.out)["valid"] is (verdict == "linearizable"), name


@golden
@pytest.mark.parametrize("verdict", ["good", "bad"])
def test_the_histories_of_knossos_get_their_known_verdicts(rumpus, verdict):
    files = sorted((GOLDEN / "knossos" / "cas-register" / verdict).glob("*.edn"))
    assert files
    for path in files:
        answer = rumpus("check", path, "--model", "cas-register", "--json")
        # In two of them every operation failed: nothing could contradict the model.
        exercised = ":type :ok" in path.read_text()
        wanted = verdict == "good" if exercised else "unknown"
        assert json.loads(answer.out)["valid"] == wanted, path


@golden
@pytest.mark.parametrize("verdict", ["ok", "bad"])
def test_key_value_logs_get_their_known_verdicts(rumpus, verdict):
    files = sorted((GOLDEN / "porcupine-kv").glob(f"*-{verdict}.txt"))
    assert files
    for path in files:
        answer = rumpus("check", path, "--model", "append", "--json")
        assert json.loads(answer.out)["valid"] is (verdict == "ok"), path


@golden
def test_a_history_that_was_exported_gets_the_same_verdict(rumpus, tmp_path):
    exported = tmp_path / "exported.edn"
    for number in ("000", "002"):
        path = GOLDEN / "porcupine-etcd" / f"etcd_{number}.log"
        assert rumpus("export", path, "--format", "edn", "-o", exported).code == 0
        first, again = (
            json.loads(rumpus("check", each, "--model", "cas-register", "--json").out)
            for each in (path, exported)
        )
        assert first["valid"] is again["valid"]
        assert first["witness"] == again["witness"]


def test_the_example_of_the_page(rumpus, file, monkeypatch, tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "check-a-history.md").read_text(
        encoding="utf-8"
    )
    shown = page.split("$ cat history.edn\n")[1].split("```")[0]
    history, said = shown.split("$ rumpus check history.edn --model register\n")
    file(history)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    answer = rumpus("check", "history.edn", "--model", "register")
    assert answer.code == 1
    told = [line.rstrip() for line in answer.out.splitlines()]
    expected = said.splitlines()
    assert len(told) == len(expected)
    for one, other in zip(told, expected, strict=True):
        assert one == other or one.startswith("time:")


def open_calls(rng):
    """A megabyte of a counter's records, with 2,000 processes at work at once, in EDN."""
    lines, ends, free, size, time = [], [], list(range(2000)), 0, 0
    while size < MEGABYTE - 100:
        time += 1
        if free and (not ends or ends[0][0] > time):
            process, kind = free.pop(rng.randrange(len(free))), "invoke"
            f, value = rng.choice(("add", "decrement", "read")), rng.randint(1, 3)
            heappush(ends, (time + rng.randint(1, 4000), process, f))
        else:
            _, process, f = heappop(ends)
            kind, value = rng.choice(("ok", "ok", "info")), rng.randint(1, 3)
            free.append(process if kind == "ok" else process + 2000)
        shown = value if (f == "read") == (kind != "invoke") else "nil"
        lines.append(f"{{:process {process} :type :{kind} :f :{f} :value {shown}}}")
        size += len(lines[-1]) + 1
    return "\n".join(lines) + "\n"


@one_in(20)
def test_a_megabyte_costs_less_than_a_gigabyte_however_hard_it_is(tmp_path):
    file = tmp_path / "hard.edn"
    file.write_text(open_calls(Random(5)))
    words = ["check", str(file), "--model", "counter", "--budget", "600"]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "the memory budget of 671 MB is spent" in done.stdout
    assert int(done.stderr.split()[-1]) < 1_000_000  # kB
