"""What an ensemble promises its clients whatever happens to its servers, tried under faults.

A few clients write in turn, each its own numbered znodes, while servers are killed, paused and cut
off. Then everything that was acknowledged must be there, on every server, in the order in which
each client wrote it; and no client may ever have been shown an older zxid than before. No
session ends earlier than its timeout after its client last asked what was answered.
"""

from random import Random

from rumpus.conformance import operations as op
from rumpus.conformance.raw_client import NO_PASSWORD, Closed, RawClient, Silence
from rumpus.conformance.visit import Visit, done

PATIENCE_S = 2.0
"""How long a client waits for a reply before it goes to another server."""
FAULTS = ("kill the leader", "pause a follower", "cut the leader off", "kill a follower")


class Writer:
    """A client that writes numbered znodes, wherever it is served.

    Attributes:
        acknowledged: number to zxid of what was acknowledged, in the order of the replies.
        unknown: numbers of writes that were never answered.
    """

    def __init__(self, visit: Visit, name: str, random: Random) -> None:
        self.name = name
        self.acknowledged: dict[int, int] = {}
        self.unknown: list[int] = []
        self._visit = visit
        self._random = random
        self._client = visit.session("n1")
        self._asked = visit.clock.now()
        self._number = 0
        self._seen = 0

    def path(self, number: int) -> str:
        return f"/{self.name}-{number:06}"

    def write(self) -> None:
        """Try one write; if the server does not answer, come back at another."""
        self._number += 1
        asked = self._visit.clock.now()
        try:
            self._client.send(op.create(self.path(self._number), flags=op.PERSISTENT))
            reply = self._client.receive(PATIENCE_S)
        except (Closed, Silence):
            self.unknown.append(self._number)
            self._come_back()
            return
        done(reply)
        self._see(reply.zxid, asked)
        self.acknowledged[self._number] = reply.zxid

    def _see(self, zxid: int, asked: float) -> None:
        assert zxid >= self._seen, f"{self.name} saw {self._seen:#x}, then {zxid:#x}"
        self._seen = zxid
        self._asked = asked

    def _come_back(self) -> None:
        old = self._client
        old.hang_up()

        session, password = old.session, old.password

        def attach() -> RawClient | None:
            nonlocal session, password
            node = self._random.choice(self._visit.deployment.nodes)
            try:
                client = self._visit.connect(node)
                client.ask_for_session(
                    20 * self._visit.tick_ms,
                    session=session,
                    password=password,
                    last_zxid=self._seen,
                )
                answer = client.receive_handshake(PATIENCE_S)
                if not answer.valid:
                    silence = self._visit.clock.now() - self._asked
                    assert silence > old.timeout_ms / 1000, f"{self.name} expired early"
                    session, password = 0, NO_PASSWORD
                    return None
                asked = self._visit.clock.now()
                self._see(client.call(op.ping()).zxid, asked)
            except (OSError, Closed, Silence):
                return None
            return client

        self._client = self._visit.until(attach, within=60.0)


def try_promises(visit: Visit, seed: int, faults: tuple[str, ...], writes: int) -> list[Writer]:
    """Write under faults, mend everything, and look whether the promises were kept.

    Raises:
        AssertionError: they were not.
    """
    random = Random(seed)
    deployment = visit.deployment
    nodes = deployment.nodes
    deployment.start()
    visit.await_service()
    writers = [Writer(visit, name, random) for name in "abc"]
    for fault in faults:
        write_all(writers, writes)
        leader = visit.leader()
        follower = random.choice([node for node in nodes if node != leader])
        if fault == "kill the leader":
            deployment.kill(leader)
        elif fault == "kill a follower":
            deployment.kill(follower)
        elif fault == "pause a follower":
            deployment.pause(follower)
        else:
            others = frozenset(nodes) - {leader}
            deployment.partition(
                {leader: others, **{node: frozenset([leader]) for node in sorted(others)}}
            )
        write_all(writers, writes)
        deployment.heal()
        for node in nodes:
            deployment.resume(node)
        deployment.start()
        visit.await_service()
    write_all(writers, writes)
    for node in nodes:
        look(visit, node, writers)
    return writers


def write_all(writers: list[Writer], writes: int) -> None:
    for _ in range(writes):
        for writer in writers:
            writer.write()


def look(visit: Visit, node: str, writers: list[Writer]) -> None:
    """Compare a server's tree with what the writers were told."""
    reader = visit.session(node)
    done(reader.call(op.sync("/")))
    there = set(done(reader.call(op.get_children("/"))))
    for writer in writers:
        lost = [n for n in writer.acknowledged if writer.path(n)[1:] not in there]
        assert not lost, f"{node} has lost acknowledged writes {lost} of {writer.name}"
        mine = sorted(name for name in there if name.startswith(f"{writer.name}-"))
        zxids = {name: done(reader.call(op.exists(f"/{name}"))).czxid for name in mine}
        assert list(zxids.values()) == sorted(zxids.values()), f"{node}: {writer.name} out of order"
        for number, zxid in writer.acknowledged.items():
            assert zxids[writer.path(number)[1:]] == zxid, f"{node}: {writer.path(number)}"
