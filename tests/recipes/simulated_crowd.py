"""A test of a crowd in a simulated world: the same code, on virtual time.

The test's module, the crowd, kazoo and the recipes are loaded anew for one simulated process, so
that their threads, sleeps and clocks are the world's. Each test has a world of its own.
"""

import gc
import inspect
import io
from contextlib import ExitStack, closing, contextmanager
from types import FunctionType

import msgspec

from rumpus.harness.simulated.links import SimLinks
from rumpus.harness.simulated.workers import PRIVATE, SHARED, client_host
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.loader.guards import guarded
from rumpus.simulation.loader.space import Space
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster
from tests.recipes.crowd import CLIENTS

SETTLING = 5 * SECOND
"""Within this time an ensemble has its leader."""

LONGEST = 900 * SECOND


class CrowdLinks:
    """The links of clients that live in one process, and so on one host.

    Each client knows the servers by names of its own, and has ``SimLinks`` of its own.
    """

    def __init__(self, simulator, network, cluster):
        self._links = []
        for client in range(CLIENTS):
            servers = {}
            for node, (host, port) in zip(cluster.nodes, cluster.addresses, strict=True):
                listener, name = network.listener((host, port)), f"{host}-of-{client}"
                network.listen(listener.process, port, listener.accept, name)
                servers[node] = (name, port)
            self._links.append(SimLinks(simulator, network, servers, clients=1))

    def hosts(self, client):
        return self._links[client].hosts(0)

    def cut(self, client, how, nodes=None):
        self._links[client].cut(0, how, nodes)

    def heal(self, client=None):
        for links in self._links if client is None else [self._links[client]]:
            links.heal()

    def refuse_session(self, session, how="lasting"):
        for links in self._links:
            links.refuse_session(session, how)

    def in_force(self, client):
        return self._links[client].in_force(0)

    def watch_events(self):
        """All that have passed, in the order of time."""
        events = [
            msgspec.structs.replace(event, client=client)
            for client, links in enumerate(self._links)
            for event in links.watch_events()
        ]
        return sorted(events, key=lambda event: event.time)


def play(module, test, given):
    """Run one test of a module.

    Args:
        module: its name.
        test: name of the test's function.
        given: values of its parameters.

    Raises:
        BaseException: what the test raised, or a thread that it started.
    """
    with settled_cluster() as (simulator, network, cluster):
        links = CrowdLinks(simulator, network, cluster)
        direct = ",".join(f"{host}:{port}" for host, port in cluster.addresses)
        process = simulator.process("test", client_host(0))
        space = Space(
            process,
            network,
            private=(*PRIVATE, "tests.recipes"),
            shared=SHARED,
            stderr=io.StringIO(),  # where kazoo logs to
        )

        def body():
            try:
                _play(space, module, test, given, direct, links)
            finally:
                simulator.stop()

        main = process.spawn(body, "main")
        with guarded(simulator):
            simulator.run(simulator.now + LONGEST)
        for _, _, error in simulator.failures:
            raise error
        assert main not in process.tasks, "the test has not come to its end"


@contextmanager
def settled_cluster():
    """A world with three servers that serve; no garbage is collected in it, as in runs."""
    gc.disable()
    simulator = Simulator(1)
    try:
        network = Network(simulator)
        cluster = Cluster(
            simulator,
            network,
            3,
            tick_time=500,  # as that of the real ones
            four_letter_words=frozenset({"srvr", "wchs"}),
        )
        cluster.start()
        simulator.run(SETTLING)
        assert all(map(cluster.serves, cluster.nodes))
        yield simulator, network, cluster
    finally:
        simulator.close()
        gc.enable()


def _play(space, module, test, given, direct, links):
    """In the world: make the fixtures that the test asks for, call it, and clean up."""
    crowds = space.load("tests.recipes.crowd")
    source = space.load(module)
    with ExitStack() as stack:
        made = {"path": "/recipes/contest", "eventually": crowds.eventually}
        made |= {name: _anew(space, value) for name, value in given.items()}

        def fixture(name):
            if name not in made:
                if name == "crowd":
                    made[name] = stack.enter_context(closing(crowds.Crowd(direct, links)))
                else:
                    made[name] = made_by(inspect.unwrap(getattr(source, name)))
            return made[name]

        def made_by(function):
            value = function(
                **{name: fixture(name) for name in inspect.signature(function).parameters}
            )
            if not inspect.isgenerator(value):
                return value
            stack.callback(lambda: next(value, None))
            return next(value)

        made_by(getattr(source, test))


def _anew(space, value):
    """A parameter as the world's own modules name it: classes and functions are theirs."""
    if isinstance(value, (list, tuple)):
        return type(value)(_anew(space, each) for each in value)
    if isinstance(value, (type, FunctionType)) and space.is_private(value.__module__):
        return getattr(space.load(value.__module__), value.__qualname__)
    return value
