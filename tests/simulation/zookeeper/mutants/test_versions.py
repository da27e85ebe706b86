import pytest

from rumpus.conformance import operations as op
from rumpus.simulation.zookeeper.wire.error_codes import BAD_VERSION

CHECKED = {
    "unversioned-delete": op.delete("/k", 7),
    "unversioned-acl": op.set_acl("/k", op.OPEN, 7),
    "unversioned-check": op.multi([op.check("/k", 7)]),
    "": op.set_data("/k", b"", 7),
}


@pytest.mark.parametrize("name", [name for name in CHECKED if name])
def test_one_kind_of_request_is_not_compared(standalone, faulty, name):
    client = standalone(name).session()
    client.call(op.create("/k"))
    for kind, request in CHECKED.items():
        if kind != name:
            assert error_of(client.call(request)) == BAD_VERSION
    assert error_of(client.call(CHECKED[name])) == (0 if faulty else BAD_VERSION)


def error_of(reply):
    return reply.value[0].error if isinstance(reply.value, list) else reply.error


def test_two_writes_that_expect_one_version_at_the_same_time(ensemble, faulty):
    client = ensemble("versions-of-applied").session("n1")
    client.call(op.create("/k"))
    client.send(op.set_data("/k", b"a", 0))
    client.send(op.set_data("/k", b"b", 0))
    assert client.receive().error == 0
    assert client.receive().error == (0 if faulty else BAD_VERSION)
    assert client.call(op.set_data("/k", b"c", 0)).error == BAD_VERSION


def test_a_version_that_grows_by_two(standalone, faulty):
    client = standalone("skipped-versions").session()
    client.call(op.create("/k"))
    versions = [client.call(op.set_data("/k", b"")).value.version for _ in range(40)]
    assert versions[:19] == list(range(1, 20))
    assert versions[19:39] == list(range(21, 41) if faulty else range(20, 40))
    assert versions[39] == (42 if faulty else 40)
    assert client.call(op.get_data("/k")).value[1].version == versions[39]
