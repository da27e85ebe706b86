"""What a client's process records of what it believes."""

import queue
import threading
import time
from contextlib import contextmanager

import pytest
from kazoo.protocol.states import KazooState, KeeperState

from rumpus.harness.clients.client_body import ClientBody, Outcome
from rumpus.harness.clients.home import MemoryHome
from rumpus.harness.clients.messages import Open, Perform, Record
from rumpus.recipes.servers import Servers


class Holder:
    """A workload's client whose belief the test decides: whether, or until when (monotonic)."""

    grants, ends = "acquire", "release"

    def __init__(self):
        self.belief = False

    def believes(self):
        belief = self.belief
        return belief if isinstance(belief, bool) else belief - time.monotonic()

    def close(self):
        """Nothing goes on in the background."""

    def invoke(self, f, value):
        self.belief = value if f == "acquire" else self.belief
        return Outcome("ok", {})


class Body:
    """A client's body in a thread of the test's, and what it reports."""

    def __init__(self, in_thread, servers=None):
        self.holder = Holder()
        self.commands = queue.SimpleQueue()
        self.records = []
        self.body = body = ClientBody(
            client=0,
            hosts="",
            session_timeout=2.0,
            build=lambda _context: self.holder,
            send=lambda report: isinstance(report, Record) and self.records.append(report),
            receive=self.commands.get,
            clock=time.monotonic_ns,
            home=MemoryHome(),
            host="127.0.0.1",
            stack=lambda: None,
            servers=servers,
        )
        in_thread(body.run)
        self.commands.put(Open(0))

    def run(self, f, value=None):
        self.commands.put(Perform(0, f, value))

    def of(self, f):
        return [
            record for record in list(self.records) if record.f == f and record.type != "invoke"
        ]


def in_seconds(seconds):
    return time.monotonic() + seconds


@contextmanager
def running(servers=None):
    threads = []

    def in_thread(target):
        threads.append(threading.Thread(target=target, daemon=True))
        threads[-1].start()

    body = Body(in_thread, servers)
    yield body
    body.commands.put(None)
    threads[0].join(10)
    assert not threads[0].is_alive()


@pytest.fixture
def body():
    with running() as one:
        yield one


@pytest.fixture
def body_on_services():
    with running(Servers({"n1:locks": ("127.0.0.1", 1)})) as one:
        yield one


def test_a_grant_that_ends_by_itself_says_when(body, eventually):
    body.run("acquire", in_seconds(5))
    (granted,) = eventually(lambda: body.of("acquire"))
    assert granted.value["until"] == pytest.approx(granted.time + 5e9, abs=1e9)


def test_a_grant_without_an_end_says_nothing(body, eventually):
    body.run("acquire", True)
    (granted,) = eventually(lambda: body.of("acquire"))
    assert granted.value == {}
    time.sleep(0.1)
    assert body.of("believes") == body.of("doubts") == []


def test_renewals_and_ends_are_recorded_without_news_of_the_session(body, eventually):
    body.run("acquire", in_seconds(5))
    (granted,) = eventually(lambda: body.of("acquire"))
    body.holder.belief = in_seconds(9)
    (renewed, *_) = eventually(lambda: body.of("believes"))
    assert renewed.value["until"] > granted.value["until"] + 3e9
    body.holder.belief = False
    (doubted,) = eventually(lambda: body.of("doubts"))
    body.holder.belief = in_seconds(1)
    again = eventually(lambda: [each for each in body.of("believes") if each.time > doubted.time])
    assert again[0].value["until"] > doubted.time


def test_after_the_release_nobody_looks_any_more(body, eventually):
    body.run("acquire", in_seconds(5))
    body.run("release")
    eventually(lambda: body.of("release"))
    body.holder.belief = in_seconds(7)
    before = len(body.of("believes"))
    time.sleep(0.15)
    assert len(body.of("believes")) == before


def test_a_client_without_kazoo_is_asked_again_and_again(body_on_services, eventually):
    body = body_on_services
    body.run("acquire", True)
    (granted,) = eventually(lambda: body.of("acquire"))
    assert granted.value == {}
    time.sleep(0.1)
    assert body.of("doubts") == []
    ended = time.monotonic_ns()
    body.holder.belief = False
    (doubted,) = eventually(lambda: body.of("doubts"))
    # Since the last look that said yes, not when somebody looked again.
    assert granted.time < doubted.value["since"] <= ended + 50_000_000
    assert doubted.value["since"] < doubted.time
    body.holder.belief = True
    eventually(lambda: body.of("believes"))


class StoppingKazoo:
    """Was about to connect anew, and gets another session before it hears of the stop."""

    client_id = (1, b"")
    client_state = KeeperState.CONNECTED

    def add_listener(self, listener):
        self.listener = listener

    def remove_listener(self, listener):
        assert listener == self.listener
        self.listener = lambda _state: None

    def stop(self):
        self.client_id = (2, b"")
        self.listener(KazooState.CONNECTED)
        self.listener(KazooState.LOST)

    def close(self):
        """Nothing is left."""


def test_a_session_that_is_granted_while_the_client_is_closed_is_recorded():
    told = Body(lambda _run: None)
    body, kazoo = told.body, StoppingKazoo()
    body._hosts, body._kazoo, body._workload = "n1", kazoo, told.holder
    kazoo.add_listener(body._session_changed)
    body._close()
    assert [(each.f, each.value["session"]) for each in told.records] == [
        ("connected", "0x2"),
        ("closed", "0x2"),
    ]
