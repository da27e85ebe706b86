from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumpus.nemesis.entry import PlanError
from rumpus.nemesis.plan import conflict, decode_plan, encode_plan
from rumpus.nemesis.registry import EVERYWHERE, FAULTS, SOUND
from rumpus.nemesis.swarm import COMPOSED, PROFILES, outage, swarm_plan


def drawn(seed=0, profile="normal", kinds=SOUND, time_limit=20.0, nodes=3, clients=5, session=2.0):
    return swarm_plan(
        kinds,
        seed=seed,
        profile=profile,
        time_limit=time_limit,
        nodes=nodes,
        clients=clients,
        session_timeout=session,
    )


@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.sampled_from(list(PROFILES)),
    st.sampled_from([1, 3, 5]),
    st.integers(1, 7),
    st.sampled_from([5.0, 20.0, 60.0]),
)
def test_every_drawn_plan_is_a_valid_plan_file_without_conflicts(
    seed, profile, nodes, clients, time_limit
):
    plan = drawn(seed, profile, nodes=nodes, clients=clients, time_limit=time_limit)
    read = decode_plan(encode_plan(plan), nodes=nodes, clients=clients, time_limit=time_limit)
    assert read == plan
    assert plan.punctual
    assert outage(plan.entries, nodes) <= PROFILES[profile].outage * time_limit
    assert all(entry.end <= time_limit for entry in plan.entries)


def test_the_same_seed_draws_the_same_and_another_profile_another():
    assert drawn(7) == drawn(7)
    assert len({encode_plan(drawn(7, profile)) for profile in PROFILES}) == 3
    assert len({encode_plan(drawn(seed)) for seed in range(20)}) == 20


def test_each_seed_has_its_own_selection_of_kinds_and_every_kind_has_its_turn():
    selections = [frozenset(drawn(seed).kinds) for seed in range(200)]
    counts = Counter(kind for selection in selections for kind in selection)
    assert set(counts) == set(SOUND)
    assert all(share < 0.8 * len(selections) for share in counts.values())
    assert len(set(selections)) > 100


def test_lengths_reach_from_milliseconds_to_three_sessions():
    lengths = [entry.duration for seed in range(100) for entry in drawn(seed).entries]
    assert min(lengths) < 0.02
    assert max(lengths) > 2 * 2.5
    assert max(lengths) <= 3 * 2.0 + 0.5


def test_faults_overlap_and_those_that_do_never_conflict():
    overlaps = 0
    for seed in range(50):
        entries = drawn(seed).entries
        for place, one in enumerate(entries):
            for other in entries[place + 1 :]:
                if other.at < one.end:
                    overlaps += 1
                    assert conflict(one, other) is None
    assert overlaps > 50


def test_every_composition_is_drawn():
    seen = set()
    for seed in range(400):
        entries = drawn(seed, "brutal").entries
        by_id = {entry.id: entry for entry in entries}
        seen |= {(by_id[e.targets.of].kind, e.kind) for e in entries if e.targets.of is not None}
    wanted = {(parts[0].kind, part.kind) for parts in COMPOSED for part in parts[1:] if part.of}
    assert seen == wanted


def test_a_cut_may_outlive_two_sessions():
    lengths = [
        entry.duration
        for seed in range(100)
        for entry in drawn(seed).entries
        if entry.kind == "client-partition"
    ]
    assert any(length > 2 * 2.5 for length in lengths)


def test_only_the_kinds_asked_for_are_drawn():
    for seed in range(30):
        assert set(drawn(seed, kinds=("kill", "client-pause")).kinds) <= {"kill", "client-pause"}
    assert drawn(kinds=()).entries == ()
    assert {kind for seed in range(50) for kind in drawn(seed, kinds=EVERYWHERE).kinds} == set(
        EVERYWHERE
    )


def test_a_single_server_gets_no_faults_that_need_several():
    kinds = {kind for seed in range(100) for kind in drawn(seed, nodes=1).kinds}
    assert kinds
    assert not any(FAULTS[kind].several_nodes for kind in kinds)


def test_what_cannot_be_drawn_is_refused_by_name():
    with pytest.raises(PlanError, match="unknown profile 'mild'; there are light, normal, brutal"):
        drawn(profile="mild")
    with pytest.raises(PlanError, match="unknown fault 'flood'"):
        drawn(kinds=("kill", "flood"))
    with pytest.raises(PlanError, match="leave no time for faults"):
        drawn(time_limit=0.5)
    with pytest.raises(PlanError, match="none of these kinds of fault can occur with 1 servers"):
        drawn(kinds=("partition",), nodes=1)
