"""The definition that deciders are held against, on cases decided by hand."""

from math import inf

from tests.checker.brute_force import Act, linearizable


def register(state, operation):
    f, value = operation
    if f == "write":
        return [value]
    return [state] if state == value else []


def test_concurrent_writes_may_be_seen_either_way():
    acts = [Act(0, 5, ("write", 1)), Act(1, 6, ("write", 2)), Act(7, 8, ("read", 1))]
    assert linearizable(acts, 0, register)
    assert linearizable([*acts[:2], Act(7, 8, ("read", 2))], 0, register)
    assert not linearizable([*acts, Act(9, 10, ("read", 2))], 0, register)


def test_a_return_at_the_moment_of_a_call_does_not_precede_it():
    write = Act(0, 5, ("write", 1))
    assert linearizable([write, Act(5, 6, ("read", 0))], 0, register)
    assert not linearizable([write, Act(6, 7, ("read", 0))], 0, register)


def test_what_is_optional_may_happen_within_its_interval_or_never():
    unknown = Act(2, inf, ("write", 1), optional=True)
    assert linearizable([unknown, Act(3, 4, ("read", 0))], 0, register)
    assert linearizable([unknown, Act(9, 10, ("read", 1))], 0, register)
    assert not linearizable([unknown, Act(0, 1, ("read", 1))], 0, register)
    soon = Act(2, 5, ("write", 1), optional=True)
    between = Act(6, 7, ("read", 0))
    assert linearizable([soon, between, Act(8, 9, ("read", 0))], 0, register)
    assert not linearizable([soon, between, Act(8, 9, ("read", 1))], 0, register)


def test_an_object_may_change_by_itself():
    reads = [Act(0, 1, ("read", 0)), Act(2, 3, ("read", 1))]
    assert not linearizable(reads, 0, register)
    assert linearizable(reads, 0, register, internal=lambda state: [1] if state == 0 else [])
