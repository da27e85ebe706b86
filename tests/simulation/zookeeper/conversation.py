"""A client that sends random requests while servers fail."""

from rumpus.conformance import operations as op
from rumpus.conformance.raw_client import Closed, Silence


class Conversation:
    """Goes on with its session as long as there is one, at any server, and notes what it saw."""

    def __init__(self, world, number, random):
        self.world = world
        self.random = random
        self.number = number
        self.client = None
        self.sent = 0
        self.acknowledged = []
        """Paths of persistent nodes whose creation was answered."""
        self.sessions = 0

    def go_on(self):
        """Send some requests, or connect."""
        if self.client is None:
            self.connect()
        else:
            self.send()

    def listen(self):
        """Take all replies; connect anew if they do not come."""
        if self.client is not None and not self.receive():
            self.client.hang_up()
            self.connect()

    def connect(self):
        world, old = self.world, self.client
        try:
            node = self.random.choice(world.nodes)
            client = world.connect(node)
            if old is not None and old.session:
                answer = client.handshake(
                    4000, session=old.session, password=old.password, last_zxid=old.last_zxid
                )
                if answer.valid:
                    assert answer.session == old.session
                    client.last_zxid = old.last_zxid
                    self.client = client
                    return
                client = world.connect(node)
            self.client = None
            assert client.handshake(4000, last_zxid=old.last_zxid if old else 0).valid
            self.sessions += 1
        except (OSError, Closed, Silence):
            return
        self.client = client

    def send(self):
        random = self.random
        for _ in range(random.randrange(1, 8)):
            self.sent += 1
            path = f"/c{self.number}-{self.sent}"
            choice = random.random()
            if choice < 0.5:
                self.client.send(op.create(path, b"x" * random.randrange(2000)))
            elif choice < 0.7:
                self.client.send(op.create("/s-", flags=op.EPHEMERAL_SEQUENTIAL))
            elif choice < 0.8:
                self.client.send(op.set_data("/", path.encode()))
            else:
                self.client.send(op.get_children("/"))

    def receive(self):
        """Take all replies: in order (the client asserts it), and never back in time."""
        client = self.client
        try:
            while client._pending:
                operation = client._pending[0][1]
                before = client.last_zxid
                reply = client.receive(1.0)
                assert reply.zxid >= before
                assert reply.error == 0
                if operation.code == 1 and not reply.value.startswith("/s-"):
                    self.acknowledged.append(reply.value[1:])
        except (Closed, Silence):
            return False
        return True


def in_trouble(world, count, random, *, rounds, pause, trouble):
    """Conversations during repeated faults."""
    talks = [Conversation(world, number, random) for number in range(count)]
    for _ in range(rounds):
        for talk in talks:
            talk.go_on()
        world.simulator.run(world.simulator.now + random.randrange(pause))
        trouble(world, random)
        for talk in talks:
            talk.listen()
    return talks
