"""Unmodified kazoo, and a user's program on it, in simulated processes."""

import os
import subprocess
import sys
from pathlib import Path

from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.loader import simulated_modules
from rumpus.simulation.loader.guards import guarded
from rumpus.simulation.loader.space import Space
from rumpus.simulation.network.network import Network

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from tiny_server import TinyServer  # noqa: E402 - tests are no package

sys.path.remove(str(HERE))


def run_plain_recipe(seed, processes=2):
    simulator = Simulator(seed)
    network = Network(simulator)
    server = TinyServer(simulator, network)
    reports = []
    for number in range(processes):
        space = Space(
            simulator.process(f"c{number}"), network, ("kazoo", "plain_recipe"), path=[str(HERE)]
        )
        program = space.load("plain_recipe").Program("n1:2181", lambda **said: reports.append(said))
        space.start(program.run)
    with guarded(simulator):
        simulator.run(60 * SECOND)
    digest, failures = simulator.digest(), simulator.failures
    alive = [process.name for process in simulator.processes if not process.dead]
    simulator.close()
    return reports, failures, alive, server, digest


def test_a_users_own_program_runs_unchanged():
    reports, failures, alive, server, _ = run_plain_recipe(3)
    assert failures == []
    assert alive == ["n1"]
    assert len(reports) == 2
    for said in reports:
        assert said["done"] == 10
        assert said["kept"] == [None] * 5
        assert sum(map(len, said["names"])) == 10
        assert 0.6 < said["took"] < 4
        assert said["thread"] == "MainThread"
        assert said["handler"] == "SequentialThreadingHandler"
        assert said["calls"] == 1
    assert reports[0]["names"] != reports[1]["names"]
    assert len(server.nodes) == 21


def test_the_seed_decides_everything_and_python_decides_nothing():
    program = (
        f"import sys; sys.path[:0] = [{str(HERE)!r}]\n"
        "from test_kazoo import run_plain_recipe\n"
        "print(run_plain_recipe(3)[4], run_plain_recipe(4)[4])\n"
    )
    seen = []
    for hash_seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        seen.append(done.stdout.split())
    assert seen[0] == seen[1] == [run_plain_recipe(3)[4], run_plain_recipe(4)[4]]
    assert seen[0][0] != seen[0][1]


def test_a_client_pings_and_comes_back_after_its_connection_was_reset():
    simulator = Simulator(1)
    network = Network(simulator)
    server = TinyServer(simulator, network)
    space = Space(simulator.process("c"), network)
    states = []

    def main():
        client = space.load("kazoo.client").KazooClient("n1:2181", timeout=6)
        client.add_listener(
            lambda state: states.append((round(simulator.now / SECOND), str(state)))
        )
        client.start()
        space.load("time").sleep(30)
        assert client.get("/")[0] == b""
        client.stop()

    space.start(main)
    simulator.call_at(10 * SECOND, lambda _: network.reset("n1", "c"))
    simulator.run(60 * SECOND)
    assert simulator.failures == []
    assert states == [(0, "CONNECTED"), (10, "SUSPENDED"), (10, "CONNECTED"), (30, "LOST")]
    assert server.connections == 2
    assert 9 <= server.pings <= 30
    simulator.close()


def test_listeners_are_called_in_the_order_in_which_they_were_added():
    # kazoo keeps them in a set: in a builtin one, bound methods lie where memory happens to be.
    simulator = Simulator(1)
    network = Network(simulator)
    TinyServer(simulator, network)
    space = Space(simulator.process("c"), network)
    called = []

    class Listener:
        def __init__(self, number):
            self.number = number

        def hear(self, _):
            called.append(self.number)

    def main():
        client = space.load("kazoo.client").KazooClient("n1:2181")
        for number in range(50):
            client.add_listener(Listener(number).hear)
        client.start()

    space.start(main)
    simulator.run(SECOND)
    assert called[:50] == list(range(50))
    simulator.close()


def test_the_quick_select_does_what_kazoos_own_does(monkeypatch):
    quick = run_plain_recipe(5)[4]
    monkeypatch.delitem(simulated_modules.FINISHING, "kazoo.handlers.utils")
    assert run_plain_recipe(5)[4] == quick
