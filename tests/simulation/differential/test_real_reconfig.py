"""A real ensemble and a simulated one answer the same requests to change their members alike.

What differs by nature is made comparable: versions of configurations (zxids) become numbers in
the order of their appearance, and who leads is called "leader".
"""

import os
import re
from collections.abc import Iterator

import pytest

from rumpus.conformance import operations as op
from rumpus.conformance.raw_client import Closed, RawClient, Silence
from rumpus.conformance.visit import Visit
from tests.conformance.docker_deployment import DockerDeployment
from tests.conformance.simulated_deployment import SimulatedDeployment

CONFIG = "/zookeeper/config"
TICK_MS = 500
PATIENCE_S = 40
MEMBERS = ("n1", "n2", "n3")


class Docker(DockerDeployment):
    """Real servers whose configuration files allow reconfiguration; of n4 only its own knows."""

    def __init__(self) -> None:
        super().__init__(4, tick_ms=TICK_MS, properties={"skipACL": "yes"})
        self.nodes = MEMBERS

    def _environment(self, name: str) -> dict[str, str]:
        known = [line(number) for number in (1, 2, 3)]
        if name == "n4":
            known.append(line(4, "observer"))
        return super()._environment(name) | {
            "ZOO_SERVERS": " ".join(known),
            "ZOO_CFG_EXTRA": "reconfigEnabled=true",
        }

    def add(self) -> None:
        """Start n4."""
        self.start(["n4"])


class Simulated(SimulatedDeployment):
    """The same, simulated."""

    def __init__(self) -> None:
        properties = {"skipACL": "yes", "reconfigEnabled": "true"}
        super().__init__(3, tick_ms=TICK_MS, properties=properties)

    def add(self) -> None:
        """Start n4."""
        self.start([self.cluster.add("observer").host])


def line(number: int, role: str = "participant", client: str = "2181") -> str:
    return f"server.{number}=n{number}:2888:3888:{role};{client}"


REFUSED = [
    {"joining": "nonsense"},
    {"joining": "nonsense", "version": 7},
    {"leaving": "1", "version": 7},
    {"leaving": "1", "version": -2},
    {"leaving": "1,2"},
    {"leaving": "one"},
    {"leaving": "-1,1,2,"},
    {"leaving": "1, 2"},
    {"new_members": ""},
    {"new_members": line(1)},
    {"new_members": "server.1=n1:2888:3888:leader;2181"},
    {"joining": "server.4=n4:2888:3888:participant"},
    {"joining": "server.4=n4:2888;2181"},
    {"joining": "server.4=n4:2888:3888:participant;x"},
    {"joining": "server.x=n4:2888:3888:participant;2181"},
    {"joining": "4=n4:2888:3888:participant;2181", "leaving": "1,2"},
    {"joining": "server.4=n4:2888:3888:Observer;2181", "leaving": " 1 , 2 "},
    {"joining": "", "leaving": "1,2"},
    {"joining": "server.4=", "leaving": "1,2"},
    {"new_members": "server.x=n4:2888:3888:participant;2181"},
    {"new_members": "nonsense"},
    {"joining": "server.4=n1:2888:3888:participant;2181"},
    {"joining": "server.4=n1:3888:4888:participant;2181"},
    {"joining": "server.4=n4:2888:2888:participant;2181"},
    {"joining": line(4, "leader")},
    {"joining": f"{line(4)},{line(5)}", "leaving": "1"},
    {"new_members": f"{line(3)},{line(4)},{line(5)}"},
    {"new_members": "server.7=n7:1:2;3\nserver.8=n8:1:2;3\nversion=5"},
]


class Conversation:
    """Asks servers for changes, and notes what can be compared."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.versions: dict[str, int] = {}
        self.names: dict[str, str] = {}
        self.notes: list[object] = []

    def mode(self, node: str) -> str:
        try:
            found = re.search(r"Mode: (\w+)", self.visit.word("srvr", node))
        except (OSError, Closed, Silence):
            return "silent"
        return "none" if found is None else found[1]

    def wait_for(self, modes: dict[str, str]) -> None:
        """Until servers have these modes for a while."""
        clock = self.visit.clock
        deadline = clock.now() + PATIENCE_S
        seen: dict[str, str] = {}
        calm = 0
        while calm < 3:
            assert clock.now() < deadline, f"{seen} instead of {modes}"
            clock.sleep(0.3)
            seen = {node: self.mode(node) for node in modes}
            calm = calm + 1 if seen == modes else 0

    def session(self, node: str) -> RawClient:
        deadline = self.visit.clock.now() + PATIENCE_S
        while True:
            try:
                return self.visit.session(node)
            except (OSError, Closed, Silence):
                assert self.visit.clock.now() < deadline
                self.visit.clock.sleep(0.2)

    def text(self, data: bytes) -> str:
        """A configuration in which versions are numbered."""
        text, _, version = data.decode().rpartition("=")
        return f"{text}={self.versions.setdefault(version, len(self.versions))}"

    def read(self, node: str) -> None:
        data, stat = self.session(node).call(op.get_data(CONFIG)).value
        version = int(data.decode().rpartition("=")[2], 16)
        same = (stat.mzxid == version, stat.version, stat.cversion, stat.aversion, stat.czxid)
        self.notes.append((self.text(data), same, stat.data_length - len(data)))

    def change(
        self, client: RawClient, joining: str | None = None, leaving: str | None = None
    ) -> None:
        reply = client.call(op.reconfig(joining, leaving))
        assert reply.error == 0, reply.error
        data, stat = reply.value
        version = int(data.decode().rpartition("=")[2], 16)
        self.notes.append((self.text(data), reply.zxid == stat.mzxid == version, stat.version))


def converse(visit: Visit) -> Iterator[object]:
    talk = Conversation(visit)
    visit.deployment.start(["n2", "n3"])
    talk.wait_for({"n2": "follower", "n3": "leader"})
    visit.deployment.start(["n1"])
    talk.wait_for({"n1": "follower", "n2": "follower", "n3": "leader"})
    for node in ("n1", "n2", "n3"):
        talk.read(node)
    for node in ("n1", "n3"):
        client = talk.session(node)
        for request in REFUSED:
            yield request, node, client.call(op.reconfig(**request)).error
    client = talk.session("n3")
    for node in ("n1", "n2"):
        visit.deployment.pause(node)
    for leaving in ("98", "99"):
        client.send(op.reconfig(leaving=leaving))
    visit.clock.sleep(0.3)
    for node in ("n1", "n2"):
        visit.deployment.resume(node)
    yield "one at a time", [client.receive().error for _ in range(2)]
    watching = [talk.session(node) for node in ("n1", "n3")]
    once = [talk.session(node) for node in ("n1", "n3")]
    for client in watching:
        client.call(op.add_watch(CONFIG, 0))
    for client in once:
        client.call(op.get_data(CONFIG, watch=True))
    client = talk.session("n1")
    talk.change(client, leaving="99")
    talk.change(client, joining=line(2, "observer"))
    talk.wait_for({"n1": "follower", "n2": "observer", "n3": "leader"})
    talk.read("n2")
    for client in (*watching, *once):
        reply = client.call(op.exists("/"))
        yield "events", [(event.type, event.path) for event in reply.events]
    client = talk.session("n1")
    talk.change(client, joining=line(2))
    talk.wait_for({"n1": "follower", "n2": "follower", "n3": "leader"})
    client = talk.session("n3")
    talk.change(client, leaving="1")
    talk.wait_for({"n1": "follower", "n2": "follower", "n3": "leader"})
    talk.read("n1")
    yield "a server without a vote writes", talk.session("n1").call(op.create("/a", b"")).error
    talk.change(client, joining=line(1))
    talk.change(client, leaving="3")  # its followers may hang up before they answer
    talk.wait_for({"n3": "follower"})
    yield "leaders", sorted(talk.mode(node) for node in ("n1", "n2"))
    for node in ("n1", "n2", "n3"):
        talk.read(node)
        yield "write", node, talk.session(node).call(op.create(f"/{node}", b"")).error
    visit.deployment.add()
    talk.wait_for({"n4": "follower"})
    talk.read("n4")
    client = talk.session("n1")
    talk.change(client, joining=line(4, "observer"))
    talk.wait_for({"n4": "observer"})
    talk.change(client, joining=line(4))
    talk.wait_for({"n4": "follower"})
    talk.read("n4")
    yield "write", "n4", talk.session("n4").call(op.create("/n4", b"")).error
    yield from talk.notes


def hold(deployment: Docker | Simulated) -> list[object]:
    visit = Visit(deployment)
    try:
        return list(converse(visit))
    finally:
        visit.end()
        deployment.tear_down()


def test_the_simulated_ensemble_changes_its_members():
    notes = hold(Simulated())
    errors = {note[2] for note in notes if note[0] in REFUSED}
    assert errors == {-5, -8, -13, -103}
    assert ("one at a time", [0, -14]) in notes
    assert ("leaders", ["follower", "leader"]) in notes


@pytest.mark.skipif("RUMPUS_FULL_CHECKS" not in os.environ, reason="make test-full runs it")
@pytest.mark.docker
@pytest.mark.timeout(300)
def test_the_real_ensemble_answers_alike():
    assert hold(Simulated()) == hold(Docker())
