import pytest

from rumpus.recipes.registry.catalogue import REGISTRIES
from rumpus.recipes.registry.service_registry import RegistrationUnknown, ServiceRegistry
from rumpus.recipes.requests.session import Unanswered

# The bare variants of kazoo's recipes repair nothing and promise less.
SOUND = [
    name for name, recipe in REGISTRIES.items() if not recipe.faulty and not name.endswith("bare")
]


@pytest.mark.parametrize("name", SOUND)
def test_who_registers_is_discovered_and_watched_until_he_leaves(crowd, path, name, eventually):
    one, two = (REGISTRIES[name].recipe(crowd[number], path) for number in (0, 1))
    crowd.bystander.ensure_path(path)
    watched = two.watch()
    one.register("host:1", timeout=20)
    two.register("host:2", timeout=20)
    assert two.address == "host:2"
    assert ServiceRegistry(crowd[2], path).discover(timeout=20) == ["host:1", "host:2"]
    eventually(lambda: watched.addresses == ["host:1", "host:2"])
    one.deregister(timeout=20)
    assert ServiceRegistry(crowd[2], path).discover(timeout=20) == ["host:2"]
    eventually(lambda: watched.addresses == ["host:2"])
    two.close()


def test_nobody_is_listed_where_there_is_no_folder(crowd, path):
    assert ServiceRegistry(crowd[0], path).discover(timeout=20) == []


def test_an_entry_comes_back_after_its_session_and_after_a_hand_has_removed_it(
    crowd, path, eventually
):
    registry = ServiceRegistry(crowd[0], path)
    registry.register("host:1", timeout=20)
    (first,) = crowd.children(path)
    crowd.expire(0)
    (second,) = eventually(lambda: set(crowd.children(path)) - {first})
    crowd.bystander.delete(f"{path}/{second}")
    eventually(lambda: set(crowd.children(path)) - {second})
    registry.register("host:1", timeout=20)
    assert registry.discover(timeout=20) == ["host:1"]
    registry.deregister(timeout=20)
    assert crowd.children(path) == []


def test_one_address_at_a_time(crowd, path):
    registry = ServiceRegistry(crowd[0], path)
    registry.register("host:1", timeout=20)
    with pytest.raises(ValueError, match="host:1 is registered"):
        registry.register("host:2", timeout=20)


def test_what_nobody_could_say_comes_true_by_itself(crowd, path, eventually):
    """The create was carried out, its reply was not: the node is found again, not made twice."""
    registry = ServiceRegistry(crowd[0], path)
    crowd.bystander.ensure_path(path)
    crowd[0].sync(path)  # its server may not have heard of the path yet
    assert crowd[0].exists(path)
    crowd.links.cut(0, "to-client")
    with pytest.raises(RegistrationUnknown):
        registry.register("host:1", timeout=0.3)
    with pytest.raises(Unanswered):
        registry.discover(timeout=0.3)
    (node,) = eventually(lambda: crowd.children(path))
    crowd.links.heal(0)
    registry.register("host:1", timeout=20)
    assert crowd.children(path) == [node]
    crowd.links.cut(0, "black-hole")
    with pytest.raises(RegistrationUnknown):
        registry.deregister(timeout=0.3)
    assert registry.address is None
    crowd.links.heal(0)
    registry.deregister(timeout=20)
    assert crowd.children(path) == []


def test_an_entry_that_a_lost_session_has_left_is_removed_by_the_next(crowd, path, eventually):
    """As after a deposed leader has told the client that a session which lives on has expired."""
    registry = ServiceRegistry(crowd[0], path)
    registry.register("host:1", timeout=20)
    (node,) = crowd.children(path)
    mark = node.partition("-")[0]
    crowd.expire(0)
    registry.register("host:1", timeout=20)
    left = f"{path}/{mark}-contender-0000000099"
    crowd.bystander.create(left)
    registry._registration._lost.append(mark)
    registry.deregister(timeout=20)
    assert eventually(lambda: crowd.children(path) == [])
