import time

import pytest
from kazoo.exceptions import ConnectionClosedError

from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.election.catalogue import ELECTIONS
from rumpus.recipes.election.contest_election import Leader

# The bare variants of kazoo's recipes repair nothing and promise less.
SOUND = [
    name for name, recipe in ELECTIONS.items() if not recipe.faulty and not name.endswith("bare")
]


def reign(election, timeout=30):
    """Campaign and resign; the epoch of the reign, None if there was none."""
    if not election.campaign(timeout):
        return None
    assert election.leading
    epoch = election.token
    election.resign()
    assert not election.leading
    return epoch


def is_nobody_left(crowd, path):
    stat = crowd.stat(path)
    return stat is None or (stat.numChildren == 0 and stat.ephemeralOwner == 0)


@pytest.mark.parametrize("name", SOUND)
def test_one_leader_at_a_time_with_growing_epochs(crowd, path, name):
    leaders = []
    epochs = []

    def run(election):
        for _ in range(4):
            assert election.campaign(timeout=30)
            leaders.append(election)
            assert leaders == [election]
            epochs.append(election.token)
            leaders.clear()
            election.resign()

    calls = [
        crowd.in_thread(run, ELECTIONS[name].recipe(crowd[number], path)) for number in range(3)
    ]
    for call in calls:
        call.result()
    assert len(epochs) == 12
    assert epochs == sorted(set(epochs))
    assert is_nobody_left(crowd, path)


@pytest.mark.parametrize("name", SOUND)
def test_the_lead_names_its_node_epoch_and_session(crowd, path, name):
    election = ELECTIONS[name].recipe(crowd[0], path)
    assert election.campaign()
    stat = crowd.stat(election.node)
    assert election.token == stat.czxid
    assert election.session == stat.ephemeralOwner == crowd[0].client_id[0]
    assert election.campaign(timeout=0), "who leads is told so at once"
    assert election.token == stat.czxid
    election.resign()
    assert (election.node, election.token, election.session) == (None, None, None)


@pytest.mark.parametrize("name", SOUND)
def test_a_definite_no_leaves_nothing_in_the_line(crowd, path, name):
    leader, other = (ELECTIONS[name].recipe(crowd[number], path) for number in (0, 1))
    assert leader.campaign()
    for timeout in (0, 0.3):
        assert other.campaign(timeout) is False
    with pytest.raises(NotHeld, match="not held"):
        other.resign()
    leader.resign()
    assert is_nobody_left(crowd, path)
    assert reign(other, timeout=5)


@pytest.mark.parametrize("name", SOUND)
def test_a_lost_session_ends_the_lead_and_the_next_has_a_larger_epoch(
    crowd, path, name, eventually
):
    election = ELECTIONS[name].recipe(crowd[0], path)
    assert election.campaign()
    before = election.token
    crowd.expire(0)
    assert crowd[0].connected
    assert not election.leading
    assert election.campaign(timeout=10)
    assert election.leading
    assert election.token > before
    crowd.expire(0)
    with pytest.raises(NotHeld, match="session"):
        election.resign()
    assert eventually(lambda: not crowd[0].state_listeners), "what is withdrawn takes a moment"


@pytest.mark.parametrize("name", SOUND)
def test_the_lead_pauses_while_the_connection_is_lost(crowd, path, name, eventually):
    election = ELECTIONS[name].recipe(crowd[0], path)
    assert election.campaign()
    epoch = election.token
    crowd.links.cut(0, "reset")
    eventually(lambda: not election.leading)
    with pytest.raises(LockUnknown, match="disconnected"):
        election.campaign(timeout=0.1)
    crowd.links.heal(0)
    assert election.campaign(timeout=20)
    assert election.token == epoch
    election.resign()


@pytest.mark.parametrize("name", SOUND)
def test_a_dead_leader_is_succeeded(crowd, path, name):
    leader, candidate = (ELECTIONS[name].recipe(crowd[number], path) for number in (0, 1))
    assert leader.campaign()
    epoch = leader.token
    waiting = crowd.in_thread(reign, candidate)
    crowd.end_session(0)
    assert waiting.result() > epoch


@pytest.mark.parametrize("name", SOUND)
def test_a_lost_reply_makes_no_second_candidate(crowd, path, name):
    election = ELECTIONS[name].recipe(crowd[0], path)
    assert reign(election)
    crowd.links.cut(0, "lost-reply")
    assert reign(election)
    assert not crowd.links.in_force(0)
    assert is_nobody_left(crowd, path)


@pytest.mark.parametrize("name", SOUND)
def test_an_unknown_campaign_is_settled_once_servers_are_back(crowd, path, name, eventually):
    election, other = (ELECTIONS[name].recipe(crowd[number], path, grace=0.5) for number in (0, 1))
    assert reign(election)
    crowd.links.cut(0, "black-hole")
    with pytest.raises(LockUnknown):
        election.campaign(timeout=0.3)
    assert not election.leading
    crowd.links.heal(0)
    assert reign(other, timeout=20)
    assert reign(election, timeout=20)
    eventually(lambda: is_nobody_left(crowd, path))  # its node is removed in the background


@pytest.mark.parametrize("name", SOUND)
def test_a_candidate_ends_with_its_client(crowd, path, name):
    leader, candidate = (ELECTIONS[name].recipe(crowd[number], path) for number in (0, 1))
    assert leader.campaign()
    waiting = crowd.in_thread(candidate.campaign)
    time.sleep(0.2)
    crowd[1].stop()
    with pytest.raises(ConnectionClosedError):
        waiting.result()
    leader.resign()


@pytest.mark.parametrize("name", SOUND)
def test_followers_see_who_leads_and_whether_it_knows(crowd, path, name):
    election, other = (
        ELECTIONS[name].recipe(crowd[number], path, name=f"c{number}") for number in (0, 1)
    )
    assert other.leader() is None
    with pytest.raises(NotHeld):
        election.acknowledge()
    assert election.campaign(10)
    seen = other.leader()
    assert (seen.epoch, seen.name, seen.acknowledged) == (election.token, "c0", False)
    for _ in range(2):
        election.acknowledge()
        assert other.leader() == Leader("c0", election.token, acknowledged=True)
    election.resign()
    assert other.leader() is None
    assert other.campaign(10)
    assert election.leader() == Leader("c1", other.token, acknowledged=False)
    other.resign()


def test_an_acknowledgement_goes_with_its_session_or_its_reign(crowd, path, eventually):
    election = ELECTIONS["fair"].recipe(crowd[0], path)
    assert election.campaign(10)
    election.acknowledge()
    assert len(crowd.children(f"{path}-acknowledged")) == 1
    election.resign()
    assert eventually(lambda: not crowd.children(f"{path}-acknowledged"))
    assert election.campaign(10)
    election.acknowledge()
    crowd.expire(0)
    assert crowd.children(f"{path}-acknowledged") == []
    with pytest.raises(NotHeld, match="session"):
        election.acknowledge()


def test_where_all_reigns_share_one_acknowledgement_the_next_leader_passes_for_acknowledged(
    crowd, path
):
    first, second = (
        ELECTIONS["untied-acknowledgement"].recipe(crowd[number], path) for number in (0, 1)
    )
    assert first.campaign(10)
    first.acknowledge()
    first.resign()
    assert second.campaign(10)
    assert first.leader().acknowledged
    second.resign()
