"""What clients' processes are lent beside their sessions, in both worlds: files and an address."""

import time
from functools import partial

import pytest

from rumpus.harness.clients.home import DirectoryHome, MemoryHome
from rumpus.harness.clients.messages import Open, Perform, Record
from rumpus.harness.clients.worker_pool import WorkerPool
from rumpus.harness.clients.workers import ClientSpec, Exited, Started
from rumpus.harness.simulated.mailbox import SimMailbox
from rumpus.harness.simulated.waiting import sleeper
from rumpus.harness.simulated.workers import SimWorkers
from rumpus.simulation.kernel.clock import BOOT
from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.loader.guards import guarded
from rumpus.simulation.network.network import Network

SPEC = ClientSpec("tests.harness.lodger_client:build")


class Town:
    """Two clients' processes, without servers, without a driver."""

    def __init__(self, make, sleep):
        self.records = []
        self._sleep = sleep
        self._pool = make(2, SPEC, hosts=lambda _client: "", notify=self._notified)
        self._pool.start()
        for client in range(2):
            self._pool.send(client, Open(client))

    def _notified(self, message):
        if isinstance(message, Exited):
            self._pool.forget(message.client)
        elif isinstance(message, Started):
            self._pool.ready(message.client)  # it will be: nobody takes its first words here

    def ask(self, client, f, value=None):
        self._pool.send(client, Perform(client, f, value))
        while True:
            self._sleep(0.001)
            for report in self._pool.receive(client):
                if isinstance(report, Record):
                    self.records.append(report)
                    if report.process == client and report.type == "ok":
                        return report.value

    def kill_and_restart(self, client):
        self._pool.kill(client)
        self._pool.restart(client)
        self._pool.send(client, Open(client))

    def close(self):
        self._pool.stop()


def in_processes(scenario, logs):
    town = Town(partial(WorkerPool, logs=logs, origin=0), time.sleep)
    try:
        scenario(town)
    finally:
        town.close()


def in_a_simulated_world(scenario, logs):
    simulator = Simulator(7)
    network = Network(simulator)
    mailbox = SimMailbox(simulator)
    make = partial(
        SimWorkers, logs=logs, origin=BOOT, simulator=simulator, network=network, mailbox=mailbox
    )
    failures = []

    def control():
        try:
            town = Town(make, sleeper(simulator))
            scenario(town)
            town.close()
        except BaseException as error:
            failures.append(error)
        finally:
            simulator.stop()

    try:
        with guarded(simulator):
            simulator.process("control").spawn(control, "main")
            simulator.run()
    finally:
        simulator.close()
    if failures:
        raise failures[0]


@pytest.fixture(params=[in_processes, in_a_simulated_world], ids=["processes", "simulated"])
def play(request, tmp_path):
    return lambda scenario: request.param(scenario, tmp_path)


def test_what_a_client_has_appended_is_there_for_its_next_process_and_for_nobody_else(
    play, tmp_path
):
    def scenario(town):
        town.ask(0, "append", "one ")
        town.ask(0, "append", "two ")
        town.kill_and_restart(0)
        assert town.ask(0, "read") == "one two "
        town.ask(0, "append", "three")
        assert town.ask(0, "read") == "one two three"
        assert town.ask(1, "read") == ""

    play(scenario)
    assert (tmp_path / "c0" / "log").read_text() == "one two three"
    assert not (tmp_path / "c1").exists()


def test_clients_reach_each_other_until_one_is_killed(play):
    def scenario(town):
        host, port = town.ask(0, "listen")
        assert town.ask(1, "call", [host, port, "hello"]) == "HELLO"
        assert town.ask(0, "call", [host, port, "myself"]) == "MYSELF"
        town.kill_and_restart(0)
        assert town.ask(1, "call", [host, port, "hello"]) == "ConnectionRefusedError"
        host, port = town.ask(0, "listen")
        assert town.ask(1, "call", [host, port, "again"]) == "AGAIN"

    play(scenario)


def test_a_belief_that_begins_outside_of_an_operation_is_recorded_when_the_client_says_so(play):
    def scenario(town):
        town.ask(0, "listen")
        assert [r.f for r in town.records if r.process == "session"] == ["believes"]

    play(scenario)


@pytest.mark.parametrize("make", [DirectoryHome, lambda _: MemoryHome()])
def test_files_by_name(make, tmp_path):
    home = make(tmp_path / "home")
    assert home.read("a") == b""
    home.append("a", b"1")
    home.append("b", b"2")
    home.append("a", b"3")
    assert (home.read("a"), home.read("b")) == (b"13", b"2")
