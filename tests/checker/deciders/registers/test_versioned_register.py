"""Registers with versions or zxids against the definition.

Of the generated histories 35 % (versions) and 38 % (zxids) are violations (measured over
20,000 each).
"""

from functools import partial

import pytest
from hypothesis import note

from rumpus.checker.deciders import forgetting
from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.registers.versioned_register import VERSIONED_REGISTER
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.brute_force import linearizable
from tests.checker.crosscheck import crosscheck
from tests.checker.deciders.register_histories import acts, calls, in_effect, op, swap_returns
from tests.checker.forgetting import refuses_rightly

NOBODYS = "nobody's"


def by_version(state, operation):
    version, value = state
    f, *known = operation
    if f == "read":
        return [state] if known == [version, value] else []
    if f == "refused":
        return [state] if known != [version] else []
    expected, written, returned = known
    if expected not in (None, version) or returned not in (None, version + 1):
        return []
    return [(version + 1, written)]


def by_zxid(numbers, state, operation):
    number, value = state
    f, *known = operation
    if f == "read":
        return [state] if known == [number, value] else []
    _, written, returned = known
    larger = numbers if returned is None else [returned]
    return [(each, written) for each in larger if number is None or each > number]


def operation(kind, row, *, known):
    if row["f"] == "read":
        return ("read", row[kind], row["result"]) if known else None
    expected, value = row["argument"] if row["f"] == "cas" else (None, row["argument"])
    if row["outcome"] == FAIL:
        return ("refused", expected) if known else None
    return "write", expected, value, row[kind] if known else None


def acceptable(rows, kind, initial, forgotten=frozenset()):
    """``initial``: None, or a pair of version and value, either of which may be None."""
    history = acts(rows, partial(operation, kind), forgotten)
    numbers = {row[kind] for row in rows if kind in row}
    step = by_version if kind == "version" else partial(by_zxid, sorted(numbers))
    start, value = initial
    values = [value] if value is not None else [row["result"] for row in rows if "result" in row]
    starts = [start] if start is not None else [0] if kind == "version" else [None, *numbers]
    return any(
        linearizable(history, (number, each), step)
        for number in starts
        for each in (*values, NOBODYS)
        if value is None or each == value
    )


def orderly(rng, kind, initial):
    start, value = initial
    functions = ("read", "read", "write", "write")
    rows = calls(rng, functions if kind == "zxid" else (*functions, "cas"), length=2)
    style = rng.choice((int, str))
    for row in rows:
        if row["f"] != "read":
            row["argument"] = style(rng.randint(1, 4))
    number = (0 if kind == "version" else 100) if start is None else start
    value = style(9) if value is None else value
    expecting = {id(row): number + rng.randint(0, 2) for row in rows}
    for row in in_effect(rows):
        known = row["outcome"] == OK
        if row["f"] == "cas":
            expected = number if rng.random() < 0.6 else expecting[id(row)]
            row["argument"] = [expected, row["argument"]]
            if expected != number:
                if known:
                    row.update(outcome=FAIL, refused=True)
                continue
        if row["f"] != "read":
            number += 1 if kind == "version" else rng.randint(1, 3)
            value = row["argument"][1] if row["f"] == "cas" else row["argument"]
        elif known:
            row["result"] = value
        if known:
            row[kind] = number
    for row in rows:
        if row["f"] == "cas" and not isinstance(row["argument"], list):
            row["argument"] = [expecting[id(row)], row["argument"]]
    return rows


def corrupt(rng, kind, rows):
    """A version or a value is moved, a write becomes unknown, or two returns are swapped."""
    numbered = [row for row in rows if kind in row]
    reads = [row for row in numbered if row["f"] == "read"]
    change = rng.choice(("number", "value", "returns", "returns", "outcome", "expected"))
    if change == "number" and numbered:
        row = rng.choice(numbered)
        row[kind] += rng.choice((-2, -1, 1, 2))
    elif change == "value" and reads:
        rng.choice(reads)["result"] = rng.choice([read["result"] for read in reads])
    elif change == "outcome":
        writes = [row for row in numbered if row["f"] == "write"]
        if writes:
            row = rng.choice(writes)
            del row[kind]
            row.update(outcome=INFO, returned=NEVER)
    elif change == "expected":
        refused = [row for row in rows if row.get("refused")]
        if refused:
            rng.choice(refused)["argument"][0] += rng.choice((-1, 1))
    else:
        swap_returns(rng, rows)


def judge(rows, kind, initial):
    start, value = initial
    given = value
    if start is not None:
        given = {kind: start} if value is None else {kind: start, "value": value}
    table = OperationTable.from_rows(
        [{name: each for name, each in row.items() if name != "point"} for row in rows]
    )
    decision = decide(VERSIONED_REGISTER, table, given)
    assert decision.algorithm == "version order"
    return decision


def is_refused_rightly(rows, kind, initial):
    decision = judge(rows, kind, initial)
    return refuses_rightly(decision, len(rows), partial(acceptable, rows, kind, initial))


def beginning(rng, kind):
    value = rng.choice((None, "x", 1))
    start = rng.choice((None, None, 3 if kind == "version" else 99))
    return start, value


@pytest.mark.parametrize("kind", ["version", "zxid"])
def test_agrees_with_the_definition(kind):
    def agrees(rng):
        initial = beginning(rng, kind)
        rows = orderly(rng, kind, initial)
        for _ in range(rng.choice((0, 2, 3, 4) if kind == "version" else (0, 3, 5, 7))):
            corrupt(rng, kind, rows)
        note((initial, rows))
        return is_refused_rightly(rows, kind, initial)

    crosscheck(agrees)


@pytest.mark.parametrize("kind", ["version", "zxid"])
def test_orderly_histories_stay_valid(kind):
    def stays_valid(rng):
        initial = beginning(rng, kind)
        rows = orderly(rng, kind, initial)
        note((initial, rows))
        assert judge(rows, kind, initial).valid is True
        return False

    crosscheck(stays_valid, share=(0, 0))


@pytest.mark.parametrize("kind", ["version", "zxid"])
def test_a_single_corruption_is_found_when_the_definition_finds_it(kind):
    def found(rng):
        rows = orderly(rng, kind, (None, None))
        corrupt(rng, kind, rows)
        note(rows)
        return is_refused_rightly(rows, kind, (None, None))

    crosscheck(found, share=(0.08, 0.7))


SECOND = 10**9
LOST = {"outcome": INFO, "returned": NEVER}
REFUSED = {"outcome": FAIL, "refused": True}
CASES = {
    "a version from before the beginning": (
        [op("write", 0, 0, 5, "a", version=0)],
        None,
        [0],
        "write('a') -> version 0 of process 0: the register began with version 0",
    ),
    "another value at the beginning": (
        [op("read", 2, 0, 5, result="b", version=0)],
        "a",
        [0],
        "read() -> 'b', version 0, of process 2: it began with 'a'",
    ),
    "a cas that skipped a version": (
        [op("cas", 1, 0, 5, [1, "b"], version=3), op("write", 0, 0, 5, "a", version=1)],
        None,
        [0],
        (
            "cas((1, 'b')) -> version 3 of process 1: "
            "a cas makes the version after the one that it expects"
        ),
    ),
    "more versions than writes": (
        [op("write", 0, 0, 5, "a", version=1), op("read", 1, 6, 7, result="a", version=4)],
        None,
        [1],
        "read() -> 'a', version 4, of process 1: all writes together lead to version 1 at most",
    ),
    "a value that nobody wrote": (
        [op("write", 0, 0, 5, "a", zxid=17), op("read", 1, 6, 7, result="b", zxid=17)],
        "x",
        [1],
        "read() -> 'b', zxid 17, of process 1: nobody ever wrote that value",
    ),
    "a version made twice": (
        [op("write", 0, 0, 5, "a", version=1), op("write", 1, 0, 5, "b", version=1)],
        None,
        [0, 1],
        (
            "write('a') -> version 1 of process 0, and write('b') -> version 1 of process 1: "
            "no two writes make the same version"
        ),
    ),
    "two values of one version": (
        [
            op("write", 0, 0, 5, "a", zxid=17),
            op("write", 1, 0, 5, "b", zxid=18),
            op("read", 2, 0, 7, result="b", zxid=17),
        ],
        None,
        [0, 2],
        (
            "write('a') -> zxid 17 of process 0, and read() -> 'b', zxid 17, of process 2: "
            "a zxid has one value"
        ),
    ),
    "a version with two zxids": (
        [
            op("write", 0, 0, 5, "a", version=1, zxid=17),
            op("read", 1, 6, 7, result="a", version=1, zxid=18),
        ],
        None,
        [0, 1],
        (
            "write('a') -> version 1 of process 0, and read() -> 'a', version 1, of process 1: "
            "a version has one zxid, and these have 0x11 and 0x12"
        ),
    ),
    "zxids against the versions": (
        [
            op("write", 0, 0, 5, "a", version=1, zxid=18),
            op("write", 0, 6, 7, "b", version=2),
            op("write", 0, 8, 9, "c", version=3, zxid=17),
        ],
        None,
        [0, 2],
        (
            "write('a') -> version 1 of process 0, and write('c') -> version 3 of process 0: "
            "a later version has no smaller zxid, and these have 0x12 and 0x11"
        ),
    ),
    "a stale read": (
        [
            op("write", 0, 1 * SECOND, 2 * SECOND, "a", version=1),
            op("read", 2, 3 * SECOND, 4 * SECOND, result="x", version=0),
        ],
        "x",
        [0, 1],
        (
            "write('a') -> version 1 of process 0 returned at 1.000 s, before read() -> 'x', "
            "version 0, of process 2 was called at 2.000 s"
        ),
    ),
    "a version whose write was not called yet": (
        [
            op("read", 2, 0, 5, result="a", version=1),
            op("write", 0, 6, 9, "a") | LOST,
        ],
        None,
        [0, 1],
        (
            "read() -> 'a', version 1, of process 2 returned at position 5, and no write of "
            "'a' can have made version 1 by then"
        ),
    ),
    "a version that can only have come by another write": (
        [
            op("write", 0, 0, 5, "a", version=2),
            op("write", 1, 6, 9, "b") | LOST,
        ],
        None,
        [0, 1],
        (
            "write('a') -> version 2 of process 0 returned at position 5, and no write can "
            "have made version 1 by then"
        ),
    ),
    "a cas refused without reason": (
        [
            op("write", 0, 0, 5, "a", version=1),
            op("cas", 1, 6, 7, [1, "b"]) | REFUSED,
            op("read", 2, 8, 9, result="a", version=1),
            op("write", 3, 0, 12, "c", version=2),
        ],
        None,
        [0, 2, 3],
        (
            "cas((1, 'b')) of process 1, which was refused, was at version 2 or later; it returned "
            "at position 7, before read() -> 'a', version 1, of process 2 was called at position 8"
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_contradiction_is_told(name):
    rows, initial, operations, description = CASES[name]
    rows = sorted(({**row} for row in rows), key=lambda row: row["call"])
    decision = decide(VERSIONED_REGISTER, OperationTable.from_rows(rows), initial)
    assert decision.valid is False
    assert decision.witness.minimal
    assert (decision.witness.operations, decision.witness.description) == (operations, description)


def test_the_beginning_may_be_given_with_its_version():
    table = OperationTable.from_rows([op("write", 0, 0, 5, "a", version=8)])
    assert decide(VERSIONED_REGISTER, table, {"version": 7, "value": "x"}).valid is True
    assert decide(VERSIONED_REGISTER, table, (("version", 7),)).valid is True
    assert decide(VERSIONED_REGISTER, table, "x").valid is False


def long_history():
    rows = [op("write", k, 2 * k, 2 * k + 1, k, version=k + 2) for k in range(2_000)]
    return OperationTable.from_rows([*rows, op("write", 2_000, 9_000, NEVER, 0, outcome=INFO)])


def test_of_a_long_history_a_few_operations_are_named():
    witness = decide(VERSIONED_REGISTER, long_history()).witness
    assert (witness.operations, witness.minimal) == ([1_999, 2_000], True)
    assert "no write can have made version 2000 by then" in witness.description


def test_when_the_work_for_a_witness_is_spent_it_claims_no_more_than_is_known(monkeypatch):
    monkeypatch.setattr(forgetting, "MOST_WORK", 9_000)
    witness = decide(VERSIONED_REGISTER, long_history()).witness
    assert not witness.minimal
    assert 2 < len(witness.operations) < 2_001
    assert witness.operations[-2:] == [1_999, 2_000]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (op("read", 3, 0, 5, result="a"), "answer to read of process 3 .* no version or zxid"),
        (op("write", 0, 0, 5, "a", version="7"), "'7' is not"),
        (op("cas", 0, 0, 5, "a", version=7), r"a cas takes \[expected version, value\], not 'a'"),
        (op("cas", 0, 0, 5, [6, "a"], zxid=7), "needs answers with versions, not zxids"),
    ],
)
def test_what_is_malformed_is_refused(row, message):
    with pytest.raises(WrongOperations, match=message):
        decide(VERSIONED_REGISTER, OperationTable.from_rows([row]))


def test_keys_are_judged_one_by_one():
    rows = [op("write", 0, 0, 5, "a", version=1, key=name) for name in "xy"]
    assert decide(VERSIONED_REGISTER, OperationTable.from_rows(rows)).valid is True
