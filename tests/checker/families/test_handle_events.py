import pytest

from rumpus.checker.families.handle_events import check_handle_events
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.holds import Words, extract_holds
from rumpus.recipes.promises import Line
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


class Truth:
    def __init__(self, *lives):
        self._lives = lives

    def znodes(self, _path):
        return list(self._lives)


def judged(story, *lives):
    history = story.end(30_000).history()
    return check_handle_events(
        laid_out(
            history,
            holds=extract_holds(history, Words()),
            truth=Truth(*lives),
            clock=WallClock([(0, 0), (30_000_000_000, 30_000_000_000)]),
            line=Line(kind="sequential", path="/l", mark="-c-", shared="-read"),
        ),
        bound_s=2.0,
    )


def found(story, *lives):
    return [each.kind for each in judged(story, *lives).anomalies]


def connected(clients=2):
    story = Recorded(clients)
    for client in range(clients):
        story.session(0, client, "connected")
    return story


def news(told, missing=None, story=None, failovers=1):
    story = story or connected()
    value = {"session": "0x1", "standing": "safe", "told": told, "missing": missing}
    value |= {"failovers": failovers, "losses": 1}
    return story.add(100, 0, "invoke", "news").add(900, 0, "ok", "news", value)


@pytest.mark.parametrize("told", [[], ["jeopardy"], ["jeopardy", "safe", "jeopardy", "expired"]])
def test_standings_that_follow_each_other_are_well(told):
    assert found(news(told)) == []


@pytest.mark.parametrize(
    ("told", "missing", "words"),
    [
        (["safe"], None, "not of: jeopardy"),
        (["jeopardy", "jeopardy"], None, "not of: safe"),
        (["jeopardy"], "safe", "not of: safe"),
        ([], "master failed over", "not of: master failed over"),
    ],
)
def test_a_standing_that_was_not_told_is_found(told, missing, words):
    (anomaly,) = judged(news(told, missing)).anomalies
    assert anomaly.kind == "missed-event"
    assert words in anomaly.description


def test_more_failovers_than_losses_are_false():
    assert found(news([], failovers=2)) == ["false-event"]


def test_a_client_that_was_frozen_may_be_told_late():
    frozen = connected().session(150, 0, "paused").session(880, 0, "resumed")
    assert found(news([], "jeopardy", frozen)) == []


def waited(*, gone=5, made=7, acked=1_000, called=0, until=4_000, story=None):
    """Client 1 creates the file again, client 0 waits for its end in vain."""
    story = story or connected()
    story.add(called, 0, "invoke", "gone", {"timeout": 4.0})
    story.add(acked - 5, 1, "invoke", "recreate")
    story.add(acked, 1, "ok", "recreate", {"key": "t", "opened": 5, "instance": made})
    return story.add(until, 0, "fail", "gone", {"gone": gone}, error="timed out")


def test_the_end_of_a_file_that_was_not_told_is_found():
    assert found(waited()) == ["missed-event"]


@pytest.mark.parametrize(
    "harmless",
    [
        {"gone": 7},
        {"acked": 2_500},
        {"story": connected().session(2_500, 0, "suspended").session(2_600, 0, "connected")},
        {"story": connected().session(2_500, 0, "paused").session(2_600, 0, "resumed")},
    ],
)
def test_the_end_of_a_file_may_be_told_within_the_bound(harmless):
    assert found(waited(**harmless)) == []


def heeded(*, mode="write", other="-write", came=1_000, went=None, story=None):
    """Client 0 holds from 500 ms on, and waits from 3 to 4.5 s; another contender is there."""
    story = story or connected()
    node = f"/l/a-{mode}-c-0000000001"
    story.add(400, 0, "invoke", "acquire", {"timeout": 1.0, "mode": mode})
    story.add(500, 0, "ok", "acquire", {"session": "0x1", "token": 9, "node": node})
    story.add(3_000, 0, "invoke", "heed", {"timeout": 1.5})
    story.add(4_500, 0, "fail", "heed", error="timed out")
    story.add(5_000, 0, "invoke", "release").add(5_001, 0, "ok", "release")
    ended = () if went is None else (99, went, "0x2", "multi")
    other = ZnodeLife(f"/l/b{other}-c-0000000002", 10, came, "0x2", "0x2", None, *ended)
    return story, ZnodeLife(node, 9, 450, "0x1", "0x1", None, 98, 5_001, "0x1", "multi"), other


def test_a_conflict_that_was_not_told_is_found():
    assert found(*heeded()) == ["missed-event"]
    assert found(*heeded(mode="read")) == ["missed-event"]
    assert found(*heeded(other="-read")) == ["missed-event"]


@pytest.mark.parametrize(
    "harmless",
    [
        {"mode": "read", "other": "-read"},
        {"came": 3_500},
        {"went": 4_000},
        {"story": connected().session(2_700, 0, "suspended").session(2_800, 0, "connected")},
        {"story": connected().session(3_700, 0, "paused").session(3_800, 0, "resumed")},
    ],
)
def test_without_a_conflict_all_the_time_nothing_must_be_told(harmless):
    assert found(*heeded(**harmless)) == []
