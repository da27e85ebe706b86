"""The disks of real servers: full, slow, lying, and without power."""

import os
import re
import time
import uuid
from contextlib import closing, contextmanager

import pytest
from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError

from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.docker.leftovers import find_leftovers
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import VERSION, FaultPlan
from rumpus.nemesis.registry import prepare
from rumpus.nemesis.runner import Nemesis
from rumpus.nemesis.targets import Targets
from tests.sampling import sampled

pytestmark = pytest.mark.docker


@pytest.fixture
def server(make_world):
    """One server, and a nemesis that has faults of these kinds for it: ids count from 1.

    ``flags``: of the server's Java. ``options``: of the faults.
    """
    world = make_world()

    @contextmanager
    def server(*kinds, flags="", **options):
        ensemble = DockerEnsemble(f"tests-{uuid.uuid4().hex[:8]}", nodes=1, flags=flags)
        at = Targets(names=("n1",))
        entries = [
            Entry(id=number, at=number, kind=kind, targets=at, duration=1, options=options)
            for number, kind in enumerate(kinds, 1)
        ]
        prepare(entries, ensemble)
        try:
            ensemble.start()
            plan = FaultPlan(version=VERSION, entries=tuple(entries))
            yield (
                ensemble,
                Nemesis(plan, ensemble, world.links, world.clients, world.lock, seed=0),
            )
        finally:
            ensemble.tear_down()
        with closing(connect()) as client:
            left = find_leftovers(client, everything=True)
        assert ensemble.run_id not in {each.run_id for each in left}

    return server


@contextmanager
def client(ensemble, patience=30):
    host, port = ensemble.client_address("n1")
    found = KazooClient(f"{host}:{port}", timeout=20)
    found.start(timeout=patience)
    yield found
    found.stop()
    found.close()


def write(ensemble, names):
    """Create znodes; how long each took on average, in seconds."""
    with client(ensemble) as zookeeper:
        began = time.monotonic()
        for name in names:
            zookeeper.create(f"/{name}", b"")
        return (time.monotonic() - began) / len(names)


def present(ensemble):
    with client(ensemble) as zookeeper:
        return {*zookeeper.get_children("/")} - {"zookeeper"}


def test_nothing_can_be_written_until_it_is_healed(server):
    with server("file-full") as (ensemble, nemesis):
        assert ensemble.disks.disk_trouble("n1") is None
        started = nemesis.invoke("start", {"id": 1})
        assert (started["verified"], started["detail"]) == (True, "by name; full")
        ensemble.kill("n1")
        assert ensemble.disks.disk_trouble("n1") == "full", "it stays while the server is dead"
        stopped = nemesis.invoke("stop", {"id": 1})
        assert stopped["verified"], stopped["detail"]
        assert ensemble.disks.disk_trouble("n1") is None
        assert nemesis.heal_all()["detail"] == "nothing was broken"
        with pytest.raises(ValueError, match="no disk was made here that can be slow"):
            ensemble.disks.trouble_disk("n1", "slow")


@pytest.fixture
def powerless(caplog):
    """Carries out the fault of that id; returns how many writes are gone."""
    caplog.set_level("INFO")

    def powerless(nemesis, number):
        caplog.clear()
        started = nemesis.invoke("start", {"id": number})
        assert started["verified"], started["detail"]
        stopped = nemesis.invoke("stop", {"id": number})
        assert stopped["verified"], stopped["detail"]
        return int(re.search(r"n1 lost power: (\d+) writes", caplog.text)[1])

    return powerless


def test_a_disk_that_fails_to_sync(server, powerless):
    with server("file-fail", "power-off") as (ensemble, nemesis):
        write(ensemble, ["a"])
        started = nemesis.invoke("start", {"id": 1})
        assert (started["verified"], started["detail"]) == (True, "by name; failing")
        with pytest.raises(KazooTimeoutError), client(ensemble, 3):
            pass  # a session is a write
        stopped = nemesis.invoke("stop", {"id": 1})
        assert stopped["verified"], stopped["detail"]
        assert powerless(nemesis, 2) > 0, "what could not be synced"


@pytest.mark.skipif("RUMPUS_FULL_CHECKS" not in os.environ, reason="make test-full runs it")
def test_power_fails_on_a_disk_that_is_honest_slow_and_lying(server, powerless):
    """What was synced stays, and only that."""
    first, second, third = ([f"{letter}{n}" for n in range(20)] for letter in "abc")
    with server("power-off", "file-slow", "file-lie", "power-off") as (ensemble, nemesis):
        usual = write(ensemble, first)
        powerless(nemesis, 1)
        assert present(ensemble) == {*first}
        assert nemesis.invoke("start", {"id": 2})["detail"] == "by name; slow"
        assert write(ensemble, second) > usual + 0.04
        assert nemesis.invoke("stop", {"id": 2})["verified"]
        assert nemesis.invoke("start", {"id": 3})["detail"] == "by name; lying"
        write(ensemble, third)
        assert powerless(nemesis, 4) > 0
        left = present(ensemble)
        assert {*first, *second} <= left
        assert left < {*first, *second, *third}
        assert ensemble.disks.disk_trouble("n1") == "lying", "until that is healed, too"
        assert nemesis.invoke("stop", {"id": 3})["verified"]


def test_a_server_that_does_not_sync_loses_what_it_acknowledged(server, powerless):
    before, after = ([f"{letter}{n}" for n in range(20)] for letter in "ab")
    with server("kill", "power-off", flags="-Dzookeeper.forceSync=no") as (ensemble, nemesis):
        write(ensemble, before)
        assert nemesis.invoke("start", {"id": 1})["verified"]
        assert nemesis.invoke("stop", {"id": 1})["verified"]
        assert present(ensemble) == {*before}, "a killed process takes nothing with it"
        write(ensemble, after)
        assert powerless(nemesis, 2) > 0
        assert present(ensemble) < {*before, *after}


@sampled(
    "how, left, done",
    [
        ("wiped", 0, r"n1: \d+ files are gone"),
        ("cut", 20, r"n1: /datalog/version-2/log.1 is cut at byte \d+ of \d+"),
    ],
    of=2,
)
def test_files_are_damaged(server, how, left, done):
    names = [f"a{n}" for n in range(20)]
    with server("file-damage", how=how) as (ensemble, nemesis):
        write(ensemble, names)
        started = nemesis.invoke("start", {"id": 1})
        assert started["verified"], started["detail"]
        assert re.fullmatch(done, started["done"][0])
        stopped = nemesis.invoke("stop", {"id": 1})
        assert stopped["verified"], stopped["detail"]
        assert len(present(ensemble)) <= left


def test_other_runs_have_no_disks_that_can_be_in_trouble(ensemble):
    assert {ensemble.disks.disk_trouble(node) for node in ensemble.nodes} == {None}
    ensemble.disks.mend_disk("n1")
