"""A night that was killed goes on with what its runs in the store say."""

import pytest

from rumpus.nights.night_file import NightFile
from rumpus.nights.performing import notes_of
from rumpus.nights.planning import NightPlan
from rumpus.nights.records import RunRow
from tests.rumpus.nights.made import canary_of, kept


def plan(cases=(), canaries=()):
    return NightPlan(
        file=NightFile(), subjects=(), past={}, cases=cases, to_show=(), canaries=canaries,
        expected=(), worlds=["sim"],
    )  # fmt: skip


def case_run(name, found, kind="case"):
    return RunRow(role="case", subject="x", name=name, kind=kind, found=found, why="because")


def canary_run(found, outcome="valid"):
    return RunRow(role="canary", subject="c", name="c", found=found, outcome=outcome)


def test_cases_that_had_their_turn_are_known():
    runs = [case_run("a", "shown"), case_run("b", "stale"), case_run("gone", "shown"),
            case_run("b", "stale", kind="near")]  # fmt: skip
    notes = notes_of(plan([kept("a"), kept("b"), kept("c")]), runs)
    assert {name: note.state for name, note in notes.cases.items()} == {"a": "shown", "b": "stale"}
    assert notes.cases["b"].why == "because"
    assert notes.runs == runs


@pytest.mark.parametrize(
    ("found", "is_found", "given_up"),
    [
        (["missed", "found"], True, False),
        (["missed"], False, False),
        (["missed"] * canary_of().tries, False, True),
    ],
)
def test_a_canary_that_was_blind_stays_blind(found, is_found, given_up):
    notes = notes_of(plan(canaries=[canary_of("c")]), [canary_run(each) for each in found])
    note = notes.canaries["c"]
    assert (note.runs, note.found, note.given_up) == (len(found), is_found, given_up)


def test_runs_that_tested_nothing_do_not_count():
    notes = notes_of(plan(canaries=[canary_of("c")]), [canary_run("", outcome=None)])
    assert (notes.canaries["c"].runs, notes.canaries["c"].given_up) == (0, False)
