import pytest

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import MARK, FairContest
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Unanswered


@pytest.fixture
def contest(crowd, path):
    return FairContest(crowd[0], path, name="", grace=1.0)


@pytest.fixture
def entry(crowd):
    entry = Entry(crowd[0])
    yield entry
    entry.session.close()


def test_its_own_node_is_found_by_mark_and_owner(crowd, path, contest, entry):
    crowd[0].ensure_path(path)
    assert contest._find(entry, Deadline(5)) is None
    node = crowd[0].create(f"{path}/{entry.mark}{MARK}", ephemeral=True, sequence=True)
    assert contest._find(entry, Deadline(5)) == node
    assert entry.token == crowd[0].exists(node).czxid


@pytest.mark.parametrize("ephemeral", [True, False])
def test_a_node_of_another_session_is_not_taken_for_ours(crowd, path, contest, entry, ephemeral):
    crowd[1].ensure_path(path)
    crowd[1].create(f"{path}/{entry.mark}{MARK}", ephemeral=ephemeral, sequence=True)
    assert contest._find(entry, Deadline(5)) is None


def test_not_connected_is_not_taken_for_not_there(crowd, path, contest, entry, eventually):
    crowd[0].ensure_path(path)
    crowd[0].create(f"{path}/{entry.mark}{MARK}", ephemeral=True, sequence=True)
    crowd.links.cut(0, "reset")
    eventually(lambda: not crowd[0].connected)
    with pytest.raises(Unanswered):
        contest._find(entry, Deadline(0.3))


def test_a_queue_in_which_numbers_count_and_names_do_not(crowd, path, contest, entry):
    crowd[1].ensure_path(path)
    last_by_name = crowd[1].create(f"{path}/zzz{MARK}", ephemeral=True, sequence=True)
    first_by_name = crowd[1].create(f"{path}/000{MARK}", ephemeral=True, sequence=True)
    crowd[1].create(f"{path}/000-someone-elses-", ephemeral=True, sequence=True)
    contest._enter(entry, Deadline(5))
    crowd[1].create(f"{path}/000{MARK}", ephemeral=True, sequence=True)
    assert contest._ahead(entry, Deadline(5)) == [last_by_name, first_by_name]
    assert contest._watched([last_by_name, first_by_name]) == [first_by_name]


def test_a_predecessor_that_is_gone_leaves_no_watch_behind(crowd, path, contest, entry):
    crowd[0].ensure_path(path)
    assert contest._await([f"{path}/gone"], entry, Deadline(30))
    crowd[1].create(f"{path}/gone", ephemeral=True)
    crowd[0].sync(path)
    assert not crowd.links.watch_events()
