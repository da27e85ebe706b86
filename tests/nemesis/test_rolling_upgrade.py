"""A rolling upgrade in the model: which server when, and what becomes of one that goes wrong."""

import json

import pytest

from rumpus.harness.ensemble import Availability, EnvironmentRefusal
from rumpus.harness.simulated.ensemble import OFFERED
from rumpus.nemesis.entry import PlanError
from rumpus.nemesis.plan import decode_plan
from rumpus.nemesis.random_plan import random_plan
from rumpus.nemesis.registry import availability, prepare, refuse

RUN = {"nodes": 3, "clients": 5, "time_limit": 60}


class Versions:
    """Versions of the model's servers; one that fails to come up as another can be named."""

    def __init__(self, servers):
        self._servers = servers
        self.versions = dict.fromkeys(servers.nodes, "3.8.0")
        self.fetched = []
        self.order = []
        self.serving = []
        self.broken = None

    def fetch(self, version):
        self.fetched.append(version)

    def upgrade(self, node, version):
        assert self._servers.state(node) == "dead"
        self.order.append(node)
        self.serving.append(sum(map(self._servers.serves, self._servers.nodes)))
        if node == self.broken:
            raise OSError("no space")
        self.versions[node] = version
        self._servers.restart(node)

    def version(self, node):
        return self.versions[node] if self._servers.state(node) == "running" else None


def plan_of(**options):
    entry = {
        "at": 1,
        "kind": "rolling-upgrade",
        "targets": {"role": "all"},
        "duration": 2,
        "options": options,
    }
    return decode_plan(json.dumps({"version": 1, "entries": [entry]}).encode(), **RUN)


@pytest.fixture
def world(make_world):
    world = make_world()
    world.servers.upgrades = Versions(world.servers)
    return world


def told_of(world, plan):
    return [value for _, value in world.perform(world.nemesis(plan)) if value.get("id") == 1]


def test_followers_go_first_each_when_the_last_one_serves_and_the_leader_goes_last(world):
    leads = world.servers.leader()
    start, stop = told_of(world, plan_of(to="3.9"))
    versions = world.servers.upgrades
    assert start["verified"], start["detail"]
    assert start["how"] == "to 3.9.6"
    assert stop["verified"], stop["detail"]
    assert sorted(versions.order) == list(world.servers.nodes)
    assert versions.order[-1] == leads
    assert versions.serving == [2, 2, 2]
    assert set(versions.versions.values()) == {"3.9.6"}
    assert world.whole()


def test_it_stops_at_a_server_that_does_not_come_back_as_the_version(world):
    versions = world.servers.upgrades
    first, second = [node for node in world.servers.nodes if node != world.servers.leader()]
    versions.broken = second
    start, stop = told_of(world, plan_of(to="3.9.3"))
    assert not start["verified"]
    assert "no space" in start["detail"]
    assert versions.order == [first, second]
    assert stop["verified"], stop["detail"]
    assert world.whole()


def test_a_version_that_the_servers_do_not_report_is_not_in_force(world):
    world.servers.upgrades.version = lambda _: "3.8.0"
    start, stop = told_of(world, plan_of(to="3.9"))
    assert not start["verified"]
    assert "n1: 3.8.0" in start["detail"]
    assert len(world.servers.upgrades.order) == 1
    assert stop["verified"], stop["detail"]


def test_the_version_is_made_ready_before_the_run(world):
    prepare(plan_of(to="3.4").entries, world.servers)
    assert world.servers.upgrades.fetched == ["3.4.13"]


def test_a_version_that_is_not_known_is_refused():
    with pytest.raises(PlanError, match=r'"options\.to".*no ZooKeeper .3\.7.*3\.4\.13'):
        plan_of(to="3.7")


def test_random_plans_have_it_if_it_is_named():
    plan = random_plan(
        ["rolling-upgrade"], seed=1, interval=10, session_timeout=2.0, tick=0.5, requests=(), **RUN
    )
    assert {entry.targets.role for entry in plan.entries} == {"all"}


def test_it_is_refused_on_simulated_servers_with_the_reason():
    assert availability({"upgrade": Availability(True)}, "docker")["rolling-upgrade"].available
    with pytest.raises(EnvironmentRefusal, match=r"rolling-upgrade: simulated servers all behave"):
        refuse(["rolling-upgrade"], availability(OFFERED, "sim"))
