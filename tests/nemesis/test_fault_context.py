import socket
from types import SimpleNamespace

import pytest
from kazoo.handlers.threading import KazooTimeoutError

from rumpus.harness.own_client import open_client
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.fault import Draft
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.plan import VERSION, FaultPlan
from rumpus.nemesis.registry import FAULTS
from rumpus.nemesis.server_fault import ServerFault
from rumpus.nemesis.targets import Targets


def test_waiting_ends_when_the_condition_holds(make_world):
    world = make_world()
    assert world.context().until(lambda: world.clock.now >= 1, 5)
    assert world.clock.now == pytest.approx(1, abs=0.06)


def test_waiting_ends_at_the_bound(make_world):
    world = make_world()
    assert not world.context().until(lambda: False, 5)
    assert world.clock.now == pytest.approx(5, abs=0.06)


def test_the_condition_is_looked_at_even_when_there_is_no_time(make_world):
    assert make_world().context().until(lambda: True, 0)


def test_in_a_hurry_there_is_one_look(make_world):
    world = make_world()
    context = world.context()
    context.hurried = lambda: True
    looks = []
    assert not context.until(lambda: bool(looks.append(1)), 5)
    assert len(looks) == 1
    assert world.clock.now == 0


class Znodes:
    """Stands for kazoo's client, and for the function that opens it."""

    def __init__(self):
        self.hosts = []
        self.done = []

    def __call__(self, hosts, note_session):
        self.hosts.append(hosts)
        note_session(0x10)
        note_session(0x10)  # the listener and the opener may both tell it
        return SimpleNamespace(
            delete=lambda path: (self.done.append(path), note_session(-1)),
            stop=lambda: self.done.append("stop"),
            close=lambda: self.done.append("close"),
        )


class Removal(ServerFault):
    kind = "removal"
    summary = "a znode is deleted"
    works_on = "znodes"

    @classmethod
    def draw(cls, _turn):
        return Draft(Targets(role="leader"))

    def inject(self):
        self.context.kazoo.delete("/node")

    def in_force(self):
        return Finding(True, "deleted")

    def heal(self):
        pass


def plan(kind, *times):
    entries = [
        Entry(id=number, at=at, kind=kind, targets=Targets(role="leader"), duration=2.0)
        for number, at in enumerate(times, start=1)
    ]
    return FaultPlan(version=VERSION, entries=tuple(entries))


def test_faults_share_one_client_of_their_own_and_the_records_name_its_sessions(
    make_world, monkeypatch
):
    monkeypatch.setitem(FAULTS, Removal.kind, Removal)
    world, znodes = make_world(), Znodes()
    nemesis = world.nemesis(plan("removal", 1.0, 6.0), connect=znodes)
    told = [value for _, value in world.perform(nemesis)]
    assert [value["verified"] for value in told] == [True] * 4
    assert [value["sessions"] for value in told] == [["0x10", "0xffffffffffffffff"]] * 4
    assert znodes.hosts == ["n1:2181,n2:2181,n3:2181"]
    nemesis.close()
    nemesis.close()
    assert znodes.done == ["/node", "/node", "stop", "close"]


def test_a_fault_that_goes_on_after_the_run_opens_no_client(make_world):
    context, znodes = make_world().context(), Znodes()
    context.connect = znodes
    context.close()
    with pytest.raises(RuntimeError, match="the run is over"):
        _ = context.kazoo
    assert not znodes.hosts


def test_a_client_that_was_being_opened_when_the_run_ended_is_closed(make_world):
    context, znodes = make_world().context(), Znodes()

    def slow(hosts, note_session):
        context.close()
        return znodes(hosts, note_session)

    context.connect = slow
    with pytest.raises(RuntimeError, match="the run is over"):
        _ = context.kazoo
    assert znodes.done == ["stop", "close"]


def test_where_no_fault_asks_for_it_there_is_no_client(make_world):
    world, znodes = make_world(), Znodes()
    nemesis = world.nemesis(plan("kill", 1.0), connect=znodes)
    told = [value for _, value in world.perform(nemesis)]
    assert not any("sessions" in value for value in told)
    nemesis.close()
    assert not znodes.hosts


def test_a_client_that_finds_no_server_is_given_up():
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        host, port = nobody.getsockname()
        with pytest.raises(KazooTimeoutError):
            open_client(f"{host}:{port}", lambda _: None, patience=0.1)


def test_no_wait_goes_on_after_the_latest_moment(make_world):
    world = make_world()
    context = world.context()
    context.latest = 0.07
    assert not context.until(lambda: False, 5)
    assert world.clock.now == pytest.approx(0.07, abs=0.002)


def test_a_wait_ends_where_less_than_the_clock_can_tell_is_left(make_world):
    """A clock of nanoseconds does not move by less: a sleep of that length would pass no time."""
    world = make_world()
    context = world.context()
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        assert len(naps) < 100, "it waits for ever"
        world.clock.sleep(round(seconds * 1e9) / 1e9)

    context.sleep = sleep
    context.latest = 0.1 + 1e-13
    assert not context.until(lambda: False, 5)
