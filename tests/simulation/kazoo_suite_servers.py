"""A pytest plugin for kazoo's own tests: its servers are simulated ones, in this process.

Loaded with ``-p`` in the run of `tests.simulation.test_kazoo_suite`, and nowhere else.
"""

import os
import sys
import types
from importlib import import_module
from queue import SimpleQueue

import pytest

from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.real_sockets import LOOPBACK, serve_in_thread
from rumpus.simulation.zookeeper.cluster import Cluster
from rumpus.simulation.zookeeper.serving import four_letter_words

PASSWORD_TEST = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="
"""The super user's password is "test", as kazoo's harness has it."""

# kazoo.testing.common needs them for certificates, which simulated servers have none of.
for name in ("OpenSSL", "jks"):
    sys.modules.setdefault(name, types.ModuleType(name))


class OneServer:
    """What kazoo's tests do with one server."""

    def __init__(self, ensemble, node, port):
        self._ensemble = ensemble
        self._node = node
        self.address = self.secure_address = f"{LOOPBACK}:{port}"
        self.client_port = port

    @property
    def running(self):
        return self._ensemble.ask(lambda cluster: cluster.running(self._node))

    def run(self):
        self._ensemble.ask(lambda cluster: cluster.start([self._node]))

    def stop(self):
        self._ensemble.ask(lambda cluster: cluster.kill(self._node))


class Servers:
    """A `kazoo.testing.common.ZookeeperCluster` of three simulated servers."""

    def __init__(self):
        def build():
            simulator = Simulator(1)
            network = Network(simulator)
            self._cluster = Cluster(
                simulator,
                network,
                3,
                init_limit=4,
                sync_limit=2,
                max_client_connections=0,
                four_letter_words=frozenset(map(bytes.decode, four_letter_words.WORDS)),
                read_only_mode=True,
                reconfig=True,
                super_digest=PASSWORD_TEST,
            )
            self._cluster.start()
            return simulator, network, self._cluster.addresses

        self._serving = serve_in_thread(build)
        self._sockets = self._serving.__enter__()
        self._servers = [
            OneServer(self, node, port)
            for node, port in zip(self._cluster.nodes, self._sockets.ports, strict=True)
        ]

    def __getitem__(self, number):
        return self._servers[number]

    def __iter__(self):
        return iter(self._servers)

    def ask(self, question):
        """Have something done in the servers' thread."""
        answer = SimpleQueue()
        self._sockets.call(lambda: answer.put(question(self._cluster)))
        return answer.get(timeout=20)

    def start(self):
        self.ask(lambda cluster: cluster.start())

    def terminate(self):
        """After every class of tests; the servers stay for the next one."""

    def close(self):
        self._serving.__exit__(None, None, None)

    def get_logs(self):
        return []

    def get_ssl_client_configuration(self):
        pytest.skip("simulated servers know no TLS")


def pytest_sessionstart(session):
    session.config.servers = servers = Servers()

    def get_global_cluster():
        if os.environ.get("ZOOKEEPER_JAAS_AUTH"):
            pytest.skip("simulated servers know no SASL")
        return servers

    import_module("kazoo.testing.harness").get_global_cluster = get_global_cluster


def pytest_sessionfinish(session):
    session.config.servers.close()
