from rumpus.checker.history import History, Op
from rumpus.checker.timeline.states import state_intervals


def session(time, f, client=0):
    value = {"client": client, "process": client}
    return Op(time=time, process="session", type="info", f=f, value=value)


def control(time, f, value=None):
    return Op(time=time, process="control", type="info", f=f, value=value)


def told(ops):
    return [(i.kind, i.client, i.label, i.start, i.end) for i in state_intervals(History(ops))]


def test_a_session_goes_through_its_states():
    ops = [
        session(1, "started"),
        session(2, "connected"),
        session(5, "suspended"),
        session(7, "connected"),
        session(8, "believes"),
        session(9, "lost"),
        control(12, "end"),
    ]
    assert told(ops) == [
        ("session", 0, "connected", 2, 5),
        ("session", 0, "suspended", 5, 7),
        ("session", 0, "connected", 7, 9),
        ("session", 0, "lost", 9, 12),
    ]


def test_a_dead_process_has_no_session_and_a_paused_one_keeps_its():
    ops = [
        session(1, "connected"),
        session(3, "paused"),
        session(5, "resumed"),
        session(6, "exited"),
        session(8, "started"),
        session(9, "connected"),
        control(10, "end"),
    ]
    assert sorted(told(ops)) == [
        ("dead", 0, "dead", 6, 8),
        ("paused", 0, "paused", 3, 5),
        ("session", 0, "connected", 1, 6),
        ("session", 0, "connected", 9, 10),
    ]


def test_clients_do_not_mix():
    ops = [session(1, "connected", 0), session(2, "suspended", 1), control(4, "end")]
    assert told(ops) == [
        ("session", 0, "connected", 1, 4),
        ("session", 1, "suspended", 2, 4),
    ]


def test_leaders_follow_each_other_with_gaps():
    ops = [
        control(1, "leader", {"leader": "n1"}),
        control(2, "leader", {"leader": "n1"}),
        control(4, "leader", {"leader": None}),
        control(6, "leader", {"leader": "n2"}),
        control(9, "end"),
    ]
    assert told(ops) == [("leader", None, "n1", 1, 4), ("leader", None, "n2", 6, 9)]
