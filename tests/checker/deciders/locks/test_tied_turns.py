"""Locks of which a process has several shares, and times that tie, against the definition."""

from functools import partial
from itertools import accumulate

import pytest
from hypothesis import note

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.locks import weighted_holds
from rumpus.checker.deciders.locks.holds_table import Nesting
from rumpus.checker.deciders.locks.tied_turns import Turn
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.registry import MODELS
from tests.checker.crosscheck import crosscheck
from tests.checker.deciders.lock_definition import acceptable, in_words

READ_WRITE, SEMAPHORE = MODELS["read-write-lock"], MODELS["semaphore"]


def read_write(rng, held, *, acquires):
    if acquires:
        return rng.choice(["read"] * 5 + ["write"])
    return rng.choice([None, held[-1] if held else "read", rng.choice(held or ["read"])])


def permits(rng, held, *, acquires):
    return rng.choice([1, 1, 2] if acquires else [1, 1, 2, max(1, sum(held))])


def held_after(held, amount, *, acquires, whole):
    if acquires:
        return [*held, amount]
    if whole:
        named = [at for at, each in enumerate(held) if amount in (None, each)]
        return held[: named[-1]] + held[named[-1] + 1 :] if named else held
    held = list(held)
    while amount and held:
        last = held.pop()
        held += [last - amount] if last > amount else []
        amount = max(0, amount - last)
    return held


def generate(rng, argument, *, sessions=False, unknown=0.0):
    """Up to nine operations of two or three processes; most of their times tie."""
    rows = []
    for process in range(rng.randint(2, 3)):
        time, held = rng.randint(0, 2), []
        session = f"s{process}" if sessions and rng.random() < 0.6 else None
        for _ in range(rng.randint(1, 5)):
            acquires = not held or rng.random() < 0.45
            amount = argument(rng, held, acquires=acquires)
            outcome = rng.choice([INFO, INFO, FAIL]) if rng.random() < unknown else OK
            returned = time + rng.choice([0, 0, 1, 1, 2])
            row = {
                "f": "acquire" if acquires else "release",
                "process": process,
                "call": time,
                "returned": NEVER if outcome == INFO else returned,
                "outcome": outcome,
                "argument": amount,
            }
            if acquires and session is not None and rng.random() < 0.9:
                row["session"] = session
            if len(rows) < 9:
                rows.append(row)
            if outcome == INFO:
                break
            held = held_after(held, amount, acquires=acquires, whole=argument is read_write)
            time = returned + (rng.random() < 0.3)
    return OperationTable.from_rows(rows)


def compared(entry, table, rng):
    """Assert that the answer is the definition's, and that the rows of a witness suffice."""
    note(in_words(table))
    if entry is READ_WRITE:
        initial, capacity, nesting = None, len(table) + 1, Nesting.WHOLE
    else:
        initial = capacity = rng.randint(3, 6)
        nesting = Nesting.COUNTED
    weights = {"read": 1, "write": capacity, None: 0}
    judged = partial(
        acceptable,
        table,
        nesting,
        capacity,
        lambda row: weights.get(table.argument[row], table.argument[row]),
    )
    decision = decide(entry, table, initial)
    note(f"{decision}")
    expected = judged()
    if decision.valid != "unknown":
        assert decision.valid is expected
    if decision.witness is not None:
        assert not judged(frozenset(range(len(table))).difference(decision.witness.operations))
    return not expected, decision


@pytest.mark.parametrize(("entry", "argument"), [(READ_WRITE, read_write), (SEMAPHORE, permits)])
@pytest.mark.parametrize("searches", [False, True])
def test_agrees_with_the_definition_where_times_tie(entry, argument, searches, monkeypatch):
    if not searches:  # what the overlap decides by itself
        monkeypatch.setattr(weighted_holds, "settle_by_search", lambda _t, _l, _r, made, _b: made)

    def certain(rng):
        violation, decision = compared(entry, generate(rng, argument), rng)
        assert decision.valid != "unknown"
        return violation

    def doubtful(rng):
        table = generate(rng, argument, sessions=True, unknown=rng.choice([0, 0.1]))
        violation, decision = compared(entry, table, rng)
        assert decision.valid != "unknown" or not searches
        return violation

    crosscheck(certain, share=(0.3, 0.8), normally=40)
    crosscheck(doubtful, share=(0.3, 0.8), normally=40)


def history(*rows):
    names = ("process", "f", "call", "returned", "argument")
    return OperationTable.from_rows([dict(zip(names, row, strict=False)) for row in rows])


def upgrade(time):
    """A process that takes a lock to write at the very time at which it gives up reading."""
    return [
        (0, "acquire", time, time + 1, "read"),
        (0, "acquire", time + 2, time + 3, "write"),
        (0, "release", time + 3, time + 4, "read"),
        (0, "release", time + 5, time + 6, "write"),
    ]


def test_what_a_process_has_for_a_moment_counts():
    decision = decide(READ_WRITE, history(*upgrade(0)))
    assert decision.valid is False
    assert decision.witness.minimal
    # Both were held before the first release, whenever they were acquired.
    assert decision.witness.operations == [2, 3]
    rows = upgrade(0)
    rows[1], rows[2] = (0, "release", 2, 3, "read"), (0, "acquire", 3, 4, "write")
    assert decide(READ_WRITE, history(*rows)).valid is True


def test_in_a_long_history_the_witness_is_of_the_processes_concerned():
    turns = [(1, f, 2 * n, 2 * n + 1, "read") for n in range(600) for f in ("acquire", "release")]
    turns = [(*row[:2], at, at + 1, row[4]) for at, row in enumerate(turns)]
    before = [(0, "acquire", 1300, 1301, "read"), (0, "release", 1302, 1303)]
    decision = decide(READ_WRITE, history(*turns, *before, *upgrade(1400), *upgrade(1500)))
    assert decision.valid is False
    assert decision.witness.operations == [1202, 1203, 1204, 1205]
    assert not decision.witness.minimal
    assert decision.witness.description == (
        "what process 0 acquired and released at position 1403 is too much at once in every order "
        "that keeps that of each process"
    )


def test_chains_are_interleaved_if_they_can_be():
    """Against all orders."""

    def possible(chains, room, places):
        if sum(chain[at] for chain, at in zip(chains, places, strict=True)) > room:
            return False
        if places in seen:
            return False
        seen.add(places)
        following = [
            (*places[:number], at + 1, *places[number + 1 :])
            for number, at in enumerate(places)
            if at + 1 < len(chains[number])
        ]
        return not following or any(possible(chains, room, each) for each in following)

    def compared(rng):
        chains = []
        for _ in range(rng.randint(1, 4)):
            steps = [rng.randint(-3, 3) for _ in range(rng.randint(1, 5))]
            levels = list(accumulate(steps, initial=0))
            chains.append([level - min(levels) for level in levels])
        across = rng.randint(0, 2)
        capacity = across + rng.randint(3, 10)
        seen.clear()
        expected = possible(chains, capacity - across, (0,) * len(chains))
        turn = Turn(0, [], across, chains, settled=True)
        assert turn.is_possible(capacity) is expected
        return not expected

    seen = set()
    crosscheck(compared, share=(0.2, 0.8))
