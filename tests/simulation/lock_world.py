"""A small world in which kazoo's clients contend for a lock while servers fail."""

from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.loader.guards import guarded
from rumpus.simulation.loader.space import Space
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster

CLIENTS = 3


def digest_of_a_world(seed, mode, seconds=4):
    simulator = Simulator(seed)
    simulator.preempt(mode)
    network = Network(simulator)
    cluster = Cluster(simulator, network, 3, tick_time=500)
    cluster.start()
    cycles = []
    for number in range(CLIENTS):
        _start_client(simulator, network, cluster, number, cycles)
    random = simulator.random("faults")

    def strike(_):
        node = random.choice(cluster.nodes)
        if random.random() < 0.5:
            cluster.kill(node)
            simulator.call_after(SECOND, lambda _: cluster.restart(node))
        else:
            cluster.pause(node)
            simulator.call_after(SECOND, lambda _: cluster.resume(node))
        simulator.call_after(2 * SECOND, strike)

    simulator.call_after(2 * SECOND, strike)
    with guarded(simulator):
        simulator.run(seconds * SECOND)
    assert simulator.failures == []
    assert len(cycles) > 10
    digest = simulator.digest()
    simulator.close()
    return digest


def _start_client(simulator, network, cluster, number, cycles):
    process = simulator.process(f"c{number}")
    space = Space(process, network)
    process.is_traced = space.is_private_file

    def main():
        zookeeper = space.load("kazoo.client").KazooClient(
            ",".join(f"{host}:{port}" for host, port in cluster.addresses),
            timeout=2.0,
            connection_retry={"max_tries": -1, "delay": 0.05, "max_delay": 0.5},
        )
        zookeeper.start(timeout=30)
        exceptions = space.load("kazoo.exceptions")
        time, uuid = space.load("time"), space.load("uuid")
        lock = zookeeper.Lock("/lock", f"{number} {uuid.uuid4()}")
        while True:
            try:
                if lock.acquire(timeout=3):
                    time.sleep(0.02)
                    lock.release()
                    cycles.append(number)
            except (exceptions.KazooException, exceptions.LockTimeout):
                time.sleep(0.1)

    process.spawn(main, "main")
