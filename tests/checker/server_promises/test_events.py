"""Events are those that the changes call for, before the answers that show them, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.server_promises.events import check_server_events
from rumpus.checker.verdict import CheckResult
from tests.checker.wire.recorded_engine import PASSWORD, RecordedEngine, asking, granting
from tests.simulation.zookeeper.engine import create_op, delete_op, set_op

PATHS = st.sampled_from(["/", "/a", "/b", "/a/c", "/a/c/d"])
OP = st.one_of(
    st.builds(create_op, PATHS),
    st.builds(delete_op, PATHS),
    st.builds(set_op, PATHS),
)
CHANGE = st.one_of(
    st.tuples(st.just("create"), PATHS, st.just(b""), st.none(), st.sampled_from([0, 1])),
    st.tuples(st.just("delete"), PATHS),
    st.tuples(st.just("set"), PATHS),
    st.tuples(st.just("multi"), OP, OP),
    st.just(("close",)),
)
WATCH = st.one_of(
    st.tuples(st.sampled_from(["exists", "get", "children"]), PATHS, st.just(True)),
    st.tuples(st.just("add_watch"), PATHS, st.sampled_from([0, 1])),
    st.tuples(st.just("remove_watches"), PATHS, st.sampled_from([1, 2, 3])),
)


def found(engine) -> list[str]:
    result = check_server_events(engine.timeline())
    assert isinstance(result, CheckResult)
    assert {each.kind for each in result.anomalies} <= {"wrong-event"}
    return [each.description for each in result.anomalies]


def do(client, name, *arguments):
    if name == "create":
        path, data, _, flags = arguments
        client.create(path, data, flags=flags)
    else:
        getattr(client, name)(*arguments)


@given(st.lists(st.tuples(st.integers(0, 2), st.one_of(CHANGE, CHANGE, WATCH)), max_size=40))
def test_a_sound_server_sends_what_is_due(steps):
    engine = RecordedEngine()
    clients = [engine.connect() for _ in range(3)]
    for number, step in steps:
        do(clients[number], *step)
        if step == ("close",):
            clients[number] = engine.connect()
    for client in clients:
        client.exists("/a")
    assert found(engine) == []


def watched(spoil):
    """One client watches, another changes; the first asks for something afterwards."""
    engine = RecordedEngine()
    watcher, other = engine.connect(), engine.connect()
    watcher.spoil_event = spoil
    other.create("/a")
    watcher.get("/a", True)
    watcher.children("/a", True)
    other.create("/a/b")
    other.set("/a", b"x")
    watcher.exists("/")
    return engine, watcher


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda event: [event], []),
        (
            lambda _event: [],
            ["did not tell c0 that /a was changed", "did not tell c0 that the children of /a"],
        ),
        (
            lambda event: [event, event],
            ["n1 told c0 that /a was changed", "n1 told c0 that the children of /a changed"],
        ),
        (
            lambda event: [(event[0], "/c")],
            ["did not tell", "did not tell", "that /c was changed", "the children of /c"],
        ),
    ],
)
def test_events_that_are_lost_doubled_or_of_another_znode_are_found(spoil, words):
    engine, _ = watched(spoil)
    told = found(engine)
    assert len(told) == len(words)
    assert [each for each in words if not any(each in one for one in told)] == []


def test_an_event_after_the_answer_that_shows_its_change_is_late():
    kept = []
    engine, watcher = watched(lambda event: kept.append(event) or [])
    for event in kept:
        watcher.emit(*event)
    watcher.exists("/")
    assert len(found(engine)) == 4


def test_a_watch_ends_with_its_connection_and_set_watches_says_what_was_missed():
    engine = RecordedEngine()
    watcher, other = engine.connect(), engine.connect()
    other.create("/a")
    watcher.get("/a", True)
    since = watcher.zxid
    engine.watches.remove_connection(watcher)
    engine.attach(watcher, asking(watcher.session, PASSWORD), granting(watcher.session))
    other.set("/a", b"x")
    watcher.exists("/")
    watcher.set_watches(since, ["/a"], ["/b"], ["/a"])
    other.create("/b")
    other.create("/a/c")
    watcher.exists("/")
    assert found(engine) == []
    assert len(watcher.events) == 3
