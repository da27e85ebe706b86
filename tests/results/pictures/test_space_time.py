from xml.etree import ElementTree as ET

from rumpus.checker.history import History, Op
from rumpus.checker.timeline.changes import Change
from rumpus.results.pictures.space_time import (
    MOST_EVENTS,
    RESOURCE,
    SERVERS,
    Event,
    draw_space_time,
    events_between,
)
from rumpus.results.pictures.story_marks import Mark
from tests.checker.laid_out import laid_out


def op(time, process, f, type="info", **value):  # noqa: A002 - the field's name
    return Op(index=time, time=time, process=process, type=type, f=f, value=value)


def timeline(*ops, changes=()):
    znodes = {"/l/n-0000000007": list(changes)}
    return laid_out(History(ops, clients=2), znodes=znodes)


def change(time, how, client):
    return Change(time, time, how, "/l/n-0000000007", "0x1", client)


def drawn(events, marks=()):
    return ET.fromstring(draw_space_time(events, marks, "who sent what"))


def test_messages_are_changes_of_znodes_watch_events_and_actions():
    run = timeline(
        op(10, 0, "acquire", "invoke"),
        op(30, 0, "acquire", "ok"),
        op(40, "witness", "act", client=0, accepted=True),
        op(60, "link", "watch", client=1, path="/l/n-0000000007", event="deleted"),
        op(70, "session", "suspended", client=1),
        changes=[change(20, "created", 0), change(50, "deleted", 0)],
    )
    assert events_between(run, [0, 1], 0, 100, 50) == [
        Event(10, "c0", "acquire", begins=0),
        Event(20, SERVERS, "creates 7", "c0"),
        Event(30, "c0", "ok", ends=0),
        Event(40, RESOURCE, "act", "c0"),
        Event(50, SERVERS, "deletes 7", "c0"),
        Event(60, "c1", "7 deleted", SERVERS),
        Event(70, "c1", "suspended"),
    ]


def test_without_a_message_there_is_no_diagram():
    run = timeline(op(10, 0, "acquire", "invoke"), op(30, 0, "acquire", "ok"))
    assert events_between(run, [0, 1], 0, 100, 50) == []


def test_of_other_clients_and_other_times_nothing_is_told():
    run = timeline(
        op(10, "witness", "act", client=0, accepted=True),
        op(20, "witness", "act", client=1, accepted=False),
        op(90, "witness", "act", client=1, accepted=True),
    )
    assert events_between(run, [1], 0, 50, 20) == [Event(20, RESOURCE, "refused", "c1")]


def test_of_many_events_the_nearest_are_told():
    acts = [op(n, "witness", "act", client=0, accepted=True) for n in range(200)]
    events = events_between(timeline(*acts), [0], 0, 200, 100)
    assert len(events) == MOST_EVENTS
    assert max(abs(event.time - 100) for event in events) <= MOST_EVENTS / 2


def test_each_client_has_a_lane_and_each_number_of_the_story_is_drawn_once():
    events = [
        Event(10, "c0", "acquire", begins=0),
        Event(20, SERVERS, "creates 7", "c0"),
        Event(20, "c0", "ok", ends=0),
        Event(30, "c1", "7 created", SERVERS),
    ]
    root = drawn(events, [Mark(1, 20, 0, "c0 creates 7"), Mark(2, 99, 0, "later")])
    texts = [element.text for element in root.iter("text")]
    assert texts[:3] == ["c0", "c1", "servers"]
    assert [link.get("href") for link in root.iter("a")] == ["#line-1"]
    (mark,) = (each for each in root.iter("circle") if each.get("class") == "mark")
    assert float(mark.get("cy")) == 12 + 2 * 36 + 10  # on the servers' lane
    messages = [each.get("class") for each in root.iter("line") if "message" in each.get("class")]
    assert messages == ["message", "message told"]


def test_what_does_not_fit_goes_on_in_another_panel():
    events = [Event(n, RESOURCE, "act", "c0") for n in range(48)]
    root = drawn(events)
    assert [each.text for each in root.iter("text")].count("c0") == 2
    assert max(float(each.get("cx")) for each in root.iter("circle")) < 1100


def test_what_servers_do_of_themselves_is_no_message():
    run = timeline(
        op(40, "witness", "act", client=0, accepted=True),
        changes=[change(20, "created", 0), change(50, "expired", 0)],
    )
    events = events_between(run, [0], 30, 100, 50)
    assert events == [Event(40, RESOURCE, "act", "c0"), Event(50, SERVERS, "deletes 7")]
    root = drawn(events, [Mark(1, 50, 0, "c0 has no session any more")])
    messages = [each for each in root.iter("line") if "message" in each.get("class")]
    assert len(messages) == 1
    (mark,) = (each for each in root.iter("circle") if each.get("class") == "mark")
    assert float(mark.get("cy")) == 12 + 36 + 10  # on the servers' lane
