import pytest

from rumpus.recipes.double_barrier.lasting_watch import LastingWatch
from rumpus.recipes.requests.retrying_call import RetryingCall


@pytest.fixture
def call_lasting(crowd):
    return lambda timeout: RetryingCall(crowd[0], timeout, 5.0)


def test_it_fires_when_the_node_comes(crowd, path, call_lasting):
    with call_lasting(20) as call:
        watch = LastingWatch(crowd[0], path)
        assert watch.look(call) is None
        crowd.bystander.create(path, makepath=True)
        assert watch.wait(call)


def test_it_does_not_fire_by_itself(crowd, path, call_lasting):
    crowd.bystander.create(path, makepath=True)
    with call_lasting(0.3) as call:
        watch = LastingWatch(crowd[0], path)
        assert watch.look(call).version == 0
        assert not watch.wait(call)


def test_it_outlives_its_connection(crowd, path, call_lasting):
    """What happened in between is told; if nothing did the watch is there again."""
    crowd.bystander.create(path, makepath=True)
    with call_lasting(40) as call:
        changed, kept = LastingWatch(crowd[0], path), LastingWatch(crowd[0], f"{path}/later")
        assert changed.look(call).version == 0
        assert kept.look(call) is None
        crowd.links.cut(0, "reset")
        crowd.bystander.set(path, b"new")
        crowd.links.heal(0)
        assert call.rounds(lambda: changed.wait(call) or None)
        assert not call.rounds(lambda: (kept.fired(call),))[0]
        crowd.bystander.create(f"{path}/later")
        assert call.rounds(lambda: kept.wait(call) or None)
