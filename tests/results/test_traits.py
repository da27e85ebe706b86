"""The signs of a failure's cause."""

from pathlib import Path

import pytest

from rumpus.campaigns.case import load_case
from rumpus.campaigns.trial_task import perform
from rumpus.checker.verdict import Anomaly
from rumpus.results.traits import template, traits_of
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

CASES = Path(__file__).parents[2] / "cases" / "mutants"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("c1 acquire: ok session='0x1', token=7", "# acquire: ok session=#, token=#"),
        ("between 3.262 s and 3.265 s", "between # s and # s"),
        ("c0, c1 and c2 of n1", "# and # of #"),
        ("deletes 06fddd2af82f41b2814806e0aeb34c8d", "deletes #"),
        ("lock-0000000007 and round 2", "lock-# and round #"),
        ("the session has ended", "the session has ended"),
    ],
)
def test_what_differs_from_run_to_run_is_left_out_of_words(words, told):
    assert template(words) == told


def timeline():
    return laid_out(
        Recorded()
        .add(0, "control", "info", "test")
        .add(900, "nemesis", "invoke", "start", {"id": "1", "kind": "client-partition"})
        .add(1000, "nemesis", "info", "start", {"id": "1", "targets": ["c0"], "verified": True})
        .acquire(1100, 1200, 0, session="0x1")
        .session(1300, 0, "suspended")
        .acquire(1250, 1400, 1, session="0x2")
        .add(1500, "nemesis", "invoke", "stop", {"id": "1"})
        .add(1600, "nemesis", "info", "stop", {"verified": True})
        .release(9000, 9100, 1)
        .history()
    )


def of(start_ms, *, clients=(0, 1)):
    found = timeline()
    cited = [op.index for op in found.history if op.f == "acquire"]
    moment = start_ms * 1_000_000
    return traits_of(
        found,
        Anomaly(
            kind="split-brain",
            description="c0 and c1 both believed",
            ops=cited if clients else [],
            clients=list(clients),
            start=moment,
            end=moment + 1,
        ),
    )


def test_a_fault_is_told_with_whom_it_hit_and_whether_it_was_over():
    assert of(1400).faults == ("client-partition of its client",)
    assert of(1400).before == ()
    assert of(1700).faults == ()
    assert of(1700).before == ("client-partition of its client",)
    assert of(8000).before == ()
    assert of(1400, clients=()).faults == ("client-partition of another",)


def test_calls_and_sessions_are_told_without_numbers_of_clients():
    found = of(1400)
    assert found.calls == ("acquire: ok",)
    assert found.operations == ("acquire",)
    assert found.words == "# and # both believed"
    assert found.sessions == ("one suspended",)


def test_requests_are_told_with_the_lines_of_the_recipe_that_sent_them():
    """In the simulation, where every client's stack can be looked at."""
    case = load_case(CASES / "lock" / "no-recheck.case.json")
    seen = perform(case.task()).find(case.expects, promised=True)
    traits = seen.traits
    assert any(each.startswith("acquire: create") for each in traits.requests)
    assert "(deleted)" in " ".join(traits.requests)
    assert all(
        each.partition(": ")[2].startswith(("fair_contest.py:", "contest.py:"))
        for each in traits.lines
    )
    assert any(" in _create" in each for each in traits.lines)
    assert traits.places


def test_a_call_that_hangs_is_told_by_the_line_at_which_it_hangs():
    """It sends nothing any more, and has a thread of its own."""
    case = load_case(CASES.parent / "findings" / "02-double-barrier-enter.case.json")
    traits = perform(case.task()).find(case.expects, promised=True).traits
    assert traits.requests == ("enter: ",)
    (place,) = traits.places
    assert place.startswith("barrier.py:")
    assert place.endswith(" in _inner_enter")
