"""Walks of servers' trees: on virtual time, in runs, and with real sockets."""

import uuid
from functools import partial

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import make_digest_acl

from rumpus.checker.timeline.coherence import contradictions
from rumpus.harness.final_walk import LONGEST_S, PATIENCE_S, walk_server
from rumpus.harness.links.link_process import ProcessLinks
from rumpus.harness.links.links import WirePassed
from rumpus.harness.simulated import run as sim_run
from rumpus.harness.simulated.links import SimLinks
from rumpus.harness.simulated.run import _own_client, walk_from
from rumpus.results.history_file import read_history
from rumpus.results.record_values import check_records
from rumpus.runs.run_files import server_truth
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster
from tests.harness.simulated_runs import CLIENTS, SimulatedRuns

SESSION = 2.0


def never():
    return False


class World:
    """Three simulated servers, and links of one client to them."""

    def __init__(self):
        self.simulator = Simulator(4)
        self.network = Network(self.simulator)
        self.cluster = Cluster(self.simulator, self.network, 3)
        self.cluster.start()
        self.control = self.simulator.process("control")
        servers = dict(zip(self.cluster.nodes, self.cluster.addresses, strict=True))
        self.links = SimLinks(self.simulator, self.network, servers, 1)

    def now(self):
        return self.simulator.now / SECOND

    def perform(self, main):
        """What ``main`` returns, called by a task once all servers serve."""
        returned = []

        def task():
            returned.append(main())
            self.simulator.stop()

        self.simulator.run(until=5 * SECOND)
        assert all(map(self.cluster.serves, self.cluster.nodes))
        self.control.spawn(task, "main")
        self.simulator.run()
        assert self.simulator.failures == []
        return returned[0]

    def kazoo(self):
        hosts = ",".join(f"{host}:{port}" for host, port in self.cluster.addresses)
        return _own_client(self.control, self.network, hosts, lambda _session: None)

    def walk(self, node, stop_requested=never, elsewhere=None):
        other = elsewhere and self.links.address(0, elsewhere)
        return walk_from(
            *(self.simulator, self.network, "c0", self.links.address(0, node), SESSION),
            *(stop_requested, other),
        )


@pytest.fixture
def world():
    made = World()
    yield made
    made.simulator.close()


def test_a_tree_of_a_thousand_znodes_is_seen_whole_through_each_simulated_server(world):
    def main():
        kazoo = world.kazoo()
        for number in range(10):
            kazoo.create(f"/{number}")
            for each in [kazoo.create_async(f"/{number}/{name}") for name in range(99)]:
                each.get()
        kazoo.stop()
        return [world.walk(node) for node in world.cluster.nodes]

    walks = world.perform(main)
    # The root and /zookeeper besides.
    assert [(walk["znodes"], walk["error"]) for walk in walks] == [(1002, None)] * 3
    assert all(0 < walk["seconds"] < 1 for walk in walks)
    assert len({walk["session"] for walk in walks}) == 3
    requests = world.links.requests(0)
    assert requests == {
        "close": 3,
        "get-acl": 3006,
        "get-children": 3006,
        "get-data": 3006,
        "sync": 3,
    }
    assert world.links.watches() == []


def test_a_server_that_is_probed_is_walked_all_the_same(world):
    def main():
        kazoo = world.kazoo()
        for each in [kazoo.create_async(f"/{number}") for number in range(500)]:
            each.get()
        kazoo.stop()
        return world.walk("n1", elsewhere="n2")

    walk = world.perform(main)
    assert (walk["znodes"], walk["error"], len(walk["probes"])) == (502, None, 5)
    assert walk["unanswered"] == 0
    assert walk["seconds"] > SESSION


def test_a_probe_that_fails_does_not_keep_the_walk_from_being_made(world):
    def main():
        world.cluster.kill("n2")
        return world.walk("n1", elsewhere="n2")

    walk = world.perform(main)
    assert walk["error"].startswith("while it was probed: ")
    assert walk["znodes"] > 2


def test_an_interrupted_probe_waits_for_no_session_to_end(world):
    walk = world.perform(lambda: world.walk("n1", lambda: world.now() > 5.2, "n2"))
    assert walk["seconds"] < PATIENCE_S + SESSION / 2
    assert walk["error"] == "the run was interrupted"


def test_a_server_that_is_down_is_told(world):
    def main():
        world.cluster.kill("n2")
        return [world.walk(node) for node in ("n1", "n2")]

    up, down = world.perform(main)
    assert (up["znodes"], up["error"]) == (2, None)
    assert (down["znodes"], down["session"]) == (0, None)
    assert "refused" in down["error"]


def test_a_server_that_is_silent_is_given_up_in_time(world):
    def main():
        world.links.cut(0, "black-hole")
        began = world.now()
        return world.walk("n3"), world.now() - began

    walk, lasted = world.perform(main)
    assert (walk["znodes"], walk["session"]) == (0, None)
    assert walk["error"] == "no session in 5 s"
    assert LONGEST_S <= lasted <= LONGEST_S + PATIENCE_S


def test_a_server_that_falls_silent_is_given_up_too(world):
    def main():
        world.links.arm_frame(0, 2, partial(world.links.cut, 0, "black-hole"))
        return world.walk("n3")

    walk = world.perform(main)
    assert walk["session"] is not None
    assert walk["error"] == "longer than 5 s, and its session could not be closed"
    assert LONGEST_S <= walk["seconds"] <= LONGEST_S + 2 * PATIENCE_S


def test_a_walk_ends_soon_after_the_run_is_interrupted(world):
    def main():
        world.links.arm_frame(0, 2, partial(world.links.cut, 0, "black-hole"))
        stopped = world.now() + 1
        return world.walk("n1", lambda: world.now() >= stopped)

    walk = world.perform(main)
    assert walk["error"].startswith("the run was interrupted")
    assert walk["seconds"] <= 1 + 2 * PATIENCE_S


@pytest.fixture(scope="module")
def simulate(tmp_path_factory):
    return SimulatedRuns(tmp_path_factory.mktemp("runs"))


def test_each_server_is_walked_at_the_end_of_a_run(simulate):
    _, directory, verdict = simulate(3, workload="queue", recipe="kazoo", seconds=8.0)
    assert verdict.outcome == "valid", verdict.reasons
    history = read_history(directory.history, clients=CLIENTS)
    check_records(history)
    truth, _ = server_truth(directory, 3)
    assert list(contradictions(history, truth=truth)) == []
    walks = [op.value for op in history.events("control", "walk")]
    assert [(walk["node"], walk["error"]) for walk in walks] == [
        (node, None) for node in ("n1", "n2", "n3")
    ]
    assert len({walk["znodes"] for walk in walks}) == 1
    lives = truth.sessions()
    for walk in walks:
        life = lives[walk["session"]]
        assert life.opened_ms is not None
        assert life.closed_ms is not None
        assert walk["session"] not in history.clients_of_sessions()
    clients = [op.value["client"] for op in history.events("link", "requests")]
    assert clients == list(range(CLIENTS))


def test_a_run_that_is_told_to_stop_walks_no_server(simulate):
    asked = []

    def stop_requested():
        asked.append(None)
        return len(asked) > 600

    _, directory, _ = simulate(1, stop_requested=stop_requested)
    history = read_history(directory.history, clients=CLIENTS)
    assert history.events("control", "end")
    assert not history.events("control", "walk")


class WithoutAuditor(SimLinks):
    """The links of the workload's clients alone."""

    def __init__(self, simulator, network, servers, clients, **given):
        super().__init__(simulator, network, servers, clients - 1, **given)

    def address(self, _client, node):
        return self._servers[node]

    def recorded(self, client):
        return WirePassed(0, 0, 0) if client == CLIENTS else super().recorded(client)


def test_the_load_and_its_faults_are_the_same_whether_there_is_an_auditor(simulate, monkeypatch):
    def records():
        _, directory, _ = simulate(5, workload="election", seconds=20.0)
        history = list(read_history(directory.history, clients=CLIENTS))
        return history[: [op.f for op in history].index("walk")]

    with_auditor = records()
    monkeypatch.setattr(sim_run, "SimLinks", WithoutAuditor)
    assert records() == with_auditor
    assert {"heal-all", "phase-end"} <= {op.f for op in with_auditor}


@pytest.fixture
def tree(servers):
    """Fifty znodes, one of which nobody may read."""
    kazoo = KazooClient(",".join(f"{host}:{port}" for host, port in servers.values()))
    kazoo.start(timeout=30)
    base = f"/walk-{uuid.uuid4().hex[:8]}"
    kazoo.create(base)
    for number in range(48):
        kazoo.create(f"{base}/{number}", b"x" * number)
    kazoo.create(f"{base}/secret", acl=[make_digest_acl("nobody", "knows", all=True)])
    yield kazoo
    kazoo.delete(f"{base}/secret")  # its parent's right; below, children would be listed
    kazoo.delete(base, recursive=True)
    kazoo.stop()
    kazoo.close()


def _count(kazoo, path="/"):
    if path == "/zookeeper":
        return 1
    try:
        children = kazoo.get_children(path)
    except NoAuthError:
        children = []
    return 1 + sum(_count(kazoo, f"{path.rstrip('/')}/{child}") for child in children)


def test_real_sockets_show_as_many_znodes_through_each_server(servers, tree):
    expected = _count(tree)
    assert expected >= 50
    with ProcessLinks(servers, clients=2) as links:
        for node in servers:
            walk = walk_server(links.address(1, node), SESSION, never)
            assert (walk["znodes"], walk["error"]) == (expected, None)
        assert links.requests(1)["get-data"] == expected * len(servers)
        assert links.requests(0) == {}
