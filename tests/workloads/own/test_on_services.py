"""Objects that live on servers of the user's, as recipes: no kazoo, no session, no znode."""

import pytest

from rumpus.recipes.contests.interfaces import LockUnknown
from rumpus.recipes.servers import SERVICES, Servers
from rumpus.workloads.registry import WORKLOADS
from tests.workloads.own import service_objects

PLACES = Servers({"n1:db": ("127.0.0.1", 5432), "n2:cache": ("::1", 6379)})


def adapted(kind, family="lock", *more, promised=()):
    """The object as a recipe of a family, as a client's process makes it."""
    reference = f"{service_objects.__name__}:{kind.__name__}"
    recipe = WORKLOADS[family].recipe_of(reference, promised, services=True)
    assert recipe.system == SERVICES
    return recipe(PLACES, "/a/lock", *more, name="c3")


def test_it_gets_addresses_by_name_and_no_client():
    lock = adapted(service_objects.Asked)
    assert lock.acquire(1.0)
    assert lock.own.given == (None, "/a/lock", {"db": "127.0.0.1:5432", "cache": "::1:6379"}, "c3")


def test_a_belief_without_held_lasts_from_the_grant_to_the_release():
    lock = adapted(service_objects.Asked)
    assert not lock.held
    assert lock.acquire(1.0)
    assert (lock.held, lock.session, lock.node) == (True, None, None)
    lock.release()
    assert not lock.held


@pytest.mark.parametrize("error", [ConnectionError("gone"), OSError(5, "broken"), KeyError("own")])
@pytest.mark.parametrize("call", ["acquire", "release"])
def test_what_its_library_raises_leaves_the_outcome_unknown(error, call):
    lock = adapted(service_objects.Asked)
    assert lock.acquire(1.0)
    lock.own.error = error
    with pytest.raises(LockUnknown, match=type(error).__name__):
        lock.acquire(1.0) if call == "acquire" else lock.release()


def test_a_timeout_is_a_refusal_and_any_other_error_is_the_objects_own():
    lock = adapted(service_objects.Asked)
    assert lock.acquire(1.0)
    lock.own.error = TimeoutError()
    assert lock.acquire(1.0) is False
    lock.own.error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        lock.acquire(1.0)


def test_an_error_of_the_constructor_leaves_the_outcome_unknown():
    lock = adapted(service_objects.Unreachable)
    with pytest.raises(LockUnknown, match="ConnectionRefusedError"):
        lock.acquire(1.0)
    assert not lock.held
    lock.close()


def test_a_semaphore_gets_its_permits_and_an_election_runs_its_function():
    semaphore = adapted(service_objects.Permits, "semaphore", 2)
    assert semaphore.acquire(1.0)
    assert semaphore.own.permits == 2
    election = adapted(service_objects.Runs, "election")
    assert election.campaign(5.0)
    assert election.leading
    election.resign()
    assert not election.leading


def test_what_is_left_and_the_end_are_the_objects():
    lock = adapted(service_objects.Leaves)
    assert lock.acquire(1.0)
    assert lock.left() == ["row 7"]
    lock.close()
    assert lock.own.closed
    assert "orphan-node" in lock.promises.prevents
    plain = adapted(service_objects.Asked)
    assert plain.acquire(1.0)
    assert plain.left() == []
    assert "orphan-node" not in plain.promises.prevents
    plain.close()


def test_what_nobody_sees_is_left_out_of_declared_promises_too():
    prevents = adapted(service_objects.Declared, promised=["belief", "timeouts"]).promises.prevents
    assert {"split-brain", "stale-action", "overdue-call", "early-timeout"} <= prevents
    assert not prevents & {"double-grant", "unbelieving-holder", "unaware-holder", "unfair-grant"}
