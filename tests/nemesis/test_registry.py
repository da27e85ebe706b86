import re

import pytest

from rumpus.harness.ensemble import Availability, EnvironmentRefusal
from rumpus.nemesis.plan import EVERYWHERE
from rumpus.nemesis.registry import FAULTS, probe, require


def test_every_fault_can_be_drawn_and_told_apart():
    assert len({fault.colour for fault in FAULTS.values()}) == len(FAULTS)
    assert len({fault.label for fault in FAULTS.values()}) == len(FAULTS)
    assert all(re.fullmatch("#[0-9a-f]{6}", fault.colour) for fault in FAULTS.values())


def test_what_the_ensemble_allows_is_told_of_exactly_the_known_faults(make_world):
    world = make_world()
    reported = {
        "kill": Availability(True),
        "partition": Availability(False, "no iptables"),
        "latency": Availability(True),
    }
    world.servers.probe = lambda: reported
    found = probe(world.servers)
    assert list(found) == list(FAULTS)
    assert found["kill"].available
    assert found["partition"] == Availability(False, "no iptables")
    assert not found["pause"].available
    assert "the model ensemble does not offer it" in found["pause"].why
    usual = [kind for kind in EVERYWHERE if kind.startswith("client-")]
    assert all(found[kind].available for kind in usual)
    assert not found["client-stall"].available


def test_faults_that_cannot_be_injected_are_refused_by_name_with_the_reason(make_world):
    world = make_world()
    world.servers.probe = lambda: {
        "kill": Availability(True),
        "partition": Availability(False, "no iptables"),
    }
    require(["kill", "client-kill"], world.servers)
    with pytest.raises(EnvironmentRefusal, match="partition: no iptables") as caught:
        require(["kill", "partition"], world.servers)
    assert "kill:" not in str(caught.value)
