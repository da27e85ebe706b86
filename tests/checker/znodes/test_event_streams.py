"""Streams of events, judged by the acknowledged writes."""

import pytest

from rumpus.checker.znodes.event_streams import check_event_streams
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

FIRST, SECOND, OTHER = [5, "a", 0, "x"], [6, "a", 1, "y"], [7, "b", 0, "z"]
ALL = [FIRST, SECOND, OTHER]


def judged(*answers, since=5, acknowledged=100):
    """The anomalies, given what each follow of one stream returned; the first one asks at 200."""
    recorded = Recorded(1 + len(ALL))
    for number, (revision, key, version, value) in enumerate(ALL):
        writer = number + 1
        recorded.add(number, writer, "invoke", "write", {"key": key, "value": value})
        told = {"key": key, "value": value, "version": version, "zxid": revision}
        recorded.add(acknowledged + number, writer, "ok", "write", told)
    for number, events in enumerate(answers):
        recorded.add(200 + 10 * number, 0, "invoke", "follow", {"timeout": 5.0})
        told = {"session": "0x7", "since": since, "events": events}
        recorded.add(205 + 10 * number, 0, "ok", "follow", told)
    history = recorded.end(400).history()
    result = check_event_streams(laid_out(history, foreign=True), follow="follow", write="write")
    assert result.stats == {"streams": 1, "events": sum(map(len, answers))}
    return [each.kind for each in result.anomalies]


@pytest.mark.parametrize("answers", [[ALL], [[FIRST], [SECOND, OTHER]], [ALL, []]], ids=str)
def test_a_stream_with_every_change_is_right(answers):
    # Those not yet acknowledged at the first call may come with a later one.
    acknowledged = 100 if len(answers[0]) == 3 else 206
    assert judged(*answers, acknowledged=acknowledged) == []


def test_a_change_that_was_acknowledged_before_the_call_is_due():
    assert judged([FIRST, SECOND]) == ["missed-event"]
    assert judged([FIRST, SECOND], [OTHER]) == ["missed-event"], "late is missed"
    assert judged([FIRST, SECOND], acknowledged=300) == []
    assert judged([OTHER], since=7) == [], "the stream began later"


def test_a_version_that_is_left_out_was_missed():
    assert judged([FIRST, [8, "a", 2, "x"]], acknowledged=300) == ["missed-event"]


def test_an_event_that_comes_again():
    assert judged(ALL, [OTHER]) == ["repeated-event"]


def test_an_event_after_one_of_a_later_revision():
    assert judged([FIRST, OTHER, SECOND]) == ["reordered-event"]


def test_an_event_of_what_nobody_has_written():
    assert judged([*ALL, [8, "a", 2, "w"]]) == ["false-event"]
