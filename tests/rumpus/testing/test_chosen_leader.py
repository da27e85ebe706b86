import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rumpus.testing.chosen_leader import plan
from rumpus.usage_error import UsageError


@st.composite
def situations(draw):
    """All servers, those that run (a quorum at least), the leader, and the one that is to lead."""
    nodes = [f"n{number}" for number in range(1, draw(st.integers(1, 9)) + 1)]
    running = draw(st.lists(st.sampled_from(nodes), unique=True, min_size=len(nodes) // 2 + 1))
    running.sort()
    return nodes, running, draw(st.sampled_from(running)), draw(st.sampled_from(running))


def winner(nodes, voting, newest):
    """Who wins an election: the one with the newest data, and the highest id among those."""
    return max(voting, key=lambda node: (node in newest, nodes.index(node)))


@given(situations())
def test_who_follows_the_plan_makes_the_target_win(situation):
    nodes, running, leader, target = situation
    quorum = len(nodes) // 2 + 1
    try:
        steps = plan(nodes, running, leader, target)
    except UsageError:
        assume(False)
    assert set(steps.writing).isdisjoint(steps.missing)
    assert set(steps.writing) | set(steps.missing) == set(running)
    assert set(steps.losing) <= set(steps.writing)
    assert target not in steps.losing
    assert len(steps.writing) >= quorum  # so that the write is committed
    newest = steps.writing if steps.writes else running
    if steps.writes:
        voting = [node for node in running if node not in steps.losing]
    else:
        voting = [node for node in running if node not in steps.missing]
    assert len(voting) >= quorum
    assert winner(nodes, voting, newest) == target


@pytest.mark.parametrize("count", [1, 3, 5, 7, 9])
def test_with_all_of_an_odd_number_of_servers_every_one_can_win(count):
    nodes = [f"n{number}" for number in range(1, count + 1)]
    for leader in nodes:
        for target in nodes:
            plan(nodes, nodes, leader, target)


def test_with_too_few_servers_it_is_refused():
    nodes = ["n1", "n2", "n3"]
    with pytest.raises(UsageError, match="while 2 of 3 servers run"):
        plan(nodes, ["n1", "n3"], "n3", "n1")
