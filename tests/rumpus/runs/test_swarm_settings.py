from dataclasses import replace

import pytest

from rumpus.harness.generators.usage import Usage, parse_usage
from rumpus.runs.run_settings import RunSettings, command_line
from rumpus.runs.swarm_settings import (
    CLIENTS,
    NODES,
    QUICK_LOAD_S,
    SESSION_TIMEOUTS,
    as_swarm,
    load_of,
    short_settings,
    swarm_settings,
    with_swarm,
)
from rumpus.workloads.registry import WORKLOADS

ASKED = RunSettings(argv=(), workload="lock", swarm="normal", time_limit=20.0)
OPEN = RunSettings(argv=(), workload="lock", swarm="normal")


def drawn(settings=ASKED, seeds=range(200), **more):
    return [with_swarm(settings, seed, simulated=True, **more) for seed in seeds]


def test_every_number_in_its_range_is_drawn():
    assert {each.clients for each in drawn()} == set(range(CLIENTS[0], CLIENTS[1] + 1))
    assert {each.nodes for each in drawn()} == set(NODES)
    assert {each.session_timeout for each in drawn()} == set(SESSION_TIMEOUTS)
    assert len({each.usage for each in drawn()}) > 100
    for each in drawn():
        parse_usage(each.usage)


def test_a_seed_and_a_profile_decide_all_of_it():
    assert drawn() == drawn()
    assert drawn() != drawn(replace(ASKED, swarm="brutal"))


@pytest.mark.parametrize(
    ("name", "value"),
    [("clients", 4), ("nodes", 5), ("session_timeout", 3.0), ("usage", "objects=2")],
)
def test_what_was_given_is_kept(name, value):
    kept = drawn(replace(ASKED, **{name: value}))
    assert {getattr(each, name) for each in kept} == {value}


@pytest.mark.parametrize("name", ["clients", "nodes", "session_timeout", "usage"])
def test_what_was_given_is_kept_also_if_it_is_the_default(name):
    usual = getattr(ASKED, name)
    kept = drawn(replace(ASKED, fixed=(name,)))
    assert {getattr(each, name) for each in kept} == {usual}


def test_what_was_given_does_not_change_what_else_is_drawn():
    for free, kept in zip(drawn(), drawn(replace(ASKED, clients=4)), strict=True):
        assert replace(free, clients=4) == kept


def test_short_loads_have_short_sessions():
    short = drawn(replace(ASKED, time_limit=6.0))
    assert {each.session_timeout for each in short} == {1.0}


def test_nothing_is_drawn_without_a_swarm():
    plain = replace(ASKED, swarm=None)
    assert with_swarm(plain, 3, simulated=True) is plain


def test_no_usage_is_drawn_beside_a_plan_by_hand(tmp_path):
    asked = replace(OPEN, plan=tmp_path / "plan.json")
    assert not {"usage", "time_limit"} & swarm_settings(asked, 3, simulated=True).keys()


def test_slow_clients_get_a_longer_load():
    quick = load_of(Usage(traffic=3, fresh=True), 5, 1.0)
    assert quick == QUICK_LOAD_S
    assert load_of(Usage(), 5, 4.0) == 2 * quick
    long = load_of(Usage(holding=7.0), 5, 1.0)
    assert long > 2 * quick
    resting = load_of(Usage(think=0.5), 5, 1.0) - quick
    assert load_of(Usage(holding=7.0, think=0.5), 5, 1.0) > long + resting + 10.0  # in holds, too
    assert load_of(Usage(think=1.5), 7, 1.0) > 2 * quick
    assert load_of(Usage(think=1.5), 2, 1.0) > load_of(Usage(think=1.5), 7, 1.0)
    assert load_of(Usage(interrupts=0.2), 5, 1.0) == 1.4 * quick


def test_the_load_follows_from_the_usage_that_is_drawn_or_given():
    for each in drawn(OPEN):
        usage = parse_usage(each.usage)
        assert each.time_limit == load_of(usage, each.clients, each.session_timeout)
    assert len({each.time_limit for each in drawn(OPEN)}) > 10
    given = replace(OPEN, usage="holding=8", clients=4, session_timeout=1.0)
    assert {each.time_limit for each in drawn(given)} == {load_of(Usage(holding=8.0), 4, 1.0)}


def test_a_load_that_was_asked_for_is_kept_and_so_is_one_in_real_time():
    assert {each.time_limit for each in drawn()} == {20.0}
    assert {each.time_limit for each in drawn(replace(OPEN, fixed=("time_limit",)))} == {60.0}
    assert with_swarm(OPEN, 3, simulated=False).time_limit == 60.0


def test_the_usual_load_of_a_campaign_is_not_asked_for():
    campaign = RunSettings(argv=(), workload="lock", ensemble="sim", time_limit=15.0)
    assert drawn(as_swarm(campaign, "normal")) == drawn(replace(OPEN, ensemble="sim"))
    asked = replace(campaign, fixed=("time_limit",))
    assert {each.time_limit for each in drawn(as_swarm(asked, "normal"))} == {15.0}
    real = replace(campaign, ensemble="docker")
    assert as_swarm(real, "normal").time_limit == 15.0
    assert as_swarm(campaign, None) == campaign


def test_no_swarm_has_fewer_clients_than_its_workload_needs():
    least = 4
    assert {each.clients for each in drawn(least_clients=least)} == set(
        range(least, CLIENTS[1] + 1)
    )
    short = [short_settings(OPEN, seed, least_clients=least) for seed in range(20)]
    assert {each["clients"] for each in short} == {least}


def test_the_command_names_what_was_given_and_nothing_that_was_drawn():
    settings = replace(ASKED, seed=3, clients=5, fixed=("clients",))
    words = "rumpus run lock --clients 5 --time-limit 20.0 --seed 3 --swarm normal"
    assert " ".join(command_line(settings)) == words


def least_clients(workload, recipe):
    found = WORKLOADS[workload]
    return found.least_clients(found.recipe_of(recipe))


@pytest.mark.parametrize(
    ("workload", "recipe", "least"),
    [
        ("lock", "fair", 2),
        ("lock", "sequencer", 3),
        ("semaphore", "fair", 3),
        ("election", "fair", 3),
        ("breaking", "blacklist", 4),
        ("breaking", "by-identity", 4),
        ("latch", "tally", 3),
        ("barrier", "rechecking", 3),
        ("chubby", "library", 4),
        ("failover", "quorum", 3),
        ("queue", "fifo", 2),
    ],
)
def test_two_clients_contend_besides_those_that_look_on(workload, recipe, least):
    assert least_clients(workload, recipe) == least
