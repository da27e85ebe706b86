"""A thread's hold excludes the other threads of its client."""

from rumpus.checker.exclusion.trespass import check_trespass
from rumpus.checker.timeline.holds import Words, extract_holds
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded

WORDS = Words()


def tried(recorded, called, returned, process, *, granted):
    recorded.add(called, process, "invoke", "trespass", {"timeout": 0.2})
    return recorded.add(returned, process, "ok", "trespass", {"granted": granted})


def judged(recorded):
    history = recorded.end(20000).history()
    return check_trespass(laid_out(history, holds=extract_holds(history, WORDS), words=WORDS))


def test_another_thread_waits():
    recorded = Recorded().acquire(100, 200, 0)
    result = judged(tried(recorded, 300, 500, 0, granted=False).release(600, 610, 0))
    assert result.anomalies == []


def test_another_thread_that_walks_in_is_a_second_holder():
    recorded = Recorded().acquire(100, 200, 0)
    result = judged(tried(recorded, 300, 500, 0, granted=True).release(600, 610, 0))
    (anomaly,) = result.anomalies
    assert (anomaly.kind, anomaly.start // MS, anomaly.end // MS) == ("split-brain", 300, 500)
    assert "another thread of c0 was granted it by" in anomaly.description


def test_who_has_lost_it_excludes_nobody():
    recorded = Recorded().acquire(100, 200, 0).session(400, 0, "doubts")
    assert judged(tried(recorded, 300, 500, 0, granted=True).release(600, 610, 0)) is None
    of_another = Recorded().acquire(100, 200, 0)
    assert judged(tried(of_another, 300, 500, 1, granted=True)) is None
