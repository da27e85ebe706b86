import pytest

from rumpus.conformance import operations as op
from rumpus.conformance.raw_client import Closed
from rumpus.simulation.zookeeper.wire.error_codes import RECONFIG_DISABLED


def test_a_timeout_without_bounds(standalone, faulty):
    world = standalone("unbounded-timeouts")
    granted = [world.session(timeout_ms=wanted).timeout_ms for wanted in (3, 9_999, 999_999)]
    assert granted == ([3, 9_999, 999_999] if faulty else [4_000, 9_999, 40_000])


def reads(world, length):
    """Whether a setData of so many bytes of data is carried out."""
    client = world.session()
    try:
        return client.call(op.set_data("/", b"x" * length)).error == 0
    except Closed:
        return False


def test_a_request_of_any_length(standalone, faulty):
    world = standalone("requests-of-any-length")
    assert reads(world, 1_000_000)
    assert reads(world, 1_100_000) == faulty


def test_a_request_of_half_the_length(standalone, faulty):
    world = standalone("half-the-length")
    assert reads(world, 500_000)
    assert reads(world, 1_000_000) != faulty


def test_a_reconfig_that_is_disabled(ensemble, faulty):
    world = ensemble("open-reconfig")
    client = world.session("n1")
    reply = client.call(op.reconfig())
    assert reply.error == (0 if faulty else RECONFIG_DISABLED)
    assert client.call(op.create("/a")).error == 0


@pytest.mark.parametrize("permission", [op.READ, op.ALL])
def test_other_rights_are_asked_for_as_ever(ensemble, faulty, permission):
    client = ensemble("open-reconfig").session("n1")
    client.call(op.create("/a", acl=[op.Acl(permission, "world", "anyone")]))
    assert (client.call(op.set_data("/a", b"x")).error == 0) == (permission == op.ALL), faulty
