"""The configurations that a server reads after a crash at any point."""

import random

import pytest

from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.zookeeper.quorum.configuration_files import NEXT, ConfigurationFiles
from rumpus.simulation.zookeeper.quorum.quorum_verifier import JointVerifier, QuorumVerifier
from rumpus.simulation.zookeeper.settings import Member
from rumpus.simulation.zookeeper.startup_errors import StartupRefused

STATIC = QuorumVerifier([Member(1, "n1"), Member(2, "n2"), Member(3, "n3")])
FIRST = QuorumVerifier([Member(1, "n1"), Member(2, "n2")], 0x100000005)
SECOND_ONE = QuorumVerifier([Member(2, "n2"), Member(4, "n4", role="observer")], 0x20000001A)


class Server:
    def __init__(self):
        self.simulator = Simulator(1)
        self.process = self.simulator.process("n1")
        self.disk = Disk(self.simulator, "n1")
        self.files = ConfigurationFiles(self.disk)
        self.done = []

    def write(self, kind, verifier):
        getattr(self.files, f"write_{kind}")(verifier, self.process, self.done.append)

    def settle(self):
        self.simulator.run(self.simulator.now + SECOND)

    def known(self):
        current, seen = ConfigurationFiles(self.disk).load(STATIC)
        return current.text(), seen.text()


@pytest.fixture
def server():
    return Server()


def test_a_new_server_has_what_the_operator_wrote(server):
    assert server.files.load(STATIC) == (STATIC, STATIC)


def test_a_proposed_configuration_is_seen_and_not_in_force(server):
    server.write("next", FIRST)
    server.settle()
    assert server.known() == (STATIC.text(), FIRST.text())
    assert server.disk.read(NEXT).decode() == FIRST.text()


def test_a_committed_one_replaces_it(server):
    server.write("next", FIRST)
    server.write("current", FIRST)
    server.settle()
    assert server.done == [None, None]
    assert server.known() == (FIRST.text(), FIRST.text())
    assert server.disk.list("zoo.cfg") == ["zoo.cfg.dynamic.100000005"]
    assert b"version" not in server.disk.read("zoo.cfg.dynamic.100000005")


def test_a_newer_proposal_stays(server):
    server.write("next", SECOND_ONE)
    server.write("current", FIRST)
    server.settle()
    assert server.known() == (FIRST.text(), SECOND_ONE.text())


def test_the_newest_is_in_force(server):
    for verifier in (SECOND_ONE, FIRST):
        server.write("current", verifier)
    server.settle()
    assert server.known() == (SECOND_ONE.text(), SECOND_ONE.text())


def test_what_was_reported_survives_a_power_failure_and_nothing_is_torn():
    outcomes = set()
    for seed in range(40):
        server = Server()
        server.write("next", FIRST)
        server.write("current", FIRST)
        server.write("next", SECOND_ONE)
        server.simulator.run(seed * 60_000)
        server.process.kill()
        server.disk.crash(random.Random(seed))
        current, seen = server.known()
        count = len(server.done)
        assert seen != STATIC.text() or count < 1
        assert current == FIRST.text() or count < 2
        assert seen == SECOND_ONE.text() or count < 3
        outcomes.add((current, seen))
    assert len(outcomes) == 4


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (NEXT, b"server.1=n1:1:2;3"),
        (NEXT, b"nonsense\nversion=5"),
        ("zoo.cfg.dynamic.5", b"server.1=n1"),
        ("zoo.cfg.dynamic.old", b""),
    ],
)
def test_files_that_make_no_sense_keep_a_server_from_starting(server, path, text):
    server.disk.write_whole(path, text)
    with pytest.raises(StartupRefused, match=r"zoo\.cfg"):
        server.known()


def test_a_disk_that_fails_is_told_of(server):
    server.disk.fail_sync()
    server.write("next", FIRST)
    server.settle()
    assert isinstance(server.done[0], OSError)


def test_two_configurations_need_two_quorums():
    joint = JointVerifier(STATIC, QuorumVerifier([Member(n, f"n{n}") for n in (3, 4, 5)], 7))
    assert list(joint.voters) == [3, 4, 5, 1, 2]
    assert joint.contains_quorum([1, 3, 4])
    assert not joint.contains_quorum([1, 2, 3])
    assert not joint.contains_quorum([3, 4, 5])
    assert joint.is_quorum(0b11010)
    assert not joint.is_quorum(0b01110)
    assert not joint.is_quorum(0b111000)
