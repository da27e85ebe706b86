"""``rumpus sim-server``: simulated ZooKeeper servers that real clients can talk to."""

import argparse
import time

from rumpus.consoles import answers, notices
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.simulation.kernel.clock import EPOCH
from rumpus.simulation.kernel.simulator import MILLISECOND, Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.real_sockets import RealSockets
from rumpus.simulation.zookeeper.cluster import Cluster
from rumpus.usage_error import UsageError

LOOK_AGAIN = 100 * MILLISECOND
HIGHEST_PORT = 65535


def sim_server_command(arguments: argparse.Namespace) -> int:
    """Serve until interrupted; the connection string is printed once all servers serve.

    Raises:
        UsageError: the last server's port would be above `HIGHEST_PORT`.
        EnvironmentRefusal: a port cannot be opened.
    """
    count = arguments.nodes + arguments.observers
    first = arguments.port
    if first + count - 1 > HIGHEST_PORT:
        raise UsageError(
            f"{count} ports from {first} on would end above {HIGHEST_PORT}; choose a lower --port"
        )
    simulator = Simulator(arguments.seed)
    try:
        network = Network(simulator)
        cluster = Cluster(simulator, network, arguments.nodes, observers=arguments.observers)
        ports = [first and first + number for number in range(count)]
        try:
            server = RealSockets(simulator, network, cluster.addresses, ports)
        except OSError as error:
            raise EnvironmentRefusal(
                f"port {error.filename} cannot be had: {error.strerror}; end what uses it, or "
                "choose others with --port N (0: any free ones)"
            ) from error
        try:
            _serve(server, cluster)
        finally:
            server.close()
    finally:
        simulator.close()
    return 0


def _serve(server: RealSockets, cluster: Cluster) -> None:
    cluster.start()
    for program in cluster.programs.values():
        if program.process is not None:  # znodes get times of the real clock
            program.process.clock.step(time.time_ns() - EPOCH)

    def announce() -> None:
        if all(cluster.serves(node) for node in cluster.nodes):
            answers().print(server.hosts, markup=False, highlight=False, soft_wrap=True)
            notices().print("Ctrl-C ends it", highlight=False)
        else:
            server.outside.call_later(LOOK_AGAIN, announce)

    announce()
    try:
        server.run()
    except KeyboardInterrupt:
        notices().print("ended", highlight=False)
