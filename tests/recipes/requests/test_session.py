import time

import pytest
from kazoo.exceptions import ConnectionClosedError, NoNodeError, SessionExpiredError

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered


@pytest.fixture
def session(crowd):
    return Session(crowd[0])


def test_a_request_is_answered(crowd, session, path):
    assert session.ask(Deadline(5), crowd[0].exists_async, path) is None
    with pytest.raises(NoNodeError):
        session.ask(Deadline(5), crowd[0].delete_async, path)
    assert session.connected
    assert session.id == crowd[0].client_id[0]


def test_a_request_that_is_still_queued_when_its_session_ends_is_never_sent(crowd, session, path):
    crowd.bystander.create(path, makepath=True)
    crowd.end_session(0)
    with pytest.raises(Unanswered):
        session.ask(Deadline(0.2), crowd[0].delete_async, path)
    assert not session.lost
    crowd.let_find_out(0)
    assert session.lost
    assert crowd[0].connected
    with pytest.raises(SessionExpiredError):
        session.ask(Deadline(5), crowd[0].delete_async, path)
    crowd[0].sync(path)
    assert crowd[0].exists(path)


def test_nothing_is_claimed_without_a_connection(crowd, session, path, eventually):
    stat = crowd[0].create(path, ephemeral=True, makepath=True, include_data=True)[1]
    assert session.owns(stat)
    crowd.links.cut(0, "reset")
    eventually(lambda: not session.connected)
    assert session.id is None
    with pytest.raises(Unanswered):
        session.owns(stat)
    with pytest.raises(Unanswered):
        session.reconnected(Deadline(0.1))
    crowd.links.heal(0)
    assert session.reconnected(Deadline(20))
    assert session.owns(stat)
    assert not session.owns(crowd.bystander.create("/o", ephemeral=True, include_data=True)[1])
    crowd.expire(0)
    assert not session.reconnected(Deadline(5))
    with pytest.raises(SessionExpiredError):
        session.owns(stat)


def test_a_stopped_client_says_so(crowd, path):
    crowd[0].stop()
    with pytest.raises(ConnectionClosedError):
        Session(crowd[0]).ask(Deadline(5), crowd[0].exists_async, path)


def test_it_stops_listening(crowd, session):
    assert len(crowd[0].state_listeners) == 1
    session.close()
    assert not crowd[0].state_listeners


def test_a_client_that_sends_all_the_time_is_not_believed_when_nothing_is_answered(
    crowd, session, path, eventually
):
    """kazoo pings only when nothing else was sent for a third of the timeout."""

    def reliable():
        crowd[0].exists_async(path)
        return session.reliable

    assert reliable()
    crowd.links.cut(0, "black-hole")
    began = time.monotonic()
    eventually(lambda: not reliable())
    assert time.monotonic() - began >= crowd[0]._session_timeout / 1000
    assert session.connected, "kazoo has noticed by itself: then reliable is not needed"
    crowd.links.heal(0)
    eventually(lambda: session.lost or reliable())  # the servers may have ended it by now
