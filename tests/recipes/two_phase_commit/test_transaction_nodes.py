import time
from types import SimpleNamespace

import pytest
from kazoo.exceptions import NodeExistsError

from rumpus.harness.clients.mortal_client import Died, MortalClient
from rumpus.recipes.two_phase_commit.catalogue import TWO_PHASE_COMMITS
from rumpus.recipes.two_phase_commit.transaction_nodes import InDoubt, NoTransaction, VotedAlready

SOUND = [name for name, recipe in TWO_PHASE_COMMITS.items() if not recipe.faulty]
NAMES = ["a", "b", "c"]

pytestmark = pytest.mark.parametrize("name", SOUND)


@pytest.fixture
def sites(crowd, path, name):
    kind = TWO_PHASE_COMMITS[name].recipe
    parts = {site: kind(crowd[n], path, name=site, grace=1.0) for n, site in enumerate(NAMES)}
    return SimpleNamespace(**parts)


def test_all_yes_commits_and_everybody_learns_it(crowd, sites):
    key = sites.a.begin(NAMES, timeout=10)
    calls = [crowd.in_thread(sites.a.decide, key, 20), crowd.in_thread(sites.b.decide, key, 20)]
    for site in (sites.a, sites.b, sites.c):
        assert site.join(key, 10) == NAMES
        site.vote(key, True, 10)
    assert [call.result() for call in calls] == ["commit", "commit"]
    assert sites.c.decide(key, 10) == "commit"
    assert sites.c.transactions(10) == [key]
    sites.a.forget(key, 10)
    assert sites.b.transactions(10) == []
    with pytest.raises(NoTransaction):
        sites.b.decide(key, 10)


def test_what_is_written_while_it_is_forgotten_goes_with_it(crowd, sites):
    """A site that is late: its node comes between the look and the removal."""
    key = sites.a.begin(["a"], timeout=10)
    sites.a.vote(key, True, 10)
    assert sites.a.decide(key, 10) == "commit"
    list_children = crowd[0].get_children_async
    late = iter([True])

    def and_then_somebody_joins(path, *arguments, **options):
        listed = list_children(path, *arguments, **options)
        listed.get(timeout=10)
        if next(late, False):
            sites.b.join(key, 10)
        return listed

    crowd[0].get_children_async = and_then_somebody_joins
    sites.a.forget(key, 10)
    assert sites.b.transactions(10) == []


def test_one_no_aborts_without_waiting_for_the_rest(sites):
    key = sites.a.begin(NAMES, timeout=10)
    sites.b.vote(key, False, 10)
    assert sites.a.decide(key, 20, patience=60) == "abort"
    sites.c.vote(key, True, 10)
    assert sites.c.decide(key, 10) == "abort"


def test_who_does_not_vote_is_voted_for_and_comes_too_late(sites):
    key = sites.a.begin(NAMES, timeout=10)
    sites.a.vote(key, True, 10)
    sites.b.vote(key, True, 10)
    assert sites.a.decide(key, 0.2, patience=60) is None
    assert sites.a.decide(key, 20, patience=0.1) == "abort"
    with pytest.raises(VotedAlready) as refusal:
        sites.c.vote(key, True, 10)
    assert (refusal.value.ballot, refusal.value.author) == (False, "a")
    assert sites.b.decide(key, 10) == sites.c.decide(key, 10) == "abort"


def test_a_vote_is_cast_once(sites):
    key = sites.a.begin(NAMES, timeout=10)
    sites.b.vote(key, True, 10)
    sites.b.vote(key, True, 10)  # as after a lost reply
    with pytest.raises(VotedAlready, match="b has voted yes"):
        sites.b.vote(key, False, 10)


def test_a_site_that_dies_at_work_is_not_waited_for(crowd, sites):
    key = sites.a.begin(NAMES, timeout=10)
    sites.a.vote(key, True, 10)
    sites.b.vote(key, True, 10)
    sites.c.join(key, 10)
    deciding = crowd.in_thread(
        sites.a.decide,
        key,
        30,
    )
    time.sleep(0.5)
    crowd.end_session(2)
    assert deciding.result() == "abort"


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_coordinator_that_dies_leaves_all_or_nothing(crowd, path, sites, name, writes):
    sites.b.begin(["b"], transaction="earlier", timeout=10)
    mortal = TWO_PHASE_COMMITS[name].recipe(MortalClient(crowd[0], writes), path, name="a")
    try:
        mortal.begin(NAMES, transaction="t", timeout=10)
        for site in (sites.a, sites.b, sites.c):
            site.vote("t", True, 10)
        mortal.decide("t", 10)
    except Died:
        pass
    crowd.end_session(0)
    if writes == 0:
        with pytest.raises(NoTransaction):
            sites.b.decide("t", 10)
    else:
        assert sites.b.decide("t", 20) == sites.c.decide("t", 20) == "commit"


def test_a_lost_reply_changes_nothing(crowd, sites):
    sites.b.begin(["b"], transaction="earlier", timeout=10)
    crowd.links.cut(0, "lost-reply")
    sites.a.begin(["a"], transaction="t", timeout=20)
    with pytest.raises(NodeExistsError):
        sites.b.begin(["b"], transaction="t", timeout=10)
    crowd.links.cut(0, "lost-reply")
    sites.a.vote("t", True, 20)
    assert sites.a.decide("t", 20) == "commit"


def test_without_servers_nobody_knows(crowd, sites):
    key = sites.a.begin(["a"], timeout=10)
    sites.a.vote(key, True, 10)
    crowd.links.cut(0, "black-hole")
    assert sites.a.decide(key, 0.2) is None
    with pytest.raises(InDoubt):
        sites.a.vote(key, True, 0.2)
    crowd.links.heal(0)
    assert sites.a.decide(key, 20) == "commit"
