"""A client that changes an ensemble's members at random, while other faults occur."""

import struct

from rumpus.conformance import operations as op
from rumpus.simulation.zookeeper.settings import Member
from tests.simulation.zookeeper.chaos import PATIENCE, ChaosClient, ChaosWorld

REFUSALS = (0, -8, -13, -14)
PAUSE = 700_000_000
FEWEST_VOTERS = 3
"""Of two, one whose proposal came to nothing would not find back (see test_reconfig)."""


class Operator(ChaosClient):
    """Lets servers leave, join, and change their roles.

    Attributes:
        outcomes: how often each error code was answered.
    """

    pause = 2 * PAUSE

    def __init__(self, world, number):
        self.outcomes = {}
        super().__init__(world, number)

    def answered(self, _xid, _zxid, error):
        assert error in REFUSALS, error
        self.outcomes[error] = self.outcomes.get(error, 0) + 1

    def ask(self, life):
        if life != self.life or self.stopped:
            return
        self.xid = len(self.asked) + 1
        operation = self.change()
        self.asked.append(operation)
        body = struct.pack(">ii", self.xid, operation.code) + operation.body
        self.transport.write(struct.pack(">i", len(body)) + body)
        self.process.call_later(PATIENCE, self.unanswered, self.life, self.xid)

    def change(self):
        cluster = self.world.cluster
        choose = self.choose
        members = {member.host: member for member in cluster.members()}
        voters = [node for node in members if members[node].role == "participant"]
        number = choose.randrange(len(cluster.nodes)) + 1
        node = f"n{number}"
        if node in voters and len(voters) <= FEWEST_VOTERS:
            return op.reconfig(leaving="99")
        if node in members and choose.random() < 0.5:
            return op.reconfig(leaving=str(number))
        role = choose.choice(["participant", "participant", "observer"])
        return op.reconfig(joining=str(Member(number, node, role=role)))


class MembershipChaosWorld(ChaosWorld):
    """Servers of which some are members at first, all in the end."""

    def __init__(self, seed, count, newcomers, **how):
        super().__init__(seed, count, reconfig=True, skip_acl=True, **how)
        for _ in range(newcomers):
            self.start(self.cluster.add().host)
        self.run(3)
        for node in self.cluster.nodes[count:]:
            first = self.cluster.disks[node].open("version-2/snapshot.0")
            first.sync(self.cluster.programs[node].process, lambda _: None)
        self.run(0.1)
        self.operator = Operator(self, 99)

    def settle(self):
        self.operator.stopped = True
        super().settle()


def run(seed, count=4, newcomers=2, seconds=60, **how):
    """One round of chaos, from the start until all servers agree on the tree and the members."""
    world = MembershipChaosWorld(seed, count, newcomers, **how)
    try:
        world.hurt_and_recover(seconds, 300)
        world.wait_until_all_serve(300)
        world.check()
        versions = {program.peer.verifier.version for program in world.cluster.programs.values()}
        assert len(versions) == 1, versions
        return world
    finally:
        world.simulator.close()
