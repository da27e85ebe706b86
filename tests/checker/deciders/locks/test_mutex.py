"""The mutex against its definition.

Of the generated histories 58 % are violations (48 % of those with refused tries, 42 % of those
whose processes go on after an unknown outcome, 36 % of those in which a hold was moved).
"""

from functools import partial

import pytest

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.locks import lock_search
from rumpus.checker.deciders.locks.holds_table import Nesting
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OperationTable
from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.crosscheck import crosscheck
from tests.checker.deciders import lock_definition
from tests.checker.deciders.lock_definition import agrees, generate, moved, orderly

MUTEX = MODELS["mutex"]
S = 10**9


def decided(least, largest, **how):
    opens = []

    def some(rng):
        table = generate(rng, size=rng.randint(least, largest), **how)
        violation, decision = agrees(MUTEX, table, Nesting.NONE, 1)
        opens.append(decision.valid == "unknown")
        return violation

    crosscheck(some)
    return not any(opens)


def test_agrees_with_the_definition():
    assert decided(4, 7, shares=(0.12, 0.06), nests=0.05)


def test_refused_tries_agree_with_the_definition():
    assert decided(4, 8, shares=(0.1, 0.05), tries=0.5, most=3, pause=6)


def test_processes_that_go_on_after_an_unknown_outcome_are_judged_as_well():
    assert decided(4, 7, shares=(0.25, 0.05), tries=0.2, keeping=0.3)


def test_orderly_histories_are_valid():
    def valid(rng):
        table = orderly(rng, size=40, permits=1)
        assert decide(MUTEX, table).valid is True
        return False

    crosscheck(valid, share=(0, 0))


def test_a_hold_moved_over_another_is_found():
    def corrupted(rng):
        return agrees(MUTEX, moved(rng, orderly(rng, size=8, permits=1)), Nesting.NONE, 1)[0]

    crosscheck(corrupted)


def history(*rows):
    names = ("process", "f", "call", "returned")
    return OperationTable.from_rows(
        [dict(zip(names, row[:4], strict=True)) | (row[4] if len(row) > 4 else {}) for row in rows]
    )


told = partial(lock_definition.told, MUTEX)


def test_two_hold_it_at_once():
    table = history(
        (3, "acquire", 0, S, {"session": "0x1"}),
        (7, "lock", 0, 2 * S),
        (3, "release", 2_480_000_000, 3 * S),
        (7, "unlock", 2_600_000_000, 3 * S),
    )
    assert told(table) == (
        [0, 1, 2, 3],
        (
            "process 3 and process 7 both held it between 2.000 s and 2.480 s: process 3 from the"
            " return of its acquire at 1.000 s to the call of its release at 2.480 s; process 7 "
            "from the return of its lock at 2.000 s to the call of its unlock at 2.600 s"
        ),
    )


@pytest.mark.parametrize(("overlap", "valid"), [(-1, True), (0, True), (1, False)])
def test_one_nanosecond_is_an_overlap_and_a_tie_is_none(overlap, valid):
    table = history(
        (0, "acquire", 0, 10**7),
        (0, "release", 3 * 10**7, 4 * 10**7),
        (1, "acquire", 0, 3 * 10**7 - overlap),
        (1, "release", 5 * 10**7, 6 * 10**7),
    )
    decision = decide(MUTEX, table)
    assert decision.valid is valid
    if not valid:
        assert "between 0.029999999 s and 0.030000000 s" in decision.witness.description


def test_a_grant_within_a_hold_needs_not_be_known_to_have_lasted():
    table = history(
        (0, "acquire", 0, 1),
        (1, "acquire", 3, 4),
        (0, "release", 8, 9),
        (1, "release", 5, NEVER, {"outcome": INFO}),
    )
    assert told(table)[0] == [0, 1, 3]


def test_never_released():
    assert told(history((0, "acquire", 0, 1), (1, "acquire", 0, 5))) == (
        [0, 1],
        (
            "process 0 and process 1 both held it from position 5 on: process 0 from the return of "
            "its acquire at position 1 on, and never released it; process 1 from the return of its "
            "acquire at position 5 on, and never released it"
        ),
    )


def test_released_by_who_does_not_hold_it():
    table = history((0, "acquire", 0, 1), (0, "release", 2, 3), (0, "release", 4, 5))
    assert told(table) == (
        [1, 2],
        (
            "process 0's release at position 4 was acknowledged, and it held nothing, or not so "
            "much, after its release answered at position 3"
        ),
    )
    assert told(history((0, "release", 2, 3))) == (
        [0],
        "process 0's release at position 2 was acknowledged, and it had acquired nothing",
    )
    failed = history((0, "acquire", 0, 1, {"outcome": FAIL}), (0, "release", 2, 3))
    assert told(failed)[0] == [1]


def test_acquired_twice():
    assert told(history((0, "acquire", 0, 1), (0, "acquire", 2, 3), (0, "release", 4, 5))) == (
        [0, 1],
        (
            "process 0's acquire returned at position 1, and so did its acquire at position 3, "
            "without a release in between"
        ),
    )


def test_a_cleanup_that_succeeded_proves_a_hold():
    rows = [
        (0, "acquire", 0, NEVER, {"outcome": INFO}),
        (0, "release", 5, 6),
        (1, "acquire", 1, 2),
        (1, "release", 9, 10),
    ]
    assert told(history(*rows)) == (
        [1, 2, 3],
        (
            "process 0 must have held it at some moment between position 5 and position 6, when "
            "its release took effect, and there was no room: process 1 from the return of its "
            "acquire at position 2 to the call of its release at position 9"
        ),
    )
    rows[1] = (0, "release", 5, 9)
    assert decide(MUTEX, history(*rows)).valid is True


def test_unknown_outcomes_excuse():
    acquire = history(
        (0, "acquire", 0, NEVER, {"outcome": INFO}), (1, "acquire", 1, 2), (1, "release", 3, 4)
    )
    assert decide(MUTEX, acquire).valid is True
    release = history(
        (0, "acquire", 0, 1), (0, "release", 2, NEVER, {"outcome": INFO}), (1, "acquire", 1, 3)
    )
    assert decide(MUTEX, release).valid is True


def test_a_session_ends_a_hold_after_its_last_evidence():
    rows = [
        (0, "acquire", 0, 1, {"session": "0xa"}),
        (0, "work", 5, 6, {"session": "0xa"}),
        (1, "acquire", 0, 5, {"session": "0xb"}),
        (1, "release", 8, 9),
    ]
    assert decide(MUTEX, history(*rows)).valid is True
    rows[1] = (0, "work", 6, 7, {"session": "0xa"})
    assert told(history(*rows)) == (
        [0, 1, 2, 3],
        (
            "process 0 and process 1 both held it between position 5 and position 6: process 0 "
            "from the return of its acquire at position 1 to position 6, when its session 0xa was"
            " last known to live; process 1 from the return of its acquire at position 5 to the "
            "call of its release at position 8"
        ),
    )
    nothing = [(0, "acquire", 3, 4, {"session": "0xa"}), (1, "acquire", 0, 2), rows[3]]
    assert told(history(*nothing))[0] == [0, 1, 2]


def test_two_unreleased_holds_of_one_session():
    table = history(
        (0, "acquire", 0, 1, {"session": "0xa"}), (1, "acquire", 2, 3, {"session": "0xa"})
    )
    assert told(table) == (
        [0, 1],
        (
            "process 0 (at position 1) and process 1 (at position 3) acquired it in the same "
            "session 0xa, which still lived at the later acquire, and nobody released it"
        ),
    )


def test_acquired_anew_while_the_session_of_the_first_hold_lived_on():
    table = history(
        (0, "acquire", 0, 1, {"session": "0xa"}),
        (0, "acquire", 2, 3, {"session": "0xb"}),
        (0, "work", 7, 8, {"session": "0xa"}),
        (0, "release", 9, 10),
    )
    rows, words = told(table)
    assert rows == [0, 1, 2]
    assert words == (
        "process 0's acquire returned at position 1, and so did its acquire at position 3, "
        "without a release in between; session 0xa of the first still lived at position 7"
    )


def test_refused_although_free():
    table = history(
        (0, "acquire", 0, 1),
        (0, "release", 2, 3),
        (1, "try_acquire", 4, 5, {"outcome": FAIL, "refused": True}),
        (0, "acquire", 6, 7),
        (0, "release", 8, 9),
    )
    assert told(table) == (
        [1, 2, 3],
        (
            "process 1's try_acquire was refused between position 4 and position 5, and nobody can "
            "have held it from position 3 to position 6"
        ),
    )
    excused = [
        (1, "try_acquire", 4, 5, {"result": False}),
        (2, "acquire", 4, NEVER, {"outcome": INFO}),
    ]
    assert decide(MUTEX, history((0, "acquire", 0, 1), (0, "release", 2, 3), *excused)).valid
    error = history((1, "try_acquire", 4, 5, {"outcome": FAIL}))
    assert decide(MUTEX, error).valid is True


def test_one_unknown_acquire_excuses_one_gap():
    rows = [
        (2, "acquire", 0, NEVER, {"outcome": INFO}),
        (2, "release", 1, NEVER, {"outcome": INFO}),
        (1, "try_acquire", 2, 3, {"result": False}),
        (0, "acquire", 5, 6),
        (0, "release", 7, 8),
    ]
    assert decide(MUTEX, history(*rows)).valid is True
    rows.append((1, "try_acquire", 10, 11, {"result": False}))
    assert decide(MUTEX, history(*rows)).valid is False


GOES_ON = [
    (0, "acquire", 0, 1),
    (0, "release", 2, NEVER, {"outcome": INFO}),
    (0, "acquire", 4, 5),
]
"""It holds the lock at the end if its release took effect, and otherwise has not got it again."""


def test_a_process_that_goes_on_after_an_unknown_outcome_is_searched():
    decision = decide(MUTEX, history(*GOES_ON))
    assert (decision.valid, decision.algorithm) == (True, "windowed search")
    decision = decide(MUTEX, history(*GOES_ON, (1, "acquire", 6, 7)))
    assert (decision.valid, decision.algorithm) == (False, "windowed search")
    assert decision.witness.operations == [2, 3]
    assert decision.witness.minimal
    assert decision.witness.description == (
        "process 1's acquire (called at position 6, returned at position 7) fits into no order "
        "with the others"
    )


def test_what_is_too_long_to_search_stays_unknown(monkeypatch):
    monkeypatch.setattr(lock_search, "MOST_ROWS", 2)
    decision = decide(MUTEX, history(*GOES_ON))
    assert decision.valid == "unknown"
    assert decision.unknown == [
        "process 0 goes on after its outcome stayed unknown: its release (operation 1)"
    ]


def test_each_key_is_a_lock_of_its_own():
    rows = [
        (0, "acquire", 0, 1, {"key": "a"}),
        (1, "acquire", 0, 1, {"key": "b"}),
    ]
    assert decide(MUTEX, history(*rows)).valid is True
    rows.append((2, "acquire", 2, 3, {"key": "b"}))
    decision = decide(MUTEX, history(*rows))
    assert decision.witness.operations == [1, 2]
    assert decision.witness.description.startswith("key 'b': ")


@pytest.mark.parametrize("called", [3, 4])
def test_a_refused_try_is_in_the_order_of_its_process(called):
    tried = (0, "try_acquire", 2, 3, {"outcome": FAIL, "refused": True})
    assert decide(MUTEX, history(tried, (0, "acquire", called, 6))).valid is False
    assert decide(MUTEX, history(tried, (1, "acquire", 3, 6))).valid is True
    held = [(0, "acquire", 0, 1), (0, "release", 1, 2)]
    assert decide(MUTEX, history(*held, tried)).valid is False


def test_a_process_has_one_operation_open_at_a_time():
    with pytest.raises(WrongOperations, match=r"process 0 calls release .* still open"):
        decide(MUTEX, history((0, "acquire", 0, 5), (0, "release", 3, 8)))


def test_unknown_functions_are_named():
    with pytest.raises(WrongOperations, match="mutex knows no operation 'enqueue'"):
        decide(MUTEX, history((0, "enqueue", 0, 5)))


def test_nothing_is_no_violation():
    assert decide(MUTEX, history()).valid is True


@pytest.mark.parametrize("far", [1, 2**14, 2**20, 2**40])
def test_processes_of_any_number(far):
    rows = [
        row
        for at in range(0, 40, 4)
        for row in (
            (at * far + 2**16 - 7, "acquire", at, at + 1),
            (at * far + 2**16 - 7, "release", at + 2, at + 3),
        )
    ]
    assert decide(MUTEX, history(*rows)).valid is True
    assert (
        decide(MUTEX, history(*rows, (1, "acquire", 4, 5), (1, "release", 38, 39))).valid is False
    )
