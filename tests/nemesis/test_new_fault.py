"""A class and its entry in the registry are all that a new kind of fault takes, on docker, too."""

from random import Random
from typing import Annotated

import pytest
from msgspec import Meta

from rumpus.harness.ensemble import Availability, EnvironmentRefusal
from rumpus.harness.simulated.ensemble import OFFERED
from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.fault import Draft, FaultOptions
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.plan import decode_plan, encode_plan
from rumpus.nemesis.random_plan import random_plan
from rumpus.nemesis.registry import FAULTS, availability, effects, make_fault, probe, refuse
from rumpus.nemesis.server_fault import ServerFault
from rumpus.nemesis.targets import Targets

RUN = {"nodes": 3, "clients": 5, "time_limit": 30}


class Restarts(FaultOptions, frozen=True):
    times: Annotated[int, Meta(ge=1)] = 1


class Flap(ServerFault):
    kind = "flap"
    summary = "servers are killed and restarted several times, then once more"
    works_on = "server processes"
    needs = "kill"
    causes = "leader change"
    takes = Restarts

    @classmethod
    def draw(cls, turn):
        return Draft(Targets(role="leader"), {"times": turn.rng.randint(2, 4)})

    def inject(self):
        for node in self.chosen * self.options.times:
            self.context.ensemble.kill(node)
            self.context.ensemble.restart(node)

    def in_force(self):
        return self.wait_until_all(self.context.ensemble.serves, wanted=False, detail="flapping")

    def heal(self):
        for node in self.chosen:
            self.context.ensemble.kill(node)
            self.context.ensemble.restart(node)


class Throttle(ServerFault):
    """One of real servers only, by what their engine can do with a container."""

    kind = "throttle"
    summary = "servers get a twentieth of a processor"
    works_on = "the servers' processors"
    needs = "containers"
    usual = False
    drawn = False

    @property
    def containers(self):
        return self.context.ensemble.containers

    def quota(self, node):
        return max(0, self.containers.limits(node)["CpuQuota"])

    def inject(self):
        for node in self.chosen:
            self.containers.limit(node, cpu_period=100_000, cpu_quota=5_000)

    def in_force(self):
        return self.wait_until_all(self.quota, wanted=5_000, detail="throttled")

    def heal(self):
        for node in self.chosen:
            self.containers.limit(node, cpu_quota=-1)

    def healed(self, timeout):
        if wrong := self.still_wrong(self.quota, 0):
            return Finding(False, f"still throttled: {wrong}")
        return super().healed(timeout)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for fault in (Flap, Throttle):
        monkeypatch.setitem(FAULTS, fault.kind, fault)


def drawn():
    return random_plan(["flap", "pause"], seed=3, interval=5, session_timeout=2.0, **RUN)


def test_it_is_drawn_written_and_read():
    plan = drawn()
    assert set(plan.kinds) == {"flap", "pause"}
    assert decode_plan(encode_plan(plan), **RUN) == plan
    assert effects(plan.kinds) == {"leader change"}


def test_it_is_carried_out(make_world):
    world = make_world()
    assert probe(world.servers)["flap"].available
    told = [value for _, value in world.perform(world.nemesis(drawn())) if value["kind"] == "flap"]
    assert told
    assert all(value["verified"] for value in told)
    assert world.whole()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('"targets": {"names": ["n9"]}', '"n9"; allowed are n1, n2, n3'),
        ('"targets": {"role": "one"}, "options": {"times": 0}', 'field "options.times": Expected'),
        ('"targets": {"role": "one"}, "options": {"how": 1}', "flap takes only times"),
    ],
)
def test_its_targets_and_options_are_checked(entry, message):
    plan = f'{{"version": 1, "entries": [{{"at": 1, "kind": "flap", "duration": 2, {entry}}}]}}'
    with pytest.raises(PlanError, match=r"entry 1: ") as caught:
        decode_plan(plan.encode(), **RUN)
    assert message in str(caught.value)


def test_it_is_in_the_way_of_others_that_work_on_the_same_thing():
    entries = ", ".join(
        f'{{"at": {at}, "kind": "{kind}", "duration": 5, "targets": {{"role": "leader"}}}}'
        for at, kind in ((1, "flap"), (3, "kill"))
    )
    with pytest.raises(PlanError, match="both act on server processes with the same targets"):
        decode_plan(f'{{"version": 1, "entries": [{entries}]}}'.encode(), **RUN)


def test_one_of_containers_is_refused_in_the_simulation():
    assert availability({"containers": Availability(True)}, "docker")["throttle"].available
    with pytest.raises(EnvironmentRefusal, match="throttle: "):
        refuse(["throttle"], availability(OFFERED, "sim"))


@pytest.mark.docker
def test_one_of_containers_is_carried_out(ensemble, make_world):
    world = make_world()
    entry = Entry(id=1, at=1, kind="throttle", targets=Targets(names=("n2",)), duration=2)
    world.servers = ensemble
    fault = make_fault(entry, world.context(), Random(0))
    fault.choose()
    fault.inject()
    assert fault.in_force() == (True, "throttled")
    fault.heal()
    assert fault.healed(30).ok
