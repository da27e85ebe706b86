from typing import get_args

import pytest

from rumpus.harness.ensemble import Availability, Capability, EnvironmentRefusal
from rumpus.harness.simulated.ensemble import OFFERED
from rumpus.nemesis.registry import (
    EVERYWHERE,
    FAULTS,
    SIMULATED,
    SOUND,
    availability,
    effects,
    probe,
    require,
)


def test_every_kind_says_what_it_does_and_to_what():
    assert len({fault.summary for fault in FAULTS.values()}) == len(FAULTS)
    assert all(fault.works_on for fault in FAULTS.values())
    assert {fault.needs for fault in FAULTS.values()} <= {None, *get_args(Capability)}


def test_random_plans_are_aimed_at_expiries_and_changes_of_leader():
    assert effects(["pause", "file-slow", "a kind of another version"]) == set()
    assert effects(["kill"]) == effects(["partition"]) == {"leader change"}
    assert effects(EVERYWHERE) == {"leader change", "expiry"}


def test_kinds_are_usual_where_the_ensemble_offers_what_they_need():
    assert len(EVERYWHERE) == 6
    assert (*EVERYWHERE, "follower-lag") == SIMULATED
    offered = availability(OFFERED, "sim")
    assert [kind for kind in (*SIMULATED, *SOUND) if not offered[kind].available] == []
    assert {kind for kind, fault in FAULTS.items() if not fault.sound} == {
        "file-lie",
        "file-damage",
    }


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
