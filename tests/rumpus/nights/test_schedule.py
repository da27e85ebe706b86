"""Which piece comes next: performed in no time, by a simulation of a night that only adds up."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumpus.nights.pieces import Piece
from rumpus.nights.schedule import AGAIN, CASES, REAL_SPARE_S, Schedule, longest_s
from tests.rumpus.nights.made import canary_of, on, task_of


def case_piece(name, world="sim", kind="case"):
    return Piece(
        role="case", subject="lock / fair", world=world, task=task_of(), name=name, kind=kind
    )


def made(*, budget=1000.0, threads=None, seed=0, **more):
    return Schedule(budget=budget, threads=threads or {"sim": 1}, random=Random(seed), **more)


def performed(schedule, lasts, *, budget=1000.0, world="sim", missed=False):
    """The pieces of a night with one thread, each of which lasts as long as a function says."""
    told, left = [], budget
    while (piece := schedule.next(world, left)) is not None:
        seconds = lasts(piece)
        told.append(piece)
        left -= seconds
        schedule.spent(piece, seconds)
        if missed and piece.role == "canary":
            schedule.missed(schedule.canaries[piece.name])
    return told


def seconds_of(pieces, lasts, role):
    return sum(lasts(piece) for piece in pieces if piece.role == role)


def test_second_looks_then_cases_then_canaries_then_subjects():
    schedule = made(
        cases=[case_piece("a"), case_piece("b")],
        canaries=[canary_of("c")],
        canary_share=0.1,
        subjects=[(on("x"), 1), (on("y"), 1)],
    )
    schedule.soon(case_piece("soon"))
    told = performed(schedule, lambda _: 1.0, budget=6.0)
    names = [piece.name or piece.subject for piece in told]
    assert names == ["soon", "a", "b", "c", "lock / x, sim", "lock / y, sim"]
    assert schedule.cases_left == 0


def test_nothing_comes_after_the_end():
    schedule = made(cases=[case_piece("a")], subjects=[(on(), 1)])
    schedule.soon(case_piece("soon"))
    assert schedule.next("sim", 0.0) is None
    assert schedule.next("sim", -1.0) is None
    assert made(budget=0.0, cases=[case_piece("a")]).next("sim", 0.0) is None


@settings(max_examples=25)
@given(
    case_s=st.integers(10, 60),
    canary_s=st.integers(10, 60),
    run_s=st.integers(10, 60),
    share=st.sampled_from([0.0, 0.05, 0.1, 0.3]),
)
def test_cases_and_canaries_keep_to_their_shares(case_s, canary_s, run_s, share):
    schedule = made(
        cases=[case_piece(str(number)) for number in range(60)],
        canaries=[canary_of(str(number)) for number in range(60)],
        canary_share=share,
        subjects=[(on("x"), 1)],
    )
    length = {"case": case_s, "canary": canary_s, "run": run_s}

    def lasts(piece):
        return length[piece.role]

    told = performed(schedule, lasts)
    cases, canaries = (seconds_of(told, lasts, role) for role in ("case", "canary"))
    assert 1000 * CASES <= cases < 1000 * CASES + case_s
    assert 1000 * share <= canaries <= 1000 * share + canary_s
    assert (canaries == 0) == (share == 0)
    assert schedule.cases_left == 60 - sum(piece.role == "case" for piece in told)


def test_shares_are_of_all_threads():
    schedule = made(budget=100.0, threads={"sim": 4}, cases=[case_piece("x")] * 30)
    told = []
    while (piece := schedule.next("sim", 100.0)) is not None:
        told.append(piece)
        schedule.spent(piece, 10.0)
    assert len(told) == 100 * 4 * CASES / 10


@settings(max_examples=25)
@given(
    weights=st.lists(st.sampled_from([0.5, 1.0, 2.0, 5.0]), min_size=2, max_size=4),
    lengths=st.lists(st.integers(5, 20), min_size=4, max_size=4),
)
def test_weights_are_kept_within_the_length_of_a_piece(weights, lengths):
    subjects = [
        (on(f"r{number}", weight=weight, kinds=("usual",)), 1)
        for number, weight in enumerate(weights)
    ]
    schedule = made(subjects=subjects)
    of = {each.subject.key: lengths[number] for number, (each, _) in enumerate(subjects)}
    performed(schedule, lambda piece: of[piece.subject])
    costs = {key: turn.cost for key, turn in schedule.turns.items()}
    longest = max(of[each.subject.key] / each.weight for each, _ in subjects)
    assert max(costs.values()) - min(costs.values()) <= longest + 0.2


def test_kinds_have_equal_time():
    kinds = ("usual", "swarm", "short", "systematic")
    schedule = made(subjects=[(on("x", kinds=kinds), 1)])
    length = {"usual": 3.0, "swarm": 5.0, "short": 11.0, "systematic": 2.0}
    told = performed(schedule, lambda piece: length[piece.kind])
    assert [piece.kind for piece in told[:4]] == list(kinds)
    spent = Counter()
    for piece in told:
        spent[piece.kind] += length[piece.kind]
    assert max(spent.values()) - min(spent.values()) <= 11.0


def test_kinds_take_turns_also_while_none_has_ended():
    kinds = ("usual", "swarm", "short")
    schedule = made(subjects=[(on("x", kinds=kinds), 1)])
    told = [schedule.next("sim", 1000.0).kind for _ in range(6)]
    assert told == [*kinds, *kinds]


@settings(max_examples=25)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_every_subject_has_its_first_turns_before_another_has_more(firsts):
    subjects = [(on(f"r{number}"), first) for number, first in enumerate(firsts)]
    told = performed(made(subjects=subjects), lambda _: 10.0)
    rounds = range(max(firsts))
    expected = [each.subject.key for done in rounds for each, first in subjects if done < first]
    assert [piece.subject for piece in told[: len(expected)]] == expected


def test_seeds_are_those_of_the_night():
    def seeds(seed):
        told = performed(made(seed=seed, subjects=[(on(), 1)]), lambda _: 100.0)
        return [piece.seed for piece in told]

    assert seeds(1) == seeds(1)
    assert seeds(1) != seeds(2)
    assert len(set(seeds(1))) == 10


def test_a_dropped_subject_has_no_further_turn():
    schedule = made(subjects=[(on("x"), 1), (on("y"), 1)])
    schedule.drop("lock / x, sim")
    told = performed(schedule, lambda _: 100.0)
    assert {piece.subject for piece in told} == {"lock / y, sim"}
    assert set(schedule.turns) == {"lock / x, sim", "lock / y, sim"}


def test_a_closed_world_has_nothing_and_others_go_on():
    schedule = made(
        threads={"sim": 1, "docker": 1},
        cases=[case_piece("real", "docker"), case_piece("a")],
        subjects=[(on("x"), 1), (on("y", world="docker"), 1)],
    )
    schedule.close("docker")
    assert schedule.worlds == ["sim"]
    assert schedule.next("docker", 900.0) is None
    assert schedule.next("sim", 900.0).name == "a"
    assert schedule.next("sim", 900.0).subject == "lock / x, sim"
    assert schedule.cases_left == 1


def test_a_case_that_is_set_up_again_has_had_no_turn_yet():
    schedule = made(cases=[case_piece("a")])
    piece = schedule.next("sim", 1.0)
    assert schedule.cases_left == 0
    schedule.soon(piece)
    assert schedule.cases_left == 1
    schedule.soon(case_piece("a", kind="near"))
    assert schedule.cases_left == 1


def test_a_run_on_real_servers_begins_only_if_it_may_end_in_time():
    real = on("x", world="docker")
    schedule = made(threads={"docker": 1}, subjects=[(real, 1)])
    assert schedule.next("docker", longest_s(real) - 1) is None
    assert schedule.next("docker", longest_s(real)).subject == "lock / x, docker"


def test_a_case_on_real_servers_begins_only_if_it_may_end_in_time():
    long, short = (case_piece(name, world="docker") for name in ("long", "short"))
    settings_ = replace(long.task.settings, time_limit=600.0)
    long = replace(long, task=replace(long.task, settings=settings_))
    schedule = made(threads={"docker": 1}, cases=[long, short])
    assert schedule.next("docker", 300.0) is short
    assert schedule.next("docker", 300.0) is None
    assert schedule.cases_left == 1
    assert schedule.next("docker", 600.0 + REAL_SPARE_S) is long


def test_a_long_run_on_real_servers_keeps_no_short_one_from_its_turn():
    long, short = on("long", world="docker", time_limit=600.0), on("short", world="docker")
    schedule = made(threads={"docker": 1}, subjects=[(long, 1), (short, 1)])
    assert schedule.next("docker", 300.0).subject == "lock / short, docker"


@pytest.mark.parametrize("rate", [0.3, 0.9, 1.0])
def test_a_canary_is_tried_again_until_chance_is_ruled_out(rate):
    canary = canary_of("c", rate=rate)
    schedule = made(canaries=[canary], canary_share=0.5, subjects=[(on(), 1)])
    told = performed(schedule, lambda _: 1.0, budget=30.0, missed=True)
    assert [piece.role for piece in told[: canary.tries]] == ["canary"] * canary.tries
    assert sum(piece.role == "canary" for piece in told) == canary.tries
    assert len({piece.seed for piece in told[: canary.tries]}) == canary.tries
    assert schedule.missed(canary)


@given(st.floats(0.01, 1.0))
def test_as_many_tries_as_chance_needs_but_not_too_many(rate):
    tries = canary_of(rate=rate).tries
    assert 1 <= tries <= 12
    assert (1 - rate) ** tries <= 0.001 or tries == 12
    if tries > 1:
        assert (1 - rate) ** (tries - 1) > 0.001


def test_runs_near_cases_take_turns_and_end_where_one_is_found():
    schedule = made(threads={"sim": 1})
    one = iter([case_piece("one", kind="near") for _ in range(3)])
    two = iter([case_piece("two", kind="near") for _ in range(5)])
    schedule.look_near("sim", one)
    schedule.look_near("sim", two)
    told = [schedule.next("sim", 900.0).name for _ in range(4)]
    assert told == ["one", "two", "one", "two"]
    schedule.found_near(two)
    schedule.found_near(two)
    assert schedule.next("sim", 900.0).name == "one"
    assert schedule.next("sim", 900.0) is None


def test_runs_near_cases_have_a_share_of_their_own():
    schedule = made(budget=20.0, subjects=[(on(), 1)])
    schedule.look_near("sim", iter([case_piece("one", kind="near") for _ in range(30)]))
    told = performed(schedule, lambda _: 1.0, budget=20.0)
    assert [piece.role for piece in told] == ["case"] * 2 + ["run"] * 18


def test_the_first_run_and_one_of_some_is_performed_twice():
    schedule = made()
    twice = [schedule.is_twice() for _ in range(3 * AGAIN)]
    assert [number for number, each in enumerate(twice) if each] == [0, AGAIN, 2 * AGAIN]
