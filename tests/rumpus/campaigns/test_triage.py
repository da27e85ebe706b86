"""Which flaw a failure comes of: in worlds of which it is known."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.campaigns.grouping import grouped
from rumpus.campaigns.rulings import Ruling, Rulings
from rumpus.campaigns.triage import (
    CHANCE,
    MOST_SEEDS,
    SEEDS,
    Cause,
    Counted,
    Ran,
    Traced,
    chance,
    trace,
)
from rumpus.results.fingerprint import Fingerprint
from rumpus.results.traits import Traits

CHANGES = ["a", "b", "c", "d"]


def world(shows, reached=("a", "b", "c")):
    """A performer of runs: ``shows`` says whether a run shows the failure by the flaws left in it.

    A run differs from that without changes by the changes that its code reaches.
    """

    def perform(wanted):
        for changes, further in wanted:
            left = set(CHANGES) - set(changes)
            digest = f"{further} {sorted(set(changes) & set(reached))}"
            yield Ran(shows(left, further), digest)

    return lambda wanted: list(perform(wanted))


@pytest.mark.parametrize("often", [1, 3])
@pytest.mark.parametrize("flaw", ["a", "b", "c"])
def test_the_flaw_that_suffices_is_the_cause(flaw, often):
    traced = trace(CHANGES, world(lambda left, further: flaw in left and further % often == 0))
    assert traced.state == "known"
    (cause,) = traced.causes
    assert cause.change == flaw
    assert cause.mended.shown == 0 < cause.alone.shown


def test_a_flaw_is_found_beside_another_that_looks_alike():
    traced = trace(CHANGES, world(lambda left, _: "a" in left or "c" in left))
    assert [each.change for each in traced.causes] == ["a", "c"]
    assert not any(each.needed for each in traced.causes), "each is there without the other"


def test_what_is_gone_without_a_flaw_has_that_before_others():
    def shows(left, further):
        return "c" in left or ("a" in left and "b" not in left and further == 0)

    traced = trace(CHANGES, world(shows))
    assert [(each.change, each.needed) for each in traced.causes] == [("c", True), ("a", False)]


def test_a_change_that_the_run_does_not_reach_is_not_looked_at():
    shows = world(lambda left, further: "d" in left or ("a" in left and further > 0))
    traced = trace(CHANGES, shows)
    assert [each.change for each in traced.causes] == ["a"]


def test_what_all_changes_together_leave_has_another_cause():
    assert trace(CHANGES, world(lambda _, further: further % 4 == 0)).state == "stays"
    assert trace(CHANGES, world(lambda left, _: bool(left), reached=())).state == "stays"


def test_a_failure_that_is_not_there_any_more_has_no_cause():
    traced = trace(CHANGES, world(lambda _, further: further > 0))
    assert (traced.state, traced.runs) == ("not reproduced", 1 + len(CHANGES))


@pytest.mark.parametrize(
    ("own", "state"),
    [
        (Ran(None), "unknown"),
        (Ran(None, error="no such kazoo", exit_code=4), "unperformed"),
        (Ran(False), "not reproduced"),
    ],
)
def test_what_the_own_run_does_not_show_is_told_apart(own, state):
    traced = trace(CHANGES, lambda wanted: [own for _ in wanted])
    assert (traced.state, traced.own, traced.exit_code) == (state, own.error, own.exit_code)


def test_nothing_is_said_of_changes_that_cannot_be_tried():
    def perform(wanted):
        return [Ran(None, error="misfit") if each.changes else Ran(True, "x") for each in wanted]

    traced = trace(CHANGES, perform)
    assert (traced.state, set(traced.errors)) == ("untried", set(CHANGES))


def test_what_one_run_alone_shows_is_too_rare():
    traced = trace(CHANGES, world(lambda left, further: left == set(CHANGES) and further == 0))
    assert traced.state == "rare"
    assert traced.runs == 1 + len(CHANGES) + SEEDS + 3 * MOST_SEEDS


def test_a_change_that_cannot_be_made_is_told_and_the_others_are_tried():
    sound = world(lambda left, _: "b" in left)

    def perform(wanted):
        return [
            Ran(None, error="does not fit") if "a" in each.changes else sound([each])[0]
            for each in wanted
        ]

    traced = trace(CHANGES, perform)
    assert traced.errors == {"a": "does not fit"}
    assert [each.change for each in traced.causes] == ["b"]


counts = st.integers(1, 12).flatmap(
    lambda runs: st.builds(Counted, st.integers(0, runs), st.just(runs))
)


@given(counts, counts)
def test_chance_is_the_share_of_draws_with_so_few(changed, unchanged):
    runs, shown = changed.runs + unchanged.runs, changed.shown + unchanged.shown
    draws = [
        comb(shown, few) * comb(runs - shown, changed.runs - few)
        for few in range(min(shown, changed.runs) + 1)
    ]
    assert sum(draws) == comb(runs, changed.runs)
    expected = sum(draws[: changed.shown + 1]) / sum(draws)
    assert chance(changed, unchanged) == pytest.approx(expected)


def test_seven_of_eight_and_none_of_eight_are_no_chance():
    assert chance(Counted(0, 8), Counted(7, 8)) < CHANCE < chance(Counted(0, 4), Counted(4, 8))


STUCK, EARLY = Fingerprint(kind="stuck-waiter"), Fingerprint(kind="early-exit")


def known(*changes, needed=True):
    eight = Counted(8, 8)
    mended = Counted(0, 8) if needed else eight
    return Traced(
        state="known",
        causes=[
            Cause(change=each, alone=eight, mended=mended, unchanged=eight) for each in changes
        ],
    )


FAILURES = {
    "one": (STUCK, known("a")),
    "two": (EARLY, known("a", "b")),
    "three": (STUCK, known("b")),
    "four": (STUCK, Traced(state="stays")),
    "five": (STUCK, Traced(state="rare")),
    "six": (EARLY, Traced(state="stays")),
}


def names(groups):
    return [each.cases for each in groups]


def test_failures_of_one_change_are_one_and_the_others_by_their_looks():
    groups = grouped(FAILURES)
    assert names(groups) == [["one", "two"], ["three"], ["four", "five"], ["six"]]
    assert [group.cause for group in groups] == ["a", "b", "", ""]
    assert groups[0].why[1].endswith("; it could also be b")
    assert groups[2].why[1] == "too few runs show it; it is a stuck-waiter"


def test_a_person_merges_and_splits():
    rulings = Rulings(
        one=(Ruling(cases=("one", "six"), why="by hand"),),
        apart=(Ruling(cases=("four", "five"), why="seen in other lines"),),
    )
    groups = grouped(FAILURES, rulings)
    assert names(groups) == [["one", "six"], ["two"], ["three"], ["four"], ["five"]]
    assert groups[0].cause == "a"
    assert groups[0].why == ["one with others by a ruling: by hand"] * 2
    assert groups[3].why == ["apart from others by a ruling: seen in other lines"]


def test_failures_without_a_known_cause_are_one_by_their_signs():
    def of(line):
        traits = Traits(
            kind="stuck-waiter",
            words="# waits",
            requests=("enter: exists*",),
            places=(line,),
            standing=("one in enter: exists*",),
        )
        return Traced(state="stays", traits=traits)

    failures = {
        name: (Fingerprint(kind="stuck-waiter", faults=(fault,)), of(line))
        for name, fault, line in [
            ("one", "kill", "a.py:1 in enter"),
            ("two", "pause", "a.py:1 in enter"),
            ("three", "drop", "b.py:9 in leave"),
        ]
    }
    groups = grouped(failures)
    assert names(groups)[0][:2] == ["one", "two"]
    assert "like stuck-waiter after kill: described alike" in groups[0].why[1]
