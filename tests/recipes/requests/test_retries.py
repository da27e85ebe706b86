import pytest
from kazoo.exceptions import ConnectionClosedError, SessionExpiredError

from rumpus.recipes.requests import retries
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Unanswered


@pytest.fixture(autouse=True)
def rests(monkeypatch):
    rests = []
    monkeypatch.setattr(retries.time, "sleep", rests.append)
    return rests


def attempts(*ends):
    left = list(ends)

    def attempt():
        end = left.pop(0)
        if isinstance(end, Exception):
            raise end
        return end

    return attempt


def test_a_rest_does_not_reach_beyond_the_deadline(rests):
    retries.pause(Deadline(None))
    retries.pause(Deadline(None), 3.0)
    retries.pause(Deadline(0))
    assert rests == [retries.PAUSE, 3.0, 0.0]


def test_within_a_session_what_got_no_answer_is_asked_again(rests):
    assert retries.within_session(Deadline(None), attempts(Unanswered(), Unanswered(), 0)) == 0
    assert len(rests) == 2


@pytest.mark.parametrize("error", [Unanswered, SessionExpiredError])
def test_within_a_session_it_gives_up_when_time_or_session_is_over(error, rests):
    with pytest.raises(error):
        retries.within_session(Deadline(0), attempts(error()))
    assert not rests


def test_over_sessions_a_lost_one_is_followed_by_the_next(rests):
    renewed = []
    attempt = attempts(SessionExpiredError(), Unanswered(), None, "found")
    found = retries.over_sessions(Deadline(None), attempt, lambda: renewed.append(True))
    assert (found, len(renewed), len(rests)) == ("found", 1, 2)


def test_over_sessions_nothing_is_found_in_time():
    attempt = attempts(Unanswered())
    assert retries.over_sessions(Deadline(0), attempt, lambda: None) is None


def test_a_client_that_was_stopped_is_not_waited_for(rests):
    with pytest.raises(ConnectionClosedError):
        retries.over_sessions(Deadline(None), attempts(ConnectionClosedError()), lambda: None)
    assert not rests
