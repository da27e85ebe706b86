import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.sampling import COSTS, costs, one_in, sampled, sampled_values, take_sample

ROOT = Path(__file__).resolve().parents[1]
OURS = {"tests/sampling.py", "tests/processor_time.py", "tests/checker/crosscheck.py"}
"""Who else than a test module asks whether all is to be performed."""


class Item(SimpleNamespace):
    """A test with the marks of its parameters."""

    def iter_markers(self, name):
        return (mark for mark in self.marks if mark.name == name)


def items(*lists):
    """A test for each combination of parameters."""
    found = [Item(nodeid="", marks=[])]
    for each in lists:
        found = [
            Item(nodeid=f"{item.nodeid}-{param.values[0]}", marks=[*item.marks, *param.marks])
            for item in found
            for param in each
        ]
    return [Item(nodeid=f"tests/test_any.py::test[{i.nodeid[1:]}]", marks=i.marks) for i in found]


@pytest.fixture
def performed(monkeypatch):
    def names(found, *, turn=0, named=(), everything=""):
        monkeypatch.setenv("RUMPUS_FULL_CHECKS", everything)
        monkeypatch.setattr("tests.sampling.turn", lambda: turn)
        left_out = []

        def leave_out(items):
            left_out.extend(items)

        config = SimpleNamespace(
            args=list(named),
            hook=SimpleNamespace(pytest_deselected=leave_out),
        )
        kept = list(found)
        take_sample(config, kept)
        assert len(kept) + len(left_out) == len(found)
        return [item.nodeid.partition("[")[2][:-1] for item in kept]

    return names


def test_each_turn_has_its_part_and_all_turns_have_everything(performed):
    found = items(sampled_values("abcdefg", of=3))
    assert [performed(found, turn=turn) for turn in range(3)] == [
        list("adg"),
        list("be"),
        list("cf"),
    ]
    assert performed(found, turn=3) == performed(found, turn=0)
    few = items(sampled_values("ab", of=5))
    assert [performed(few, turn=turn) for turn in range(3)] == [["a"], ["b"], ["a"]]


def test_at_night_there_is_everything(performed):
    assert performed(items(sampled_values("abcdefg", of=3)), everything="20") == list("abcdefg")


def test_what_is_not_sampled_stays_and_two_samples_are_the_sample_of_both(performed):
    plain = [pytest.param("x"), pytest.param("y")]
    assert performed(items(plain, sampled_values("ab", of=2))) == ["x-a", "y-a"]
    both = items(sampled_values("abcd", of=2), sampled_values("xyz", of=3))
    assert performed(both, turn=1) == ["b-y", "d-y"]


@pytest.mark.parametrize("place", ["", "/home/somebody/"])
def test_a_test_that_is_named_whole_is_performed(performed, place):
    found = items(sampled_values("abc", of=3))
    assert performed(found, turn=0, named=[f"{place}tests/test_any.py::test[b]"]) == ["a", "b"]
    assert performed(found, turn=0, named=["tests/test_any.py::test"]) == ["a"]


def test_ids_and_marks_of_parameters_are_kept():
    mark = sampled("x, y", [(1, 2), pytest.param(3, 4, id="other", marks=pytest.mark.docker)], of=2)
    first, second = mark.args[1]
    assert (first.values, second.values, second.id) == ((1, 2), (3, 4), "other")
    assert [each.name for each in second.marks] == ["docker", "sampled"]
    (alone,) = sampled("pair", [(1, 2)], of=2).args[1]
    assert alone.values == ((1, 2),)


def test_a_single_test_is_in_one_of_so_many_samples(performed):
    def dear():
        pass

    item = Item(nodeid="tests/test_any.py::test[dear]", marks=one_in(3)(dear).pytestmark)
    assert sorted(performed([item], turn=turn) for turn in range(3)) == [[], [], ["dear"]]


def test_make_test_full_runs_every_file_that_has_less_by_default():
    done = subprocess.run(
        ["make", "-n", "test-full"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    asking = {
        str(path.relative_to(ROOT))
        for path in ROOT.glob("tests/**/*.py")
        if any(word in path.read_text() for word in ("FULL_CHECKS", "tests.sampling", "@given"))
    }
    modules = {path for path in asking if Path(path).name.startswith("test_")}
    modules |= {name.partition("::")[0] for name in costs()}
    assert asking - modules == OURS | {"tests/conftest.py"}
    assert modules <= set(done.stdout.split())


def test_what_costs_much_is_performed_in_one_of_some_commits(performed, monkeypatch):
    monkeypatch.setattr("tests.sampling.costs", lambda: {"tests/test_any.py::test": 5})
    found = items([pytest.param("a"), pytest.param("b")])
    turns = [performed(found, turn=turn) for turn in range(3)]
    assert sorted(turns) == [[], [], ["a", "b"]]
    for turn in range(3):
        assert performed(found, turn=turn, named=["tests/test_any.py"]) == ["a", "b"]


def test_costs_are_those_of_tests_that_are_there():
    gone = [
        name
        for name in json.loads(COSTS.read_text())
        if f"def {name.rpartition('::')[2]}(" not in (ROOT / name.partition("::")[0]).read_text()
        and "TestCase" not in (ROOT / name.partition("::")[0]).read_text()
    ]
    assert gone == []
