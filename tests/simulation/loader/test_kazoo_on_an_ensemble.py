"""Unmodified kazoo and its lock against simulated servers, through the loss of one of them."""

from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.loader.guards import guarded
from rumpus.simulation.loader.space import Space
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster


def contend(seed):
    simulator = Simulator(seed)
    network = Network(simulator)
    cluster = Cluster(simulator, network, 3)
    cluster.start()
    hosts = ",".join(f"{host}:{port}" for host, port in cluster.addresses)
    inside, most, held = [], [], []

    def main(space, number):
        client = space.load("kazoo.client").KazooClient(hosts)
        client.start(30)
        lock = client.Lock("/lock", str(number))
        for _ in range(5):
            with lock:
                inside.append(number)
                most.append(len(inside))
                space.load("time").sleep(0.5)
                inside.remove(number)
                held.append(number)
        client.stop()

    for number in range(3):
        space = Space(simulator.process(f"c{number}"), network)
        space.start(main, space, number)
    simulator.call_at(5 * SECOND, lambda _: cluster.kill(cluster.leader()))
    with guarded(simulator):
        simulator.run(120 * SECOND)
    digest, failures = simulator.digest(), simulator.failures
    simulator.close()
    return most, held, failures, digest


def test_a_lock_excludes_though_the_leader_dies():
    most, held, failures, digest = contend(1)
    assert failures == []
    assert most == [1] * 15
    assert sorted(held) == [0] * 5 + [1] * 5 + [2] * 5
    assert contend(1)[3] == digest
    assert contend(2)[3] != digest
