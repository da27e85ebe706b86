import pytest

from rumpus.conformance import operations as op
from rumpus.simulation.zookeeper.wire.error_codes import NO_NODE


@pytest.mark.parametrize(
    ("name", "gone"),
    [("eager-containers", "/unused"), ("full-containers", "/full"), ("ignored-ttl", "/long")],
)
def test_what_servers_remove(standalone, faulty, name, gone):
    world = standalone(name, container_check_interval=1000, extended_types=True)
    client = world.session()
    for path in ("/used", "/unused", "/full"):
        client.call(op.create_container(path))
    for path in ("/used/c", "/full/c"):
        client.call(op.create(path))
    client.call(op.delete("/used/c"))
    for path, ttl in (("/short", 100), ("/long", 1_000_000)):
        assert client.call(op.create_ttl(path, ttl)).error == 0
    world.run_for(3000)
    paths = ("/used", "/unused", "/full", "/short", "/long")
    missing = [path for path in paths if client.call(op.exists(path)).error == NO_NODE]
    assert missing == [
        path for path in paths if path in ("/used", "/short") or (faulty and path == gone)
    ]
    assert client.close_session().error == 0
