from rumpus.checker.deciders.operation_table import INFO, NEVER, OperationTable
from rumpus.checker.deciders.wording import at, between, who

S = 10**9


def table(*times):
    rows = [{"f": "read", "process": 7, "call": c, "returned": r} for c, r in times]
    return OperationTable.from_rows([*rows, {"f": "read", "call": times[-1][0], "outcome": INFO}])


def test_times_are_seconds_after_the_first_call():
    run = table((5 * S, 6 * S), (7 * S, 8 * S))
    assert at(run, 5 * S) == "0.000 s"
    assert at(run, 17_031_400_000) == "12.031 s"
    assert between(run, 17_031_400_000, 17_480_000_000) == "between 12.031 s and 12.480 s"
    assert at(run, NEVER) == "never"


def test_as_many_decimals_as_tell_two_times_apart():
    run = table((0, 10 * S))
    assert between(run, S, S + 1) == "between 1.000000000 s and 1.000000001 s"
    assert between(run, S, S + 5000) == "between 1.000000 s and 1.000005 s"
    assert between(run, S, S) == "between 1.000 s and 1.000 s"
    assert at(run, S, S + 1, NEVER) == "1.000000000 s"


def test_a_file_without_times_has_positions():
    file = table((3, 8), (9, 12))
    assert at(file, 8) == "position 8"
    assert between(file, 8, 9) == "between position 8 and position 9"
    assert at(table((3, 10**6)), 3) == "0.000 s"


def test_who_called():
    assert who(table((3, 8)), 0) == "process 7"
