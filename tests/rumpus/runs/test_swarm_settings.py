from dataclasses import replace

import pytest

from rumpus.harness.generators.usage import parse_usage
from rumpus.runs.run_settings import RunSettings, command_line
from rumpus.runs.swarm_settings import CLIENTS, NODES, SESSION_TIMEOUTS, swarm_settings, with_swarm

ASKED = RunSettings(argv=(), workload="lock", swarm="normal", time_limit=20.0)


def drawn(settings=ASKED, seeds=range(200)):
    return [with_swarm(settings, seed) for seed in seeds]


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
    assert with_swarm(plain, 3) is plain


def test_no_usage_is_drawn_beside_a_plan_by_hand(tmp_path):
    assert "usage" not in swarm_settings(replace(ASKED, plan=tmp_path / "plan.json"), 3)


def test_the_command_names_what_was_given_and_nothing_that_was_drawn():
    settings = replace(ASKED, seed=3, clients=5, fixed=("clients",))
    words = "rumpus run lock --clients 5 --time-limit 20.0 --seed 3 --swarm normal"
    assert " ".join(command_line(settings)) == words
