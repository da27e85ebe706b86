"""What follows from what came of a night: its exit code, its counts, and a whole of its parts."""

import itertools

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumpus.nights.documents.document import (
    CanaryResult,
    CaseResult,
    CommandResult,
    NightDocument,
    merged,
    to_json,
    troubled_runs,
)
from rumpus.nights.documents.joining import load_night
from rumpus.nights.records import RunRow
from tests.rumpus.nights.documents import VALID_RUN, as_written, document, documents, failed, row


def case_in(state):
    return CaseResult(name=state, state=state)


def runs_of(outcome, number=1, **more):
    run = RunRow(role="run", subject="lock / other, sim", kind="usual", outcome=outcome, **more)
    return (run,) * number


BLIND = CanaryResult(name="c", state="blind", runs=4, rate=0.9)
FOUND = CanaryResult(name="d", state="found", runs=1, rate=0.9)
SIGNS = {
    "new": (1, {"failures": (failed("new"),)}),
    "known": (1, {"failures": (failed("known"),)}),
    "regression": (1, {"cases": (case_in("regression"),)}),
    "expired": (1, {"expired": ("it",)}),
    "hazards, strictly": (1, {"runs": (VALID_RUN, *runs_of("violation"))}),
    "command": (1, {"commands": (CommandResult(name="x", exit_code=2, seconds=1.0),)}),
    "blind": (5, {"canaries": (BLIND,)}),
    "unstable": (5, {"troubles": ("unstable",)}),
    "defect": (5, {"troubles": ("defect",)}),
    "world": (4, {"troubles": ("world",)}),
    "store": (4, {"troubles": ("store",)}),
    "notify": (4, {"troubles": ("notify",)}),
    "trouble of a command": (4, {"troubles": ("command",)}),
    "usage": (2, {"troubles": ("usage",)}),
    "stale": (3, {"cases": (case_in("stale"),)}),
    "undecided case": (3, {"cases": (case_in("undecided"),)}),
    "undecided": (3, {"runs": (VALID_RUN, *runs_of("unknown"))}),
    "unexercised": (3, {"runs": (VALID_RUN, *runs_of("inconclusive"))}),
    "nothing": (3, {"runs": ()}),
    "interrupted": (3, {"interrupted": True}),
    "expected": (0, {"failures": (failed("expected"), failed("base", "deadlock"))}),
    "good cases": (0, {"cases": (case_in("shown"), case_in("mended"))}),
    "found": (0, {"canaries": (FOUND,)}),
}
"""What came of a night -> its exit code, if nothing else did."""

ORDER = (1, 5, 4, 2, 3, 0)
"""Exit codes, gravest first."""


def together(*signs):
    fields = {}
    for sign in signs:
        for key, value in SIGNS[sign][1].items():
            fields[key] = value if isinstance(value, bool) else (*fields.get(key, ()), *value)
    return document(**fields)


@pytest.mark.parametrize("sign", SIGNS)
def test_each_has_its_exit_code(sign):
    assert together(sign).exit_code == SIGNS[sign][0]


@pytest.mark.parametrize(
    ("one", "two"),
    [pair for pair in itertools.combinations(SIGNS, 2) if "nothing" not in pair],
)
def test_of_two_the_gravest_counts(one, two):
    codes = [SIGNS[one][0], SIGNS[two][0]]
    assert together(one, two).exit_code == min(codes, key=ORDER.index)


@pytest.mark.parametrize(
    "sign",
    sorted(SIGNS.keys() - {"undecided", "unexercised", "nothing", "command", "hazards, strictly"}),
)
def test_a_night_without_a_run_is_never_green(sign):
    fields = {**SIGNS[sign][1], "runs": ()}
    code = document(**fields).exit_code
    assert code == (SIGNS[sign][0] or 3)


def test_a_night_that_had_nothing_to_do_is_green():
    assert document(runs=(), idle="nothing has changed").exit_code == 0


def test_commands_are_something():
    passed = CommandResult(name="x", exit_code=0, seconds=1.0)
    assert document(runs=(), commands=(passed,)).exit_code == 0


def test_most_runs_must_be_decided_and_one_exercised():
    assert document(runs=(*runs_of("unknown", 2), *runs_of("valid", 2))).undecided == []
    assert document(runs=(*runs_of("unknown", 3), *runs_of("valid", 2))).undecided != []
    assert document(runs=(*runs_of("inconclusive", 9), *runs_of("valid"))).unexercised == []
    assert document(runs=(*runs_of("inconclusive", 9), *runs_of("violation"))).unexercised == []


def test_short_runs_count_only_if_they_decide():
    runs = [
        msgspec.structs.replace(run, kind=kind)
        for kind in ("short", "systematic")
        for outcome in ("unknown", "inconclusive", "valid", None)
        for run in runs_of(outcome)
    ]
    (counts,) = document(runs=runs).outcomes.values()
    assert counts == {"short": 4, "valid": 2, "none": 2}


def test_new_ones_come_first():
    made = document(failures=(failed("known"), failed("expected", "a"), failed("new", "b")))
    assert [each.state for each in made.broken] == ["new", "known"]
    assert [each.failure.fingerprint.kind for each in made.new] == ["b"]


def test_counts():
    made = together("new", "known", "regression", "stale", "undecided", "blind", "found", "world")
    assert made.counts == {
        "runs": 2, "broken": 2, "new": 1, "expected": 0, "cases": 2, "regressions": 1, "stale": 1,
        "unexercised": 0, "undecided": 1, "canaries": 2, "blind": 1, "troubles": 1,
    }  # fmt: skip


def test_runs_that_tested_nothing_are_counted_by_why():
    runs = [*runs_of(None, 2, why="a"), *runs_of(None, why="b"), *runs_of("valid", why="c")]
    runs.append(RunRow(role="command", subject="make", why="d"))
    assert troubled_runs(runs) == {"a": 2, "b": 1}


@settings(max_examples=25)
@given(documents)
def test_the_json_is_read_as_what_it_was(tmp_path_factory, made):
    path = tmp_path_factory.mktemp("n") / "night.json"
    made = as_written(made)
    path.write_bytes(to_json(made))
    assert load_night(path) == made


def test_the_json_begins_with_what_follows():
    made = document(failures=(failed("new", file="cases/a.case.json"),))
    told = msgspec.json.decode(to_json(made))
    assert (told["version"], told["exit_code"], told["name"]) == (1, 1, "2026-11-26")
    assert told["counts"] == made.counts
    (failure,) = told["failures"]
    assert (failure["id"], failure["case"]) == (row().id, "cases/a.case.json")
    assert failure["what"] == "lock / fair: double-grant"
    assert msgspec.json.decode(to_json(document()))["failures"] == []


@settings(max_examples=25)
@given(documents, st.integers(1, 4))
def test_the_parts_of_a_night_make_the_whole(whole, of):
    failures = {each.failure.id: each for each in whole.failures}
    whole = msgspec.structs.replace(whole, failures=tuple(failures.values()))
    parts = []
    for number in range(of):
        dealt = {
            name: getattr(whole, name)[number::of]
            for name in ("failures", "cases", "canaries", "commands", "runs")
        }
        night = msgspec.structs.replace(whole.night, troubles=whole.night.troubles[number::of])
        parts.append(msgspec.structs.replace(whole, night=night, cases_left=0, **dealt))
    joined = merged(parts, whole.night)
    for name in ("failures", "cases", "canaries", "commands", "runs"):
        assert sorted(map(repr, getattr(joined, name))) == sorted(map(repr, getattr(whole, name)))
    assert set(joined.waiting) == set(whole.waiting)
    assert set(joined.gone) == set(whole.gone)
    assert {**joined.counts, "undecided": 0} == {**whole.counts, "undecided": 0}
    assert joined.exit_code == whole.exit_code


def test_a_failure_of_two_parts_is_one_and_a_shrunk_case_counts():
    small = msgspec.structs.replace(failed(runs=2), failure=row(shrunk=True))
    for parts in ([failed(runs=3), small], [small, failed(runs=3)]):
        joined = merged([document(failures=(each,)) for each in parts], document().night)
        (failure,) = joined.failures
        assert (failure.runs, failure.failure.shrunk) == (5, True)


def test_what_no_part_has_run_is_waiting_and_gone():
    parts = [document(waiting=("a", "b"), gone=("x",)), document(waiting=("b", "c"), gone=())]
    joined = merged(parts, document().night)
    assert (joined.waiting, joined.gone) == (("b",), ())


def test_a_night_is_idle_if_all_parts_are():
    idle, busy = document(runs=(), idle="nothing"), document()
    assert merged([idle, busy], busy.night).idle == ""
    assert merged([idle, idle], busy.night).idle == "nothing"
    assert isinstance(merged([busy], busy.night), NightDocument)
