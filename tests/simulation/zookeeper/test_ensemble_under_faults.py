"""Random clients of three servers that are killed, frozen, cut off, and lose power."""

from random import Random

from rumpus.conformance import operations as op
from tests.sampling import sampled
from tests.simulation.zookeeper.conversation import in_trouble
from tests.simulation.zookeeper.raw_client import CLIENT_HOST, World

SEEDS = 20
ROUNDS = 40
TROUBLES = ("kill", "power", "pause", "cut", "part", "reset", "heal", "none", "resume", "start")


def trouble(world, random):
    cluster, network = world.cluster, world.network
    kind, node = random.choice(TROUBLES), random.choice(world.nodes)
    others = [other for other in world.nodes if other != node]
    up = [each for each in world.nodes if cluster.running(each) and not cluster.paused(each)]
    if kind == "cut":
        network.cut(node, random.choice([*others, CLIENT_HOST]))
    elif kind == "part":
        network.partition({node: frozenset(others)} | {x: frozenset({node}) for x in others})
    elif kind == "reset":
        network.reset(node, CLIENT_HOST)
    elif kind == "heal":
        network.heal()
    elif kind == "resume":
        for each in world.nodes:
            cluster.resume(each)
    elif kind == "start":
        cluster.start()
    elif kind != "none" and len(up) > 1:
        faults = {"kill": cluster.kill, "power": cluster.power_off, "pause": cluster.pause}
        faults[kind](node)
    world.run_for(random.randrange(1500))


def end_troubles(world):
    world.network.heal()
    for node in world.nodes:
        world.cluster.resume(node)
    world.cluster.start()
    for node in world.nodes:
        assert world.cluster.running(node), world.cluster.exit_reason(node)
    world.run_for(10_000)  # an old leader that was paused finds out
    # A server that has looked for a leader in vain asks again after a minute at most.
    for _ in range(150):
        if all(world.cluster.serves(node) for node in world.nodes):
            return
        world.run_for(1000)
    raise AssertionError({node: world.cluster.mode(node) for node in world.nodes})


def run(seed):
    world = World(3, seed=seed, tick_time=500)
    world.start()
    talks = in_trouble(world, 4, Random(seed), rounds=ROUNDS, pause=3_000_000, trouble=trouble)
    end_troubles(world)
    world.run_for(10_000)
    return talks, world


@sampled("seed", range(SEEDS), of=5)
def test_what_was_acknowledged_is_everywhere_and_all_servers_agree(seed):
    talks, world = run(seed)
    for node in world.nodes:
        client = world.session(node)
        assert client.call(op.sync("/")).error == 0
        children = set(client.call(op.get_children("/")).value)
        for talk in talks:
            assert set(talk.acknowledged) <= children
        assert not [name for name in children if name.startswith("s-")], "their sessions are over"
    world.run_for(1000)
    servers = [program.server for program in world.cluster.programs.values()]
    assert len({server.database.tree.digest() for server in servers}) == 1
    for server in servers:
        assert server.in_process == 0
        assert [each.session for each in server.connections] == list(server.connection_of)
    assert any(talk.sessions for talk in talks)
    world.tear_down()


def test_the_same_seed_gives_the_same_troubles():
    digests = []
    for _ in range(2):
        _, world = run(3)
        digests.append(world.simulator.digest())
        world.tear_down()
    assert digests[0] == digests[1]
