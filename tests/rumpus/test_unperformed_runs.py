"""What could not be looked at is never told as if nothing was there, in any campaign."""

import json
import resource
import threading
from collections import Counter

import msgspec
import pytest
from rich.text import Text

from rumpus.campaigns.explored_answer import explored_exit_code
from rumpus.campaigns.exploring import Exploration
from rumpus.campaigns.findings import Findings, Unperformed
from rumpus.campaigns.merging import Part, merge, part_of
from rumpus.campaigns.mutant_hunt import Hunt, Mutant, Told, hunt
from rumpus.command_line import make_parser
from rumpus.commands import explore_command, mutants_command
from rumpus.exit_codes import campaign_exit_code
from rumpus.runs.shard import Shard
from rumpus.usage_error import UsageError

LEAST = 4096
"""Bytes of a file for which there is room."""


def with_little_room():
    """Let no file grow beyond some kilobytes, as on a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LEAST, LEAST))


@pytest.mark.parametrize(
    ("failed", "errors", "undecided", "code"),
    [
        (False, [], False, 0),
        (True, [], False, 1),
        (True, [4], True, 1),
        (False, [], True, 3),
        (False, [2], False, 2),
        (False, [2, 4, 2], False, 4),
        (False, [2], True, 3),
        (False, [4], True, 4),
        (False, [5, 4], False, 5),
        (False, [-9], False, 5),
        (False, [0], False, 5),
        (False, [1], False, 5),
    ],
)
def test_the_exit_code_of_many_runs(failed, errors, undecided, code):
    assert campaign_exit_code(failed=failed, errors=errors, undecided=undecided) == code


def exploration(outcomes=None, short=None, errors=()):
    all_outcomes = Counter(outcomes or {}) + Counter(short or {})
    return Exploration(
        findings=Findings(),
        runs=all_outcomes.total(),
        short_runs=Counter(short or {}).total(),
        outcomes=dict(all_outcomes),
        short_outcomes=short or {},
        errors=[
            Unperformed(seed=n, why="no room", exit_code=code) for n, code in enumerate(errors)
        ],
    )


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        (exploration(), 3),
        (exploration(errors=[4]), 4),
        (exploration({"valid": 3}), 0),
        (exploration({"valid": 3}, errors=[4, 2]), 4),
        (exploration({"valid": 3}, errors=[2]), 2),
        (exploration({"valid": 1, "unknown": 2}), 3),
        (exploration({"valid": 1}, {"inconclusive": 16}), 0),
        (exploration(short={"inconclusive": 16}), 3),
        (exploration(short={"valid": 16}), 0),
        (exploration({"valid": 3, "violation": 1}), 1),
    ],
)
def test_the_exit_code_of_an_exploration_and_of_its_parts(seen, code):
    assert explored_exit_code(seen, interrupted=False) == code
    assert explored_exit_code(seen, interrupted=True) == (code if code == 1 else max(code, 3))
    part = msgspec.json.encode(part_of(seen, Shard(0, 1), {}, interrupted=False))
    merged = merge([msgspec.json.decode(part, type=Part)])
    assert explored_exit_code(merged, interrupted=False) == code
    assert sum(merged.outcomes.values()) == merged.runs


def test_an_exploration_without_room_is_no_success(program):
    words = "explore queue --recipe kazoo --seeds 3 --jobs 1 --json"
    answer = program(*words.split(), preexec_fn=with_little_room).end(120)
    told = json.loads(answer.out)
    assert (answer.code, told["exit_code"], told["outcome"]) == (4, 4, "none")
    assert "File too large" in answer.err


def test_a_hunt_without_room_does_not_say_that_nothing_was_seen(program):
    words = "mutants --servers --family sequence --budget 1 --json"
    answer = program(*words.split(), preexec_fn=with_little_room).end(120)
    told = json.loads(answer.out)
    assert (answer.code, told["exit_code"], told["outcome"]) == (4, 4, "none")
    assert "could not be performed" in answer.err
    assert "never seen" not in answer.err


def test_the_table_of_mutants_does_not_say_it_either(rumpus, monkeypatch):
    one = Mutant("lock", "watch-first", frozenset({"split-brain"}))
    monkeypatch.setattr(mutants_command, "chosen", lambda *_, **__: [one])
    monkeypatch.setattr(mutants_command._Runs, "perform", lambda *_: Told(4, words="no room"))
    answer = rumpus("mutants")
    assert answer.code == 4
    assert "lock / watch-first: no room" in answer.out
    assert "never seen" not in answer.out + answer.err
    found = hunt(one, lambda *_: Told(-9), budget=1)
    assert (found.outcome, found.exit_code) == ("failed", -9)


def test_an_interrupted_exploration_says_so_in_json(rumpus, monkeypatch):
    def interrupt(explored, _seconds):
        if explored.runs:
            raise KeyboardInterrupt
        return Text()

    monkeypatch.setattr(explore_command, "explored_status", interrupt)
    words = "explore lock --recipe fair --clients 2 --time-limit 2 --nemesis client-pause --seed 0"
    answer = rumpus(*words.split(), "--seeds", 1000, "--jobs", 1, "--json")
    told = json.loads(answer.out)
    assert answer.code == told["exit_code"]
    assert (told["exit_code"], told["outcome"], told["interrupted"]) == (3, "unknown", True)
    assert told["runs"] == 1


@pytest.mark.parametrize("words", [["mutants"], ["mutants", "--cases", "cases"]])
def test_interrupted_mutants_keep_what_was_done(rumpus, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    kinds = frozenset({"split-brain"})
    first, second, third = (Mutant("lock", name, kinds) for name in ("a", "b", "c"))
    told = threading.Event()

    def hunted(mutant, *_, **__):
        if mutant == first:
            if "--cases" in words:
                found = ("missed", None, tmp_path, 1, 0.0)
                names = ("outcome", "case", "path", "runs", "seconds")
                return mutants_command.MutantCase(
                    mutant=mutant, **dict(zip(names, found, strict=True))
                )
            return Hunt(mutant, "caught", runs=1, caught=1)
        assert told.wait(30)
        raise KeyboardInterrupt

    def noted(progress):
        def note(*arguments):
            told.set()
            return progress(*arguments)

        return note

    for name in ("_progress", "_case_progress"):
        monkeypatch.setattr(mutants_command, name, noted(getattr(mutants_command, name)))
    monkeypatch.setattr(mutants_command, "hunt", hunted)
    monkeypatch.setattr(mutants_command, "make_case", hunted)
    monkeypatch.setattr(mutants_command, "chosen", lambda *_, **__: [first, second, third])
    answer = rumpus(*words, "--jobs", 1, "--json")
    document = json.loads(answer.out)
    assert [each["mutant"] for each in document["mutants"]] == ["a"]
    assert [each["mutant"] for each in document["unfinished"]] == ["b", "c"]
    code = 1 if "--cases" in words else 3
    assert (answer.code, document["exit_code"], document["interrupted"]) == (code, code, True)


def commands_with_json():
    """The commands that can answer in JSON. Two have their options only if they are named."""
    for name in make_parser(["run"]).commands:
        if make_parser([name]).takes_json([name, "--json"]):
            yield name


def test_there_are_commands_with_json():
    assert {"run", "explore", "merge", "mutants", "replay", "check"} <= set(commands_with_json())
    assert "export" not in commands_with_json()


@pytest.mark.parametrize("name", [*commands_with_json()])
def test_wrong_arguments_are_answered_in_json(rumpus, name):
    answer = rumpus(name, "--json", "--no-such-option")
    told = json.loads(answer.out)
    assert (answer.code, told["exit_code"], told["outcome"]) == (2, 2, "none")
    (reason,) = told["reasons"]
    assert reason in answer.err


def test_a_command_without_json_prints_none(rumpus):
    assert rumpus("export", "--json").out == ""
    assert rumpus("walk", "--json").out == ""


@pytest.mark.parametrize(
    ("words", "ensemble"),
    [([], "sim"), (["--ensemble", "auto"], "sim"), (["--ensemble", "docker"], "docker")],
)
def test_the_simulation_is_explored_unless_docker_is_asked_for(
    rumpus, monkeypatch, words, ensemble
):
    asked = []

    def explorer(settings, *_, **__):
        asked.append(settings.ensemble)
        raise UsageError("seen")

    monkeypatch.setattr(explore_command, "Explorer", explorer)
    assert rumpus("explore", "lock", *words).code == 2
    assert asked == [ensemble]


def test_a_version_that_simulated_servers_cannot_have_is_refused_once(rumpus):
    answer = rumpus("explore", "lock", "--zookeeper", "3.9.3", "--budget", 600, "--jobs", 1)
    assert answer.code == 2
    assert answer.err.count("--zookeeper 3.9.3 needs real servers") == 1
