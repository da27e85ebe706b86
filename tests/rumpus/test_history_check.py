"""rumpus.check: a history in memory or in a file, decided by a model of rumpus or of the user."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumpus


def call(process, f, value=None, answer=None, **more):
    invoke = {"process": process, "type": "invoke", "f": f, "value": value} | more
    return [invoke, {"process": process, "type": "ok", "f": f, "value": answer} | more]


class MaxRegister(rumpus.Model):
    functions = frozenset({"read", "write"})
    initial = 0

    def step(self, state, f, argument, result):
        if f == "write":
            return max(state, argument)
        return state if result in (state, rumpus.UNKNOWN) else rumpus.ILLEGAL


class Broken(MaxRegister):
    def step(self, *_):
        raise LookupError("nothing there")


WRITES = [*call(0, "write", 5), *call(0, "write", 3)]


@pytest.mark.parametrize(
    ("model", "read", "outcome"),
    [
        ("register", 3, "valid"),
        ("register", 5, "violation"),
        (MaxRegister, 5, "valid"),
        (MaxRegister, 3, "violation"),
    ],
)
def test_records_in_memory(model, read, outcome):
    found = rumpus.check([*WRITES, *call(1, "read", answer=read)], model)
    assert found.outcome == outcome
    assert found.valid is (outcome == "valid")
    assert found.operations == 3
    if outcome == "valid":
        found.assert_valid()
        return
    assert 4 in found.witness
    with pytest.raises(rumpus.TrialFailed, match=f"^violation: 3 operations, model {found.model}"):
        found.assert_valid()
    assert f"read() -> {read}" in str(found)
    assert "┣" in found.drawing


def test_a_file_says_the_same(tmp_path):
    records = [*WRITES, *call(1, "read", answer=5)]
    lines = [json.dumps(record | {"time": at}) for at, record in enumerate(records)]
    (tmp_path / "history.json").write_text("\n".join(lines))
    assert rumpus.check(tmp_path / "history.json", "register") == rumpus.check(records, "register")
    with pytest.raises(rumpus.UnreadableRun, match="does not exist"):
        rumpus.check(tmp_path / "nothing", "register")


def test_times_count_where_they_are_given():
    early = [record | {"time": at} for at, record in enumerate(call(1, "read", answer=1))]
    late = [record | {"time": at + 10} for at, record in enumerate(call(0, "write", 1))]
    assert rumpus.check([*late, *early], "register").valid is False
    assert rumpus.check([*call(0, "write", 1), *call(1, "read", answer=1)], "register").valid


def test_what_was_not_answered_decides_nothing():
    found = rumpus.check([{"process": 0, "type": "invoke", "f": "read"}], "register")
    assert found.outcome == "unknown"
    assert found.valid == "unknown"
    with pytest.raises(rumpus.TrialFailed, match="nothing could contradict it"):
        found.assert_valid()


def test_an_initial_value_and_a_budget():
    assert rumpus.check(call(0, "read", answer=7), "register", initial=7).valid is True
    assert rumpus.check(call(0, "read", answer=7), "register", initial=8).valid is False


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(0, 3))
def test_a_sequential_history_is_valid_exactly_if_the_read_sees_the_maximum(written, read):
    records = [record for value in written for record in call(0, "write", value)]
    found = rumpus.check([*records, *call(1, "read", answer=read)], MaxRegister)
    assert found.valid is (read == max(written))


@pytest.mark.parametrize(
    ("records", "model", "words"),
    [
        ([], "register", "no operations of clients"),
        (
            [SimpleNamespace(process=0)],
            "register",
            "record 0 .* is a SimpleNamespace; .* rumpus.Op",
        ),
        ([{"process": 0}], "register", "record 0 of the history: .*`type`"),
        ([{**WRITES[0], "value": {1, 2}, "x": object()}], "register", "record 0"),
        ([{**WRITES[0], "value": "\ud83d"}], "register", "record 0 .* surrogates not allowed"),
        (WRITES[1:2], "register", "without having called it"),
        (WRITES, "queue", "register"),
        (WRITES, "regster", "no model 'regster'; did you mean register"),
        (WRITES, int, "is no class that is a rumpus.Model"),
        (WRITES, "nowhere_at_all:Model", "there is no module 'nowhere_at_all'"),
        (WRITES, Broken, r"Broken fails \(LookupError: nothing there\)"),
    ],
)
def test_what_cannot_be_decided_is_refused_in_words(records, model, words):
    with pytest.raises(rumpus.UsageError, match=words):
        rumpus.check(records, model)
