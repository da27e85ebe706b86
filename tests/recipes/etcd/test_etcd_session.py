"""Until when the client of a session on etcd relies on it, by its own clock."""

import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from rumpus.recipes.etcd import etcd_session
from rumpus.recipes.etcd.etcd_session import EtcdSession
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.servers import Servers

TTL_S = 0.3


class Access:
    """Grants leases, and notes what is written."""

    written: list[str] = []  # noqa: RUF012 - each test has another

    def __init__(self, _servers):
        pass

    @contextmanager
    def asking(self):
        yield SimpleNamespace(lease=lambda ttl: SimpleNamespace(id=7, ttl=ttl))

    def transaction(self, _compare, success):
        self.written.append(success[0]["request_put"]["lease"])

    def reconnect(self):
        pass


class Session(EtcdSession):
    """One whose keepalives get this answer; None: none."""

    answer: float | None = TTL_S
    asked = 0

    def _refreshed(self, _etcd):
        self.asked += 1
        if self.answer is None:
            raise Unanswered("no answer")
        return self.answer


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(etcd_session, "EtcdAccess", Access)
    monkeypatch.setattr(etcd_session, "TTL_S", TTL_S)
    monkeypatch.setattr(etcd_session, "AGAIN_S", 0.01)
    monkeypatch.setattr(Access, "written", [])
    made = Session(Servers({}), "/lock", "c0")
    yield made
    made.close()


def until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_session_goes_on_while_keepalives_are_answered(session):
    assert Access.written == [7], "its own key"
    session.answer = 10
    until(lambda: session.remaining() > TTL_S)
    assert not session.lost


def test_its_time_is_over_without_answers_and_that_is_for_good(session):
    session.answer = None
    until(lambda: session.remaining() == 0)
    asked = session.asked
    assert asked > 1, "it was asked again before"
    assert session.lost
    session.answer = 10
    assert not session._extend(time.monotonic(), 10)
    assert session.lost


def test_servers_that_say_that_the_lease_is_gone_end_it_at_once(session):
    session._until = time.monotonic() + 1000
    session.answer = -1
    until(lambda: session.remaining() == 0)
    assert session.lost


def test_time_is_counted_from_before_the_keepalive(session):
    session.answer = None
    assert session._extend(time.monotonic() - 5, 100)
    assert session.remaining() < 100 * 0.99 - 5
