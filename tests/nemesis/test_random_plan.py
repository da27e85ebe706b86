from itertools import pairwise
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rumpus.nemesis.entry import PlanError
from rumpus.nemesis.grudges import keeps_majority, majority, minority
from rumpus.nemesis.partition import shape_grudge
from rumpus.nemesis.plan import decode_plan, encode_plan, validate
from rumpus.nemesis.random_plan import DEPOSE, FIRST, ROOM, random_plan
from rumpus.nemesis.registry import EVERYWHERE, FAULTS

SERVER_KINDS = {"kill", "pause", "partition"}
ALL = EVERYWHERE

arguments = st.fixed_dictionaries(
    {
        "kinds": st.sets(st.sampled_from(ALL), min_size=1),
        "seed": st.integers(0, 2**32),
        "time_limit": st.floats(30, 300).map(lambda x: round(x, 1)),
        "interval": st.sampled_from([1, 2, 5, 7.5, 10, 15, 30, 100]),
        "nodes": st.integers(3, 7),
        "clients": st.integers(1, 9),
        "session_timeout": st.sampled_from([1.0, 2.0]),
    }
)

ordinary = {
    "kinds": ALL,
    "seed": 1,
    "time_limit": 60,
    "interval": 10,
    "nodes": 3,
    "clients": 5,
    "session_timeout": 2.0,
}


def by_turn(plan):
    """The plan's faults without the lost replies that accompany others."""
    return [
        entry
        for entry in plan.entries
        if not any(
            entry.options.get("how") == "lost-reply" and entry.at < other.at < entry.end
            for other in plan.entries
        )
    ]


@given(arguments)
def test_every_kind_asked_for_occurs_and_no_other(drawn):
    assert set(random_plan(**drawn).kinds) == drawn["kinds"]


@given(arguments)
def test_kinds_come_in_rounds(drawn):
    kinds = [entry.kind for entry in by_turn(random_plan(**drawn))]
    size = len(drawn["kinds"])
    for start in range(0, len(kinds), size):
        chunk = kinds[start : start + size]
        assert len(set(chunk)) == len(chunk)


@given(arguments)
def test_the_same_arguments_give_the_same_plan_in_whatever_order_kinds_are_named(drawn):
    kinds = sorted(drawn["kinds"])
    once = random_plan(**{**drawn, "kinds": kinds})
    assert once == random_plan(**{**drawn, "kinds": kinds[::-1]})
    assert once.seed == drawn["seed"]


def test_another_seed_gives_another_plan():
    plans = {encode_plan(random_plan(**{**ordinary, "seed": seed})) for seed in range(20)}
    assert len(plans) == 20


@given(arguments)
def test_faults_begin_after_the_load_and_are_over_before_it_ends(drawn):
    plan = random_plan(**drawn)
    assert all(entry.at >= FIRST for entry in plan.entries)
    assert all(entry.end < drawn["time_limit"] for entry in plan.entries)
    first = min(entry.at for entry in plan.entries)
    assert first <= FIRST + max(drawn["interval"], 5.0)


@given(arguments)
def test_each_fault_outlasts_a_session_and_leaves_room_to_recover(drawn):
    plan = random_plan(**drawn)
    turns = by_turn(plan)
    assert all(entry.duration > drawn["session_timeout"] + 0.5 for entry in turns)
    for one, following in pairwise(turns):
        begins = min(e.at for e in plan.entries if e.at > one.end)
        assert begins - one.end >= ROOM - 0.01
        assert begins <= following.at


@given(arguments)
def test_faults_come_at_about_the_interval_asked_for_unless_the_notes_say_otherwise(drawn):
    plan = random_plan(**drawn)
    turns = by_turn(plan)
    gaps = [b.at - a.at for a, b in pairwise(turns)]
    assume(gaps)
    mean = sum(gaps) / len(gaps)
    if abs(mean - drawn["interval"]) > 0.25 * drawn["interval"]:
        assert any("the interval is" in note for note in plan.notes)


@given(arguments)
def test_the_plan_is_valid_and_survives_json(drawn):
    plan = random_plan(**drawn)
    size = {"nodes": drawn["nodes"], "clients": drawn["clients"]}
    validate(plan, **size, time_limit=drawn["time_limit"])
    assert decode_plan(encode_plan(plan), **size) == plan


@given(arguments)
def test_first_faults_strike_where_it_tells_most(drawn):
    first = {}
    for entry in by_turn(random_plan(**drawn)):
        first.setdefault(entry.kind, entry)
    for kind, entry in first.items():
        if kind == "partition":
            assert entry.targets.shape == "isolate-leader"
        else:
            assert entry.targets.role == ("holder" if kind.startswith("client-") else "leader")
        if kind == "client-partition":
            assert entry.options.get("how") == "black-hole"


@given(arguments)
def test_a_connected_majority_of_servers_is_always_left(drawn):
    nodes = drawn["nodes"]
    names = [f"n{i}" for i in range(1, nodes + 1)]
    struck = {"one": 1, "leader": 1, "holder-server": 1, "minority": minority(nodes)}
    for entry in random_plan(**drawn).entries:
        if entry.kind in {"kill", "pause"}:
            assert nodes - struck[entry.targets.role] >= majority(nodes)
        elif entry.kind == "partition":
            for seed in range(3):
                grudge = shape_grudge(entry.targets.shape, names, names[0], Random(seed))
                assert grudge
                assert keeps_majority(names, grudge)


@given(arguments)
def test_replies_are_lost_in_every_plan_that_partitions_clients(drawn):
    plan = random_plan(**drawn)
    lost = [entry for entry in plan.entries if entry.options.get("how") == "lost-reply"]
    assert bool(lost) == ("client-partition" in drawn["kinds"])
    assert all(entry.targets.role == "all" for entry in lost)


@given(arguments)
def test_deposing_a_leader_takes_as_long_as_it_takes_where_there_is_time(drawn):
    plan = random_plan(**drawn)
    turns = by_turn(plan)
    for entry in turns:
        deposes = entry.targets.shape == "isolate-leader" or (
            entry.kind == "pause" and entry.targets.role == "leader"
        )
        if deposes and drawn["interval"] >= 6 and not plan.notes:
            assert entry.duration >= DEPOSE


def test_all_six_kinds_fit_into_half_a_minute():
    for seed in range(200):
        plan = random_plan(**{**ordinary, "seed": seed, "time_limit": 30})
        turns = by_turn(plan)
        assert len(turns) == 6
        assert all(2.8 <= entry.duration <= 3.7 for entry in turns)
        assert all(4 < b.at - a.at < 6.5 for a, b in pairwise(turns))
        assert plan.notes == (
            "the interval is 5.0 s instead of 10 s, so that all 6 kinds of fault fit into 30 s",
        )


def test_a_minute_keeps_the_usual_interval():
    for seed in range(200):
        plan = random_plan(**{**ordinary, "seed": seed})
        assert len(by_turn(plan)) == 6
        assert plan.notes == ()


@given(st.floats(6, 29), st.sets(st.sampled_from(ALL), min_size=1), st.integers(0, 99))
def test_with_little_time_every_kind_still_occurs_and_the_notes_say_what_suffers(
    time_limit, kinds, seed
):
    plan = random_plan(**{**ordinary, "time_limit": time_limit, "kinds": kinds, "seed": seed})
    assert set(plan.kinds) == kinds
    assert all(entry.end < time_limit for entry in plan.entries)
    noted = any("too short for a session to expire" in note for note in plan.notes)
    durations = [entry.duration for entry in by_turn(plan)]
    assert noted or min(durations) >= 2.8
    assert not noted or max(durations) < 2.85


def test_too_little_time_is_refused_with_the_time_that_is_enough():
    with pytest.raises(PlanError, match="6 kinds of fault need at least 6 s of load, not 5 s"):
        random_plan(**{**ordinary, "time_limit": 5})
    assert random_plan(**{**ordinary, "time_limit": 6}).kinds == ALL


def test_the_time_said_to_be_enough_for_expiry_is_enough():
    note = random_plan(**{**ordinary, "time_limit": 20}).notes[-1]
    assert "28 s of load would be enough" in note
    assert len(random_plan(**{**ordinary, "time_limit": 28}).notes) == 1


def test_no_kinds_make_an_empty_plan():
    assert random_plan(**{**ordinary, "kinds": []}).entries == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kinds": ["kill", "melt"]}, "unknown fault 'melt'; there are kill, pause"),
        ({"nodes": 1}, "a single server cannot be partitioned"),
        ({"clients": 0}, "need at least one client"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(PlanError, match=message):
        random_plan(**{**ordinary, **change})


@pytest.mark.parametrize("nodes", [1, 2])
def test_small_ensembles_lose_their_majority_and_the_notes_say_so(nodes):
    kinds = {"kill", "pause", "client-kill"} | ({"partition"} if nodes > 1 else set())
    for seed in range(20):
        plan = random_plan(
            **{**ordinary, "kinds": kinds, "nodes": nodes, "seed": seed, "time_limit": 200}
        )
        assert f"an ensemble of {nodes} has no majority" in plan.notes[-1]
        assert set(plan.kinds) == kinds


@given(st.integers(0, 2**32), st.integers(3, 7), st.integers(1, 9))
def test_faults_of_simulated_machines_have_their_turns_and_aim_at_what_exists(seed, nodes, clients):
    drawn = {**ordinary, "kinds": FAULTS, "seed": seed, "nodes": nodes, "clients": clients}
    plan = random_plan(**{**drawn, "time_limit": 120})
    assert set(plan.kinds) == set(FAULTS)
    size = {"nodes": nodes, "clients": clients}
    validate(plan, **size, time_limit=120)
    assert decode_plan(encode_plan(plan), **size) == plan
    first = {}
    for entry in plan.entries:
        first.setdefault(entry.kind, entry)
    assert all(first[kind].targets.role == "leader" for kind in ("power-off", "file-slow"))
    assert all(first[kind].targets.role == "holder" for kind in ("client-stall",))
    assert first["client-request"].options["number"] >= 1
