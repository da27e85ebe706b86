"""Faults that are in force at once, in punctual plans, and with targets of an earlier entry."""

import pytest

from rumpus.checker.history import History, Op
from rumpus.checker.timeline.faults import fault_windows
from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.plan import VERSION, FaultPlan, validate
from rumpus.nemesis.registry import EVERYWHERE
from rumpus.nemesis.swarm import PROFILES, swarm_plan
from rumpus.nemesis.targets import Targets


def entry(number, kind, at, duration, options=None, **targets):
    return Entry(
        id=number,
        at=at,
        kind=kind,
        targets=Targets(**targets),
        duration=duration,
        options=options or {},
    )


def plan(*entries, punctual=True):
    return FaultPlan(version=VERSION, entries=entries, punctual=punctual)


def checked(*entries):
    validate(plan(*entries), nodes=3, clients=5)


def test_a_fault_takes_the_targets_of_an_earlier_one(make_world):
    world = make_world()
    told = world.perform(
        world.nemesis(
            plan(
                entry(1, "client-pause", 1.0, 2.0, names=("c3",)),
                entry(2, "client-partition", 1.5, 1.0, {"how": "reset"}, of=1),
            )
        )
    )
    found = {value["id"]: value for f, value in told if f == "start"}
    assert found[2]["targets"] == ["c3"]
    assert found[2]["verified"]
    assert "those of entry 1" in found[2]["detail"]


def test_a_fault_of_servers_takes_the_server_to_which_the_clients_were_connected(make_world):
    world = make_world()
    server = world.links.connected_to(3)
    told = world.perform(
        world.nemesis(
            plan(
                entry(1, "client-partition", 1.0, 2.0, names=("c3",)),
                entry(2, "kill", 1.5, 1.0, of=1),
            )
        )
    )
    assert [value["targets"] for f, value in told if f == "start"] == [["c3"], [server]]


def test_and_the_reverse_the_clients_of_a_server(make_world):
    world = make_world()
    server = world.links.connected_to(0)
    told = world.perform(
        world.nemesis(
            plan(
                entry(1, "follower-lag", 1.0, 2.0, names=(server,)),
                entry(2, "client-partition", 1.5, 0.1, {"how": "reset"}, of=1),
            )
        )
    )
    assert told[1][1]["targets"] == ["c0", "c1", "c2", "c3", "c4"]


def test_nothing_is_taken_from_an_entry_that_hit_nothing(make_world):
    world = make_world()
    world.clients.kill(3)
    told = world.perform(
        world.nemesis(
            plan(
                entry(1, "client-pause", 1.0, 2.0, names=("c3",)),
                entry(2, "client-partition", 1.5, 1.0, of=1),
            )
        )
    )
    second = next(value for f, value in told if f == "start" and value["id"] == 2)
    assert not second["verified"]
    assert "entry 1 has hit nothing" in second["detail"]


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([entry(1, "kill", 1, 1, of=7)], 'entry 1: field "targets.of" is 7, and there is no such'),
        (
            [entry(1, "kill", 1, 1, of=2), entry(2, "client-pause", 1, 1, role="one")],
            "an entry that has not begun by then",
        ),
        (
            [entry(1, "client-pause", 1, 4, role="one"), entry(2, "client-kill", 2, 1, of=1)],
            "takes the targets of another entry",
        ),
        (
            [entry(1, "partition", 1, 4, shape="bridge"), entry(2, "follower-lag", 2, 1, of=1)],
            "only one partition at a time",
        ),
        (
            [entry(1, "client-pause", 1, 4, role="one"), entry(2, "partition", 2, 1, of=1)],
            "it must have exactly one of names, shape, grudge",
        ),
    ],
)
def test_what_cannot_be_is_refused(entries, why):
    with pytest.raises(PlanError, match=why):
        checked(*entries)


def test_a_heal_does_not_wait_for_what_another_fault_holds_up(make_world):
    world = make_world()
    overlapping = plan(
        entry(1, "client-pause", 1.0, 6.0, names=("c3",)),
        entry(2, "client-partition", 2.0, 1.0, names=("c3",)),
        punctual=False,
    )
    begun = []
    nemesis = world.nemesis(overlapping)
    for action in nemesis.schedule():
        world.clock.sleep(max(0.0, action.time / 1e9 - world.clock.now))
        told = nemesis.invoke(action.f, action.value)
        begun.append((action.f, told["verified"], round(world.clock.now, 1)))
    assert begun == [
        ("start", True, 1.0),
        ("start", True, 2.0),
        ("stop", True, 3.0),
        ("stop", True, 7.0),
    ]


def slow_recovery(make_world, punctual):
    """A server that comes back after 1.5 s, and a fault that is due half a second after it."""
    world = make_world()
    nemesis = world.nemesis(
        plan(
            entry(1, "kill", 1.0, 1.0, role="leader"),
            entry(2, "client-pause", 2.5, 2.0, names=("c3",)),
            punctual=punctual,
        )
    )
    records, index = [], 0
    for action in nemesis.schedule():
        world.clock.sleep(max(0.0, action.time / 1e9 - world.clock.now))
        called = world.clock.now
        told = nemesis.invoke(action.f, action.value)
        for time, kind, value in (
            (called, "invoke", action.value),
            (world.clock.now, "info", told),
        ):
            records.append(
                Op(
                    index=index,
                    time=round(time * 1e9),
                    process="nemesis",
                    type=kind,
                    f=action.f,
                    value=value,
                )
            )
            index += 1
    return nemesis, History(records)


def test_in_a_punctual_plan_a_fault_begins_while_an_earlier_one_recovers(make_world):
    nemesis, history = slow_recovery(make_world, punctual=True)
    kill, pause = fault_windows(history)
    assert pause.begun == pytest.approx(2_500_000_000, abs=5_000_000)
    assert kill.healing == pytest.approx(2_000_000_000, abs=5_000_000)
    assert kill.verified_healed
    assert kill.ended == pause.ended, "it was seen to be healed at the next action"
    assert nemesis.heal_all()["verified"]


def test_in_another_plan_it_waits(make_world):
    _, history = slow_recovery(make_world, punctual=False)
    kill, pause = fault_windows(history)
    assert kill.ended == pytest.approx(3_500_000_000, abs=100_000_000)
    assert pause.begun >= kill.ended


@pytest.mark.parametrize(("punctual", "waited_for"), [(True, []), (False, [3])])
def test_in_a_punctual_plan_no_heal_waits_until_a_restarted_client_is_open(
    make_world, punctual, waited_for
):
    """No quorum may serve by then, and what stopped it may be due to be healed."""
    world = make_world()
    plan_of_two = plan(
        entry(1, "client-kill", 1.0, 0.5, names=("c3",)),
        entry(2, "pause", 2.5 if not punctual else 1.2, 0.5, names=("n1",)),
        punctual=punctual,
    )
    world.perform(world.nemesis(plan_of_two))
    assert world.clients.waited_for == waited_for
    assert world.clients.state(3) == "running"


def test_what_never_recovers_is_told_at_the_end(make_world):
    world = make_world()
    nemesis = world.nemesis(
        plan(
            entry(1, "kill", 1.0, 1.0, names=("n1",)),
            entry(2, "client-pause", 2.5, 1.0, names=("c3",)),
        )
    )
    world.servers.ignored.add("restart")
    told = world.perform(nemesis)
    assert [value.get("recovering", False) for _, value in told] == [False, True, False, False]
    end = nemesis.heal_all()
    assert not end["verified"]
    assert next(each["id"] for each in end["healed"] if not each["verified"]) == 1


def test_a_trigger_that_nothing_pulled_does_not_spoil_the_end(make_world):
    world = make_world()
    nemesis = world.nemesis(
        plan(entry(1, "client-request", 1.0, 60.0, {"number": 99}, names=("c3",)))
    )
    world.clock.sleep(1.0)
    start = nemesis.schedule()[0]
    assert nemesis.invoke("start", start.value)["verified"]
    end = nemesis.heal_all()
    assert end["verified"]
    assert [each["verified"] for each in end["healed"]] == [False]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(8))
def test_swarm_plans_leave_nothing_broken(make_world, profile, seed):
    world = make_world(nodes=3, clients=4)
    drawn = swarm_plan(
        EVERYWHERE,
        seed=seed,
        profile=profile,
        time_limit=30,
        nodes=3,
        clients=4,
        session_timeout=2.0,
    )
    nemesis = world.nemesis(drawn, seed)
    told = world.perform(nemesis)
    assert len(told) == 2 * len(drawn.entries)
    assert nemesis.heal_all()["verified"]
    assert world.whole()
    late = world.clock.now - max((e.end for e in drawn.entries), default=0.0)
    assert late < 20
