"""A client that is told that its connection is gone has to doubt its hold."""

import pytest

from rumpus.checker.exclusion.disconnection import check_disconnection
from rumpus.checker.timeline.holds import Words, extract_holds
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded

WORDS = Words()


def granted():
    return Recorded().session(0, 0, "connected", session="0x1").acquire(100, 200, 0)


def found(recorded):
    history = recorded.end(20000).history()
    result = check_disconnection(
        laid_out(history, holds=extract_holds(history, WORDS), words=WORDS)
    )
    return [(each.kind, each.start // MS, each.end // MS) for each in result.anomalies]


def test_who_doubts_at_once_may_believe_again_when_it_is_connected():
    recorded = granted().session(300, 0, "suspended").session(301, 0, "doubts")
    recorded.session(5000, 0, "connected").session(5001, 0, "believes")
    assert found(recorded.release(9000, 9010, 0)) == []


@pytest.mark.parametrize("event", ["suspended", "lost"])
def test_who_goes_on_believing_does_not_know_whether_its_session_lives(event):
    recorded = granted().session(300, 0, event).release(5000, 5010, 0)
    assert found(recorded) == [("disconnected-belief", 300, 5000)]
    back = granted().session(300, 0, event).session(4000, 0, "connected")
    assert found(back.release(5000, 5010, 0)) == [("disconnected-belief", 300, 4000)]


def test_threads_take_a_moment_and_a_frozen_process_does_nothing():
    short = granted().session(300, 0, "suspended").session(1300, 0, "doubts")
    assert found(short.release(5000, 5010, 0)) == []
    frozen = granted().session(300, 0, "suspended").session(400, 0, "paused")
    frozen.session(8000, 0, "resumed").session(8100, 0, "doubts")
    assert found(frozen.release(9000, 9010, 0)) == []


def test_another_clients_connection_is_another_matter():
    assert found(granted().session(300, 1, "suspended").release(5000, 5010, 0)) == []
