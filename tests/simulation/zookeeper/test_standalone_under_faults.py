"""Random clients of a server that is killed, frozen, cut off, and loses power."""

from random import Random

from rumpus.conformance import operations as op
from tests.sampling import sampled
from tests.simulation.zookeeper.conversation import in_trouble
from tests.simulation.zookeeper.raw_client import CLIENT_HOST, World

SEEDS = 25
ROUNDS = 40


def trouble(world, random):
    cluster, network = world.cluster, world.network
    kind = random.choice(["kill", "power", "pause", "cut", "fragment", "reset", "heal", "none"])
    if kind == "kill":
        cluster.kill("n1")
    elif kind == "power":
        cluster.power_off("n1")
    elif kind == "pause":
        cluster.pause("n1")
        world.run_for(random.randrange(3000))
        cluster.resume("n1")
    elif kind == "cut":
        network.cut(*random.choice([("n1", CLIENT_HOST), (CLIENT_HOST, "n1")]))
        world.run_for(random.randrange(3000))
        network.heal()
    elif kind == "fragment":
        network.fragment(CLIENT_HOST, "n1", 0.7)
    elif kind == "reset":
        network.reset("n1", CLIENT_HOST)
    elif kind == "heal":
        network.heal()
    if not cluster.running("n1"):
        world.run_for(random.randrange(3000))
        cluster.start()
        assert cluster.running("n1"), cluster.exit_reason("n1")


def run(seed, *, lying=False):
    """Returns the names whose creation was answered, those that are there in the end, a world."""
    world = World(seed=seed, tick_time=500)
    world.start()
    if lying:
        world.run_for(10_000)
        world.cluster.disks["n1"].lie()
    talks = in_trouble(world, 3, Random(seed), rounds=ROUNDS, pause=2_000_000, trouble=trouble)
    world.network.heal()
    world.run_for(30_000)
    children = world.session().call(op.get_children("/")).value
    return [talk.acknowledged for talk in talks], children, world


@sampled("seed", range(SEEDS), of=5)
def test_nothing_acknowledged_is_lost_and_no_client_goes_back_in_time(seed):
    acknowledged, children, world = run(seed)
    for names in acknowledged:
        assert len(names) > ROUNDS / 4
        assert set(names) <= set(children)
    assert not [name for name in children if name.startswith("s-")], "their sessions are over"
    server = world.cluster.programs["n1"].server
    assert server.database.tree.ephemerals == {}
    assert server.in_process == 0
    assert list(server.connection_of) == [connection.session for connection in server.connections]
    world.tear_down()


def test_a_disk_that_lies_loses_what_was_acknowledged():
    lost = 0
    for seed in range(4):
        acknowledged, children, world = run(seed, lying=True)
        lost += any(not set(names) <= set(children) for names in acknowledged)
        world.tear_down()
    assert lost
