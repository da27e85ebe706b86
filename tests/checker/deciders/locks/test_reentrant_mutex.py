"""The re-entrant mutex against its definition: 63 % of the histories are violations."""

from functools import partial

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.locks.holds_table import Nesting
from rumpus.checker.deciders.locks.process_levels import Levels
from rumpus.checker.deciders.operation_table import INFO, NEVER, OperationTable
from rumpus.checker.deciders.registry import MODELS
from tests.checker.crosscheck import crosscheck
from tests.checker.deciders import lock_definition
from tests.checker.deciders.lock_definition import agrees, generate

MUTEX = MODELS["reentrant-mutex"]


def test_agrees_with_the_definition():
    opens = []

    def reentrant(rng):
        table = generate(
            rng,
            size=rng.randint(4, 7),
            shares=(0.12, 0.05),
            most=3,
            pause=rng.choice([3, 8]),
            nests=rng.choice([0, 0.3]),
        )
        violation, decision = agrees(MUTEX, table, Nesting.OUTERMOST, 1)
        opens.append(decision.valid == "unknown")
        return violation

    crosscheck(reentrant)
    assert not any(opens)


def history(*rows):
    names = ("process", "f", "call", "returned", "outcome", "session")
    return OperationTable.from_rows([dict(zip(names, row, strict=False)) for row in rows])


told = partial(lock_definition.told, MUTEX)


NESTED = [
    (0, "acquire", 0, 1),
    (0, "acquire", 2, 3),
    (0, "release", 4, 5),
    (0, "release", 8, 9),
]


def test_a_hold_lasts_until_it_is_released_as_often_as_it_was_acquired():
    assert decide(MUTEX, history(*NESTED, (1, "acquire", 4, 8))).valid is True
    assert told(history(*NESTED, (1, "acquire", 5, 6), (1, "release", 7, 7))) == (
        [0, 3, 5],
        (
            "process 0 and process 1 both held it between position 6 and position 7: process 0 "
            "from the return of its acquire at position 1 to the call of its release at position "
            "8; process 1 from the return of its acquire at position 6 to the call of its release"
            " at position 7"
        ),
    )


def test_released_once_too_often():
    assert told(history(*NESTED, (0, "release", 10, 11)))[0] == [2, 3, 4]


def test_an_unknown_release_within_a_hold_may_have_ended_nothing():
    rows = [*NESTED[:2], (0, "release", 4, NEVER, INFO), (1, "acquire", 6, 7)]
    assert told(history(*rows))[0] == [0, 1, 3]
    once = [NESTED[0], (0, "release", 4, NEVER, INFO), (1, "acquire", 6, 7)]
    assert decide(MUTEX, history(*once)).valid is True


def test_an_inner_release_shows_that_the_session_lived():
    rows = [(0, f, call, returned, 0, "0xa") for _, f, call, returned in NESTED[:3]]
    assert decide(MUTEX, history(*rows, (1, "acquire", 0, 4))).valid is True
    decision = decide(MUTEX, history(*rows, (1, "acquire", 2, 3)))
    assert decision.valid is False
    assert "process 0" in decision.witness.description


def test_a_new_session_makes_a_new_hold():
    rows = [
        (0, "acquire", 0, 1, 0, "0xa"),
        (1, "acquire", 2, 3, 0, "0xb"),
        (1, "release", 4, 5),
        (0, "acquire", 6, 7, 0, "0xc"),
        (0, "release", 8, 9),
        (1, "acquire", 10, 11, 0, "0xb"),
    ]
    assert decide(MUTEX, history(*rows)).valid is True


def test_a_hold_is_told_with_all_that_its_process_did_until_it_was_in_the_way():
    inner = [
        (0, f, time, time + 1)
        for time in range(10, 100, 10)
        for f, time in (("acquire", time), ("release", time + 5))
    ]
    rows, words = told(
        history((0, "acquire", 0, 1), *inner, (1, "acquire", 144, 146), (1, "release", 146, 153))
    )
    # Without the inner acquires the inner releases might have ended the hold.
    assert rows == [0, *range(1, 19, 2), 19]
    assert "process 1 must have held it" in words


def test_what_came_long_after_a_violation_is_not_gone_through(monkeypatch):
    steps = []
    following = Levels._next
    monkeypatch.setattr(
        Levels, "_next", lambda *given, **named: steps.append(0) or following(*given, **named)
    )
    turns = [
        (process, f, time, time + 1)
        for begin in range(100, 10_000, 10)
        for process, f, time in (
            (0, "acquire", begin),
            (0, "release", begin + 2),
            (1, "acquire", begin + 5),
            (1, "release", begin + 7),
        )
    ]
    overlap = [
        (0, "acquire", 0, 1),
        (1, "acquire", 2, 3),
        (0, "release", 8, 9),
        (1, "release", 10, 11),
    ]
    assert told(history(*overlap, *turns))[0] == [0, 1, 2]
    assert len(steps) < 1000
