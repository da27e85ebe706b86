import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.nemesis.grudges import (
    bridge,
    complete,
    connections,
    cut_off,
    keeps_majority,
    majorities_ring,
    majority,
    minority,
    normal,
    one_way,
)


def names(count):
    return [f"n{i}" for i in range(1, count + 1)]


grudges = st.integers(1, 6).flatmap(
    lambda count: st.tuples(
        st.just(names(count)),
        st.dictionaries(
            st.sampled_from(names(count)), st.frozensets(st.sampled_from(names(count)))
        ).map(lambda grudge: {n: who - {n} for n, who in grudge.items()}),
    )
)


@given(st.integers(1, 50))
def test_a_minority_and_a_majority_make_up_the_whole_or_leave_one_to_spare(count):
    assert majority(count) > count / 2 >= majority(count) - 1
    assert count - minority(count) >= majority(count)
    assert count - (minority(count) + 1) < majority(count)


def test_complete_cuts_each_part_from_all_others():
    assert complete(["n1"], ["n2", "n3"]) == {
        "n1": {"n2", "n3"},
        "n2": {"n1"},
        "n3": {"n1"},
    }


def test_complete_with_a_single_part_cuts_nobody():
    assert complete(["n1", "n2"], []) == {}


@pytest.mark.parametrize("count", range(4, 12))
def test_on_a_ring_all_see_a_majority_no_two_the_same_and_each_lost_somebody(count):
    nodes = names(count)
    grudge = majorities_ring(nodes)
    seen = connections(nodes, grudge)
    assert all(majority(count) <= len(seen[node]) < count for node in nodes)
    assert len(set(seen.values())) == count
    assert all((a in grudge[b]) == (b in grudge[a]) for a in nodes for b in nodes)


def test_a_ring_of_three_has_nothing_to_cut():
    assert majorities_ring(names(3)) == {}


@pytest.mark.parametrize("count", range(3, 8))
def test_a_bridge_is_seen_by_all_and_the_sides_do_not_see_each_other(count):
    nodes = names(count)
    seen = connections(nodes, bridge(nodes))
    middle = [node for node in nodes if len(seen[node]) == count]
    assert len(middle) == 1
    assert all(middle[0] in seen[node] for node in nodes)
    assert not any(b in seen[a] for a in nodes[: count // 2] for b in nodes[count // 2 + 1 :])


def test_one_way_refuses_in_one_direction_and_cuts_the_connection_all_the_same():
    deaf, mute = one_way("n1", ["n2", "n3"], deaf=True), one_way("n1", ["n2", "n3"], deaf=False)
    assert deaf == {"n1": {"n2", "n3"}}
    assert mute == {"n2": {"n1"}, "n3": {"n1"}}
    assert connections(names(3), deaf) == connections(names(3), mute)


@given(grudges)
def test_a_connection_needs_both_and_a_majority_one_who_is_connected_to_it(drawn):
    nodes, grudge = drawn
    seen = connections(nodes, grudge)
    for a in nodes:
        for b in nodes:
            refused = b in grudge.get(a, ()) or a in grudge.get(b, ())
            assert (b in seen[a]) == (not refused)
    counts = [sum(b in seen[a] for b in nodes) for a in nodes]
    assert keeps_majority(nodes, grudge) == (2 * max(counts) > len(nodes))


@given(grudges)
def test_the_cut_off_are_those_without_a_majority_else_all_who_lost_somebody(drawn):
    nodes, grudge = drawn
    seen = connections(nodes, grudge)
    poor = [node for node in nodes if 2 * len(seen[node]) <= len(nodes)]
    assert cut_off(nodes, grudge) == (poor or [n for n in nodes if len(seen[n]) < len(nodes)])


def test_normal_leaves_out_those_who_refuse_nobody():
    assert normal({"n2": frozenset(), "n1": frozenset({"n2"})}) == {"n1": {"n2"}}
