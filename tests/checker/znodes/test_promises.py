"""Each promise, broken by hand, and the words for it."""

import pytest

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.operation_table import INFO, OperationTable
from rumpus.checker.deciders.table_builder import table_of
from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.history import History, Op
from rumpus.checker.znodes.guarantee_models import SEQUENTIAL_CONSISTENCY, SESSION_GUARANTEES

S = 10**9


def op(f, call, returned=None, **columns):
    outcome = {"outcome": INFO} if returned is None else {"returned": int(returned * S)}
    return {"f": f, "call": int(call * S), "process": 0, **outcome, **columns}


def write(call, returned, value, zxid, **columns):
    return op("write", call, returned, argument=value, zxid=zxid, **columns)


def read(call, returned, value, zxid, f="read", **columns):
    return op(f, call, returned, result=value, zxid=zxid, **columns)


def judge(*rows, model=SESSION_GUARANTEES):
    return decide(model, OperationTable.from_rows(rows))


def why(*rows, model=SESSION_GUARANTEES):
    decision = judge(*rows, model=model)
    assert decision.valid is False
    assert decision.witness.minimal
    return decision.witness.operations, decision.witness.description


def test_two_writes_are_two_transactions():
    assert why(write(0, 1, "x", 7), write(0, 1, "y", 7, process=1)) == (
        [0, 1],
        "process 0's and process 1's writes were both transaction 7",
    )


def test_writes_take_effect_in_the_order_of_zxids():
    assert why(write(0, 1, "x", 7), write(2, 3, "y", 5, process=1)) == (
        [0, 1],
        (
            "process 1's write, called at 2.000 s, was transaction 5, but process 0 had been given "
            "the higher zxid 7 by 1.000 s"
        ),
    )
    assert judge(write(0, 1, "x", 7), write(1, 3, "y", 5, process=1)).valid is True


def test_nobody_reads_what_is_yet_to_be_written():
    assert why(read(0, 1, "x", 7), write(2, 3, "x", 7, process=1)) == (
        [0, 1],
        (
            "process 1's write, called at 2.000 s, was transaction 7, but process 0 had already "
            "seen it by 1.000 s"
        ),
    )


def test_a_read_returns_what_its_transaction_wrote():
    assert why(write(0, 1, "x", 7), read(2, 3, "y", 7, process=1)) == (
        [0, 1],
        "zxid 7 has value 'x' for process 0, but value 'y' for process 1",
    )
    assert why(write(0, 1, "x", 7, version=2), read(2, 3, "x", 7, process=1, version=3)) == (
        [0, 1],
        "zxid 7 has version 2 for process 0, but version 3 for process 1",
    )
    assert why(write(0, 1, "x", 7, key="/a"), read(2, 3, "x", 7, process=1, key="/b")) == (
        [0, 1],
        "zxid 7 was process 0's write of '/a', but process 1 read that zxid of '/b'",
    )


def test_somebody_wrote_what_is_read():
    base = write(0, 1, "x", 7)
    assert why(base, read(2, 3, "y", 9, process=1)) == (
        [0, 1],
        "process 1 read 'y' with zxid 9, but no write of that value can have been that transaction",
    )
    unknown = op("write", 2, argument="y", process=2)
    assert judge(base, read(2, 3, "y", 9, process=1), unknown).valid is True
    late = op("write", 4, argument="y", process=2)
    assert why(base, read(2, 3, "y", 9, process=1), late)[0] == [0, 1, 2]


def test_one_unknown_write_is_one_transaction():
    base, unknown = write(0, 1, "x", 7), op("write", 0, argument="y", process=2)
    nine, ten = read(2, 3, "y", 9, process=1), read(2, 3, "y", 10, process=3)
    assert judge(base, unknown, nine).valid is True
    assert judge(base, unknown, nine, ten).valid is False
    assert judge(base, unknown, unknown, nine, ten).valid is True


def test_what_was_there_before_has_no_writer():
    assert judge(read(0, 1, "x", 7), write(2, 3, "y", 9)).valid is True


def test_versions_count_writes():
    first, second = write(0, 1, "x", 7, version=4), write(2, 3, "y", 9, version=4)
    assert why(first, second) == (
        [0, 1],
        "process 0 has version 4 at zxid 9, but after version 4 at zxid 7 it is at least 5",
    )
    gap = write(2, 3, "y", 9, version=6)
    assert why(first, gap)[1] == (
        "from version 4 at zxid 7 to version 6 at zxid 9 there are more versions than writes "
        "that can have happened"
    )
    assert judge(first, gap, op("write", 0, argument="z", process=2)).valid is True
    assert judge(first, gap, op("write", 5, argument="z", process=2)).valid is False


def test_a_node_begins_with_version_0():
    assert why(op("create", 0, 1, argument="x", zxid=7, version=1)) == (
        [0],
        "process 0 created a node with version 1, but a node begins with version 0",
    )
    assert judge(op("create", 0, 1, argument="x", zxid=7), write(2, 3, "y", 8, version=1)).valid


def test_reads_of_a_session_are_monotonic():
    rows = [
        write(0, 1, "x", 7),
        write(2, 3, "y", 9),
        read(4, 5, "y", 9, process=1),
        read(6, 7, "x", 7, process=1),
    ]
    for model in (SESSION_GUARANTEES, SEQUENTIAL_CONSISTENCY):
        assert why(*rows, model=model) == (
            [2, 3],
            (
                "monotonic reads: the session of process 1 had seen zxid 9 by 5.000 s, but its "
                "read, called at 6.000 s, returned zxid 7, older than zxid 9"
            ),
        )
    assert judge(*rows[:3], rows[3] | {"process": 2}).valid is True


def test_a_new_session_may_see_an_older_state():
    rows = [write(0, 1, "x", 7), write(2, 3, "y", 9)]
    seen = read(4, 5, "y", 9, process=1, session="0x1")
    stale = read(6, 7, "x", 7, process=1, session="0x2")
    assert judge(*rows, seen, stale).valid is True
    assert judge(*rows, seen, stale | {"session": "0x1", "process": 2}).valid is False


def test_another_znode_tells_as_well_how_far_a_session_is():
    rows = [
        write(0, 1, "x", 7, key="/a"),
        write(2, 3, "y", 8, key="/a"),
        write(2, 3, "z", 9, key="/b", process=2),
        read(4, 5, "z", 9, process=1, key="/b"),
        read(6, 7, "x", 7, process=1, key="/a"),
    ]
    assert why(*rows) == (
        [1, 3, 4],
        (
            "monotonic reads: the session of process 1 had seen zxid 9 by 5.000 s, but its read of "
            "'/a', called at 6.000 s, returned zxid 7, older than zxid 8"
        ),
    )


def test_a_session_reads_its_own_writes():
    rows = [write(0, 1, "x", 7), write(2, 3, "y", 9, process=1), read(4, 5, "x", 7, process=1)]
    assert why(*rows) == (
        [1, 2],
        (
            "read your writes: the session of process 1 had written zxid 9 by 3.000 s, but its "
            "read, called at 4.000 s, returned zxid 7, older than zxid 9"
        ),
    )
    assert judge(*rows[:2], op("read", 4, 5, process=1)).valid is False
    assert judge(*rows[:2], op("read", 3, 5, process=1)).valid is False
    assert judge(*rows[:2], op("read", 3, 5, process=2)).valid is True


def test_a_read_after_a_sync_is_fresh():
    rows = [
        write(0, 1, "x", 7),
        write(2, 3, "y", 9),
        op("sync", 4, 5, process=1),
        read(6, 7, "x", 7, process=1),
    ]
    assert why(*rows) == (
        [1, 2, 3],
        (
            "sync: the session of process 1 had synced by 5.000 s, after zxid 9 was acknowledged, "
            "but its read, called at 6.000 s, returned zxid 7, older than zxid 9"
        ),
    )
    assert judge(*rows, model=SEQUENTIAL_CONSISTENCY).valid is True
    rows[2]["result"] = False  # no quorum is known to have lived
    assert judge(*rows).valid is True


def test_a_sync_owes_nothing_to_what_was_acknowledged_after_its_call():
    rows = [write(0, 1, "x", 7), write(2, 4, "y", 9), op("sync", 4, 5, process=1)]
    assert judge(*rows, read(6, 7, "x", 7, process=1)).valid is True


WATCHED = (
    write(0, 1, "x", 7),
    read(2, 3, "x", 7, "watch", process=1, session="s"),
    write(4, 5, "y", 9),
    read(6, 7, "y", 9, process=1, session="s"),
)


def event(at, **columns):
    return op("event", at, at, process=9, session="s", **columns)


def test_an_event_comes_before_the_data():
    assert why(*WATCHED) == (
        [1, 3],
        (
            "watch events: the session of process 1 set a watch by 3.000 s and had seen zxid 9 by "
            "7.000 s, but no event of the change of zxid 9 had arrived"
        ),
    )
    assert judge(*WATCHED, model=SEQUENTIAL_CONSISTENCY).valid is True
    assert judge(*WATCHED, event(5)).valid is True
    assert judge(*WATCHED, event(7)).valid is True
    assert judge(*WATCHED, event(8)).valid is False
    assert judge(*WATCHED, event(5) | {"session": "t"}).valid is False
    assert judge(*WATCHED, op("event", 5, process=9, session="s")).valid is True
    assert judge(*WATCHED[:3]).valid is True


def test_times_may_be_before_zero():
    earlier = [
        row | {"call": row["call"] - 9 * S, "returned": row["returned"] - 9 * S} for row in WATCHED
    ]
    assert why(*earlier)[0] == [1, 3]


def test_a_new_session_has_no_watches():
    assert judge(*WATCHED[:3], WATCHED[3] | {"session": "t"}).valid is True


def test_a_watch_on_nothing_tells_of_the_creation():
    rows = [
        op("watch", 0, 1, key="/a"),
        op("create", 2, 3, key="/a", argument="x", zxid=7, process=1),
        read(4, 5, "x", 7, key="/a"),
    ]
    assert why(*rows)[0] == [0, 2]


def test_an_event_comes_once():
    twice = (*WATCHED, event(5, zxid=9), event(6, zxid=9))
    assert why(*twice)[1] == (
        "watch events: the session of process 9 got the event of zxid 9 twice, by 5.000 s and by "
        "6.000 s"
    )
    assert why(*WATCHED, event(5), event(6))[1] == (
        "watch events: the session of process 9 got an event at 6.000 s for which it had set no "
        "watch, or whose watch an earlier event had used up"
    )
    again = read(5.1, 5.2, "y", 9, "watch", process=1, session="s")
    then = write(5.3, 5.5, "z", 12)
    assert judge(*WATCHED, event(5), again, then, event(6)).valid is True


def test_an_event_comes_after_its_change():
    again = read(5.1, 5.2, "y", 9, "watch", process=1, session="s")
    too_early = (
        "watch events: the session of process 9 got an event at 6.000 s but nobody had called"
    )
    assert why(*WATCHED, event(5), again, event(6))[1].startswith(too_early)
    later = write(7, 8, "z", 12)
    assert why(*WATCHED, event(5), again, event(6), later)[1].startswith(too_early)
    told = why(*WATCHED, event(5), again, event(6, zxid=12), later)[1]
    assert "process 9 had already got the event of it by 6.000 s" in told


def test_an_event_has_the_zxid_of_its_change():
    later = write(5.1, 5.2, "z", 12)
    assert judge(*WATCHED[:3], event(5.3, zxid=9), later).valid is True
    for zxid in (8, 12, 99):
        told = why(*WATCHED[:3], event(5.3, zxid=zxid), later)[1]
        assert told == (
            f"watch events: the session of process 9 got an event at 5.300 s of zxid {zxid}, but "
            "the next write of it had another"
        )
    unknown = op("write", 4, argument="u")
    assert judge(*WATCHED[:3], unknown, event(5.3, zxid=8), later).valid is True


def test_events_come_in_order():
    left = [op("watch", 0, 1, key=key, process=1, session="s") for key in ("/a", "/b")]
    first, second = event(2, key="/a", zxid=7), event(3, key="/b", zxid=5)
    assert why(*left, first, second)[1] == (
        "watch events: the session of process 9 got the event of zxid 7 by 2.000 s, before that "
        "of zxid 5 at 3.000 s"
    )
    assert judge(*left, first, second | {"zxid": 8}).valid is True
    assert judge(*left, first, event(3, key="/b")).valid is True, "no zxid, no order"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (op("write", 0, 1, argument="x"), "acknowledged write, has no zxid"),
        (op("read", 0, 1, result="x"), "acknowledged read, has no zxid"),
        (read(0, 1, "x", -1), "has the negative zxid -1"),
        (write(0, 1, "x", "7"), "zxids must be integers, and '7' is not"),
        (write(0, 1, "x", 7, version="7"), "versions must be integers"),
        (op("cas", 0, 1), "knows no operation 'cas'"),
    ],
)
def test_what_is_not_understood_is_said(row, message):
    with pytest.raises(WrongOperations, match=message):
        judge(row)


def test_a_history_as_it_is_recorded():
    records = [
        (0, 1, "invoke", "write", {"key": "/a", "value": "x"}),
        (1, 1, "ok", "write", {"version": 1, "zxid": 7, "session": "s"}),
        (2, 2, "invoke", "write", {"key": "/a", "value": "y"}),
        (3, 2, "ok", "write", {"version": 2, "zxid": 8, "session": "t"}),
        (4, 1, "invoke", "sync", None),
        (5, 1, "ok", "sync", {"session": "s"}),
        (6, 1, "invoke", "read", {"key": "/a"}),
        (7, 1, "ok", "read", {"value": "x", "version": 1, "zxid": 7, "session": "s"}),
    ]
    history = History(
        Op(index=n, time=time * S, process=process, type=kind, f=f, value=value)
        for n, (time, process, kind, f, value) in enumerate(records)
    )
    table = table_of(history)
    assert decide(SEQUENTIAL_CONSISTENCY, table).valid is True
    decision = decide(SESSION_GUARANTEES, table)
    assert decision.witness.operations == [1, 2, 3]
    assert decision.witness.description.startswith("sync: the session of process 1")


def test_nothing_breaks_no_promise():
    assert judge().valid is True


def test_a_witness_of_very_many_is_left_as_it_is():
    rows = [write(n, n + 0.5, "x", n + 1) for n in range(1_500)]
    rows.append(read(2_000, 2_001, "x", 5_000, process=1))
    decision = judge(*rows)
    assert decision.valid is False
    assert not decision.witness.minimal
    assert 1_500 in decision.witness.operations
