"""From when to when a client believes: in whatever session the answer came, until it is told."""

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.states import KeeperState

import rumpus
from rumpus.recipes.promises import Promises
from rumpus.workloads.own.own_lock import OwnLock
from tests.sampling import sampled
from tests.workloads.own import restarting_locks as recipes

CALM = {"seeds": 1, "clients": 3, "time_limit": 2.0, "session_timeout": 1.0, "nemesis": []}


def trial(family, recipe, runs, **options):
    return rumpus.run(family, recipe, runs=runs, **{**CALM, **options})


def kinds(anomalies):
    return {anomaly.kind for anomaly in anomalies}


@sampled(
    ("family", "recipe"),
    [
        ("lock", recipes.RestartingQueuer),
        ("election", recipes.RestartingRunningElection),
    ],
    of=2,
)
def test_a_recipe_may_restart_its_client_before_it_wins(family, recipe, tmp_path):
    result = trial(family, recipe, tmp_path, promises=["belief", "fifo"], time_limit=4.0)
    assert result.outcome == "valid", str(result)
    assert not kinds(result.hazards) & {"unbelieving-holder", "unaware-holder"}


@sampled(
    ("family", "recipe"),
    [
        ("lock", recipes.KeepingQueuer),
        ("semaphore", recipes.KeepingSemaphore),
        ("election", recipes.KeepingRunningElection),
        ("read-write", recipes.KeepingReadWrite),
    ],
    of=2,
)
def test_what_a_former_session_won_is_not_held_in_the_next(family, recipe, tmp_path):
    result = trial(family, recipe, tmp_path)
    assert result.outcome == "violation", str(result)
    assert "split-brain" in kinds(result.anomalies)


class Granting:
    """Says yes to everything."""

    def __init__(self, client, path):
        self.client, self.path = client, path

    def acquire(self):
        return True

    def release(self):
        pass


class Unsure(Granting):
    """Asks kazoo whether it holds, and kazoo does not know."""

    @property
    def held(self):
        raise ConnectionLoss


class Mistaken(Granting):
    """Cannot tell whether it holds, by a mistake of its own."""

    @property
    def held(self):
        raise ZeroDivisionError


@pytest.fixture
def client():
    client = KazooClient()
    change(client, KeeperState.CONNECTED)
    client._session_id = 7
    return client


def change(client, state):
    client._live.set() if state == KeeperState.CONNECTED else client._live.clear()
    client._session_callback(state)


def granted(client, kind=Granting):
    lock = OwnLock.of(kind, "mine:Lock", Promises(prevents=frozenset()))(client, "/lock")
    assert lock.acquire(1.0)
    return lock


def test_a_belief_ends_when_the_session_is_lost_and_for_good(client):
    lock = granted(client)
    assert (lock.held, lock.session) == (True, 7)
    change(client, KeeperState.CONNECTING)  # kazoo reports SUSPENDED
    assert lock.held
    change(client, KeeperState.EXPIRED_SESSION)
    assert not lock.held
    client._session_id = 8
    change(client, KeeperState.CONNECTED)
    assert not lock.held


def test_an_answer_without_a_connection_is_one_of_the_session_that_is_still_there(client):
    change(client, KeeperState.CONNECTING)
    lock = granted(client)
    assert (lock.held, lock.session) == (True, 7)
    change(client, KeeperState.CONNECTED)
    assert lock.held


def test_what_was_lost_before_the_answer_takes_nothing_back(client):
    change(client, KeeperState.EXPIRED_SESSION)
    client._session_id = 8
    change(client, KeeperState.CONNECTED)
    lock = granted(client)
    assert (lock.held, lock.session) == (True, 8)


def test_a_release_ends_a_belief(client):
    lock = granted(client)
    lock.release()
    assert (lock.held, lock.session) == (False, None)


@pytest.mark.parametrize("recipe", [Unsure, Mistaken])
def test_an_error_in_place_of_an_answer_is_no_belief(client, recipe):
    assert not granted(client, recipe).held
