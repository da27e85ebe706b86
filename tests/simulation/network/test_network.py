import errno

import pytest

from rumpus.simulation.kernel.simulator import MILLISECOND, SECOND, Simulator
from rumpus.simulation.network.connection import RECEIVE_BUFFER
from rumpus.simulation.network.network import Network


class Recorder:
    """Records what it receives; ``echo`` sends it back."""

    def __init__(self, transport, echo=False):
        self.transport = transport
        self.echo = echo
        self.data = b""
        self.chunks = []
        self.eof = False
        self.lost = []
        self.was_writable = 0

    def data_received(self, data):
        self.chunks.append(data)
        if isinstance(data, bytes):
            self.data += data
        if self.echo:
            self.transport.write(data)

    def eof_received(self):
        self.eof = True

    def connection_lost(self, error):
        self.lost.append(error and error.errno)

    def writable(self):
        self.was_writable += 1


class World:
    """A server on host ``s`` and a client on host ``c``, connected."""

    def __init__(self, seed=1, echo=False):
        self.simulator = Simulator(seed)
        self.network = Network(self.simulator)
        self.server_process = self.simulator.process("server", "s")
        self.client_process = self.simulator.process("client", "c")
        self.accepted = []
        self.clients = []
        self.failures = []
        self.echo = echo
        self.listener = self.network.listen(self.server_process, 2181, self.accept)

    def accept(self, transport):
        self.accepted.append(Recorder(transport, self.echo))
        return self.accepted[-1]

    def opened(self, transport):
        self.clients.append(Recorder(transport))
        return self.clients[-1]

    def failed(self, error):
        self.failures.append((self.simulator.now, error.errno))

    def connect(self, timeout=None, port=2181):
        return self.network.connect(
            self.client_process, ("s", port), self.opened, self.failed, timeout
        )

    def connected(self):
        self.connect()
        self.run(10 * MILLISECOND)
        return self.clients[-1], self.accepted[-1]

    def run(self, time):
        self.simulator.run(self.simulator.now + time)


@pytest.fixture
def world():
    world = World()
    yield world
    world.simulator.close()


def test_bytes_go_both_ways_in_order(world):
    client, server = world.connected()
    for number in range(100):
        client.transport.write(b"%d," % number)
        server.transport.write(b"%d;" % number)
    world.run(SECOND)
    assert server.data == b"".join(b"%d," % number for number in range(100))
    assert client.data == b"".join(b"%d;" % number for number in range(100))
    assert client.transport.remote == server.transport.local == ("s", 2181)
    assert client.transport.local == server.transport.remote
    assert client.transport.identity == server.transport.identity


def test_a_connection_is_refused_where_nobody_listens(world):
    world.connect(port=1)
    world.run(SECOND)
    assert [error for _, error in world.failures] == [errno.ECONNREFUSED]


def test_a_process_that_dies_ends_its_connections(world):
    client, _ = world.connected()
    world.server_process.kill()
    world.run(SECOND)
    assert client.eof
    assert client.lost == []
    client.transport.write(b"more")
    world.run(SECOND)
    assert client.lost == [errno.ECONNRESET]
    world.connect()
    world.run(SECOND)
    assert world.failures[-1][1] == errno.ECONNREFUSED


def test_a_frozen_process_hears_all_in_order_when_it_thaws(world):
    client, server = world.connected()
    world.server_process.freeze()
    for number in range(10):
        client.transport.write(b"%d" % number)
    client.transport.close()
    world.connect()
    world.run(SECOND)
    assert server.data == b""
    assert len(world.clients) == 2  # the kernel accepts meanwhile
    assert len(world.accepted) == 1
    world.server_process.thaw()
    world.run(SECOND)
    assert server.data == b"0123456789"
    assert server.eof
    assert len(world.accepted) == 2


def test_a_write_takes_what_the_network_takes(world):
    client, server = world.connected()
    times = []
    for _ in range(200):
        before = world.simulator.now
        client.transport.write(b"x")
        while len(server.data) <= len(times):
            world.simulator.run(world.simulator.now + 1_000)
        times.append(world.simulator.now - before)
    assert min(times) >= 50_000
    assert max(times) <= 502_000
    assert sorted(times)[100] < 200_000  # skewed to low
    local = world.network.path("c", "c")
    assert all(10_000 <= local.latency() <= 50_000 for _ in range(100))


def test_messages_arrive_whole_between_bytes(world):
    client, server = world.connected()
    message = object()
    client.transport.write(b"a")
    client.transport.write_message(message, 300_000)  # more than any buffer
    client.transport.write(b"b")
    world.run(SECOND)
    assert server.chunks == [b"a", message, b"b"]


def test_messages_of_one_moment_arrive_in_one_event_unless_bytes_are_between(world):
    client, server = world.connected()
    for number in range(5):
        client.transport.write_message(number, 10)
    before = world.simulator.events
    world.run(10 * MILLISECOND)
    assert world.simulator.events - before == 1
    client.transport.write_message(5, 10)
    client.transport.write(b"bytes")
    client.transport.write_message(6, 10)
    world.run(10 * MILLISECOND)
    assert world.simulator.events - before == 4
    assert server.chunks == [0, 1, 2, 3, 4, 5, b"bytes", 6]


def test_a_message_that_could_not_arrive_in_time_does_not_join_those_before_it(world):
    client, server = world.connected()
    path = world.network.path("c", "s")
    path.shortest, path.spread = 100_000, 0
    start = world.simulator.now
    client.transport.write_message(0, 10)
    world.run(50_000)
    client.transport.write_message(1, 10)
    world.run(50_000)
    assert (server.chunks, world.simulator.now - start) == ([0], 100_000)
    world.run(50_000)
    assert server.chunks == [0, 1]


@pytest.mark.parametrize("what", ["freeze", "pause", "close"])
def test_what_stops_a_receiver_holds_back_the_rest_of_what_arrived_with_it(world, what):
    client, server = world.connected()
    received = server.data_received

    def data_received(data):
        received(data)
        if data == 1:
            if what == "freeze":
                world.server_process.freeze()
            elif what == "pause":
                server.transport.pause_reading()
            else:
                server.transport.close()

    server.data_received = data_received
    for number in range(4):
        client.transport.write_message(number, 10)
    world.run(SECOND)
    assert server.chunks == [0, 1]
    world.server_process.thaw()
    server.transport.resume_reading()
    world.run(SECOND)
    assert server.chunks == ([0, 1] if what == "close" else [0, 1, 2, 3])


def test_big_writes_arrive_in_parts(world):
    client, server = world.connected()
    data = bytes(range(256)) * 8192
    client.transport.write(data)
    assert client.transport.unsent() == len(data) - 256 * 1024
    world.run(SECOND)
    assert server.data == data
    assert max(map(len, server.chunks)) == 64 * 1024
    assert client.transport.unsent() == 0


@pytest.mark.parametrize("stopped", ["paused", "frozen"])
def test_a_receiver_that_stops_reading_fills_both_buffers_and_then_the_sender(world, stopped):
    client, server = world.connected()
    if stopped == "paused":
        server.transport.pause_reading()
    else:
        world.server_process.freeze()
    data = bytes(1024)
    for _ in range(512):
        client.transport.write(data)
    world.run(SECOND)
    assert client.transport.unsent() == 0
    client.transport.wait_writable()
    world.run(SECOND)
    assert client.was_writable == 1
    client.transport.write(data)
    client.transport.wait_writable()
    world.run(3600 * SECOND)
    assert client.transport.unsent() == 1024
    assert client.was_writable == 1
    assert client.lost == []  # the receiver's kernel answers probes for ever
    assert server.data == b""
    server.transport.resume_reading()
    world.server_process.thaw()
    world.run(SECOND)
    assert server.data == bytes(513 * 1024)
    assert client.was_writable == 2


def test_reading_can_be_paused_while_data_is_received(world):
    client, server = world.connected()
    received = server.data_received

    def receive_and_pause(data):
        received(data)
        server.transport.pause_reading()

    server.data_received = receive_and_pause
    for number in range(3):
        client.transport.write(b"%d" % number)
    client.transport.close()
    seen = []
    for _ in range(4):
        world.run(SECOND)
        seen.append((server.data, server.eof))
        server.transport.resume_reading()
    assert seen == [(b"0", False), (b"01", False), (b"012", False), (b"012", True)]


def test_what_is_put_back_comes_again_and_is_not_taken_meanwhile(world):
    client, server = world.connected()
    taken = []

    def take_some(data):
        taken.append(data[:3])
        if len(data) > 3:
            client.transport.pause_reading()
            client.transport.put_back(data[3:])

    client.data_received = take_some
    for data in (b"abcdefg", b"hi"):
        server.transport.write(data)
    world.run(SECOND)
    assert (taken, server.transport.untaken()) == ([b"abc"], 6)
    for left in (3, 0):
        client.transport.resume_reading()
        world.run(SECOND)
        assert server.transport.untaken() == left
    assert b"".join(taken) == b"abcdefghi"


@pytest.mark.parametrize("ending", ["none", "close", "abort"])
def test_what_nobody_reads_can_be_discarded_in_every_state(world, ending):
    client, server = world.connected()
    client.transport.pause_reading()
    server.transport.write(bytes(10 * RECEIVE_BUFFER))
    world.run(SECOND)
    if ending != "none":
        getattr(server.transport, ending)()
        world.run(SECOND)
    assert server.transport.untaken() >= RECEIVE_BUFFER
    server.transport.discard()
    world.run(SECOND)
    assert server.transport.untaken() == 0
    assert client.data == b""
    assert client.lost == [errno.ECONNRESET]


def test_close_sends_what_is_kept_and_then_the_end(world):
    client, server = world.connected()
    client.transport.write(bytes(1_000_000))
    client.transport.close()
    assert client.lost == []
    client.transport.write(b"too late")
    world.run(SECOND)
    assert client.lost == [None]
    assert len(server.data) == 1_000_000
    assert server.eof
    server.transport.close()
    world.run(SECOND)
    assert server.lost == [None]
    assert not client.eof
    assert not world.network.path("c", "s").senders
    assert not world.network.path("s", "c").senders


def test_what_is_sent_to_a_closed_connection_is_answered_with_a_reset(world):
    client, server = world.connected()
    client.transport.close()
    world.run(SECOND)
    assert server.eof
    server.transport.write(b"a")
    world.run(SECOND)
    assert server.lost == [errno.ECONNRESET]
    assert client.data == b""


def test_half_closed_connections_still_receive(world):
    client, server = world.connected()
    client.transport.write_eof()
    world.run(SECOND)
    server.transport.write(b"answer")
    server.transport.close()
    world.run(SECOND)
    assert (server.eof, client.data, client.eof) == (True, b"answer", True)


def test_closing_with_unread_data_resets(world):
    client, server = world.connected()
    server.transport.pause_reading()
    client.transport.write(b"unread")
    world.run(SECOND)
    server.transport.close()
    world.run(SECOND)
    assert client.lost == [errno.ECONNRESET]
    assert not client.eof


def test_a_dead_process_resets_what_it_had_not_read(world):
    client, _ = world.connected()
    world.server_process.freeze()
    client.transport.write(b"unread")
    world.run(SECOND)
    world.server_process.kill()
    world.run(SECOND)
    assert client.lost == [errno.ECONNRESET]


def test_a_dead_process_sends_only_what_the_system_had_taken(world):
    client, server = world.connected()
    world.server_process.freeze()
    client.transport.write(bytes(2_000_000))
    world.run(SECOND)
    world.client_process.kill()
    world.server_process.thaw()
    world.run(SECOND)
    assert len(server.data) == 512 * 1024
    assert server.eof


def test_abort_resets_after_what_is_on_the_wire(world):
    client, server = world.connected()
    client.transport.write(b"on the wire")
    client.transport.abort()
    world.run(SECOND)
    assert client.lost == [None]
    assert server.data == b"on the wire"
    assert server.lost == [errno.ECONNRESET]
    assert not server.eof


def test_data_survives_a_short_cut(world):
    client, server = world.connected()
    world.network.cut("c", "s")
    for number in range(10):
        client.transport.write(b"%d" % number)
    world.run(SECOND)
    assert server.data == b""
    assert world.network.cuts() == [("c", "s")]
    assert world.network.dropped("c", "s") >= 10
    world.network.mend("c", "s")
    world.run(SECOND)
    assert server.data == b"0123456789"
    assert server.chunks == [b"0123456789"]  # retransmissions coalesce
    assert world.network.cuts() == []


def test_retransmissions_back_off(world):
    client, server = world.connected()
    world.network.cut("c", "s")
    client.transport.write(b"x")
    world.run(14 * SECOND)  # retransmitted after 0.2, 0.6, 1.4, 3, 6.2, 12.6, 25.4 s
    world.network.heal()
    world.run(11 * SECOND)
    assert server.data == b""
    world.run(SECOND)
    assert server.data == b"x"


def test_a_connection_gives_up_after_924_seconds(world):
    client, server = world.connected()
    world.network.cut("c", "s")
    start = world.simulator.now
    client.transport.write(b"x")
    while not client.lost:
        world.run(SECOND)
    assert client.lost == [errno.ETIMEDOUT]
    assert 924 <= (world.simulator.now - start) / SECOND <= 926
    world.network.heal()
    world.run(1000 * SECOND)
    assert server.lost == []  # half open: nobody has told it
    server.transport.write(b"y")
    world.run(SECOND)
    assert server.lost == [errno.ECONNRESET]


def test_under_a_cut_of_the_way_back_data_arrives_once_and_the_sender_gives_up(world):
    client, server = world.connected()
    world.network.cut("s", "c")
    client.transport.write(b"x")
    world.run(SECOND)
    assert server.data == b"x"
    client.transport.write(bytes(300_000))
    assert client.transport.unsent() == 300_001 - 256 * 1024  # not acknowledged, so kept
    world.run(1000 * SECOND)
    assert client.lost == [errno.ETIMEDOUT]
    assert server.data == b"x"


def test_after_a_cut_of_the_way_back_all_goes_on(world):
    client, server = world.connected()
    world.network.cut("s", "c")
    client.transport.write(b"x")
    world.run(5 * SECOND)
    client.transport.write(b"y")
    world.network.heal()
    world.run(20 * SECOND)
    assert server.data == b"xy"
    client.transport.write(b"z")
    world.run(SECOND)
    assert server.data == b"xyz"
    assert client.transport._flying == 0


def test_a_full_receiver_behind_a_cut_is_given_up(world):
    client, server = world.connected()
    server.transport.pause_reading()
    client.transport.write(bytes(600_000))
    world.run(SECOND)
    world.network.cut("c", "s")
    world.run(1000 * SECOND)
    assert client.lost == [errno.ETIMEDOUT]


def test_news_of_room_that_was_lost_is_asked_for(world):
    client, server = world.connected()
    server.transport.pause_reading()
    client.transport.write(bytes(600_000))
    world.run(SECOND)
    world.network.cut("s", "c")
    server.transport.resume_reading()
    world.run(SECOND)
    assert len(server.data) == 256 * 1024
    world.network.heal()
    world.run(5 * SECOND)
    assert len(server.data) == 600_000


def test_a_partition_names_who_drops_whose_packets(world):
    world.network.partition({"s": frozenset({"c", "d"}), "c": frozenset({"s"})})
    assert world.network.cuts() == [("c", "s"), ("d", "s"), ("s", "c")]
    world.network.heal()
    assert world.network.cuts() == []


@pytest.mark.parametrize(("source", "target"), [("c", "s"), ("s", "c")])
def test_connecting_through_a_cut_times_out(world, source, target):
    world.network.cut(source, target)
    start = world.simulator.now
    world.connect(timeout=5 * SECOND)
    world.connect()
    world.run(200 * SECOND)
    assert [(round((time - start) / SECOND), error) for time, error in world.failures] == [
        (5, errno.ETIMEDOUT),
        (127, errno.ETIMEDOUT),
    ]
    assert not world.accepted


def test_a_syn_is_sent_again(world):
    world.network.cut("c", "s")
    world.connect()
    world.run(2 * SECOND)
    world.network.heal()
    world.run(500 * MILLISECOND)
    assert not world.clients
    world.run(SECOND)  # sent after 0, 1, 3, 7 s
    assert len(world.clients) == len(world.accepted) == 1


def test_a_cancelled_attempt_is_silent(world):
    world.connect().cancel()
    world.connect(port=1).cancel()
    world.run(200 * SECOND)
    assert not world.clients
    assert not world.failures
    assert not world.accepted


def test_a_crashed_host_says_nothing_until_it_is_back(world):
    client, server = world.connected()
    world.network.crash_host("s")
    world.server_process.kill()
    client.transport.write(b"x")
    world.connect(timeout=2 * SECOND)
    world.run(10 * SECOND)
    assert client.lost == []
    assert not client.eof
    assert [error for _, error in world.failures] == [errno.ETIMEDOUT]
    world.network.boot_host("s")
    world.run(20 * SECOND)
    assert client.lost == [errno.ECONNRESET]
    assert server.data == b""


@pytest.mark.parametrize(("back", "error"), [(True, errno.ECONNRESET), (False, errno.ETIMEDOUT)])
def test_who_waits_for_room_on_a_crashed_host_finds_out(world, back, error):
    client, server = world.connected()
    server.transport.pause_reading()
    client.transport.write(bytes(600_000))
    world.run(SECOND)
    world.network.crash_host("s")
    world.server_process.kill()
    if back:
        world.network.boot_host("s")
    world.run(1000 * SECOND)
    assert client.lost == [error]


def test_a_dead_process_resets_what_it_had_not_accepted(world):
    world.server_process.freeze()
    world.connect()
    world.run(SECOND)
    (client,) = world.clients
    world.server_process.kill()
    world.run(SECOND)
    assert client.lost == [errno.ECONNRESET]
    assert not client.eof


def test_a_host_is_back_when_a_program_listens_there(world):
    world.network.crash_host("s")
    world.server_process.kill()
    world.server_process = world.simulator.process("server", "s")
    world.network.listen(world.server_process, 2181, world.accept)
    world.connected()


def test_a_port_has_one_listener(world):
    with pytest.raises(OSError, match="2181") as caught:
        world.network.listen(world.server_process, 2181, world.accept)
    assert caught.value.errno == errno.EADDRINUSE
    world.listener.close()
    world.network.listen(world.server_process, 2181, world.accept)
    other = world.network.listen(world.server_process, 2181, world.accept, host="t")
    assert other.address == ("t", 2181)


def test_a_connection_whose_listener_closed_meanwhile_is_reset(world):
    world.connect()
    while not world.clients:
        world.run(1_000)
    world.listener.close()
    world.run(SECOND)
    assert world.clients[0].lost == [errno.ECONNRESET]
    assert not world.accepted


def test_a_firewall_resets_both_sides(world):
    client, server = world.connected()
    world.network.reset("s", "c")
    world.run(SECOND)
    assert client.lost == server.lost == [errno.ECONNRESET]
    world.connected()


def test_a_frozen_program_learns_of_a_reset_behind_its_data(world):
    client, server = world.connected()
    world.server_process.freeze()
    client.transport.write(b"x")
    world.run(SECOND)
    client.transport.abort()
    world.run(SECOND)
    assert server.lost == []
    world.server_process.thaw()
    world.run(SECOND)
    assert (server.data, server.lost) == (b"x", [errno.ECONNRESET])


def test_programs_that_were_frozen_when_they_were_connected_learn_of_the_reset(world):
    world.client_process.freeze()
    world.server_process.freeze()
    world.connect()
    world.run(SECOND)
    world.network.reset("s", "c")
    world.run(SECOND)
    world.client_process.thaw()
    world.server_process.thaw()
    world.run(10 * SECOND)
    ((client,), (server,)) = world.clients, world.accepted
    assert client.lost == server.lost == [errno.ECONNRESET]
    assert world.failures == []


def echo_time(world, client):
    before = world.simulator.now
    seen = len(client.data)
    client.transport.write(b"x" * 100)
    while len(client.data) < seen + 100:
        world.simulator.run(world.simulator.now + 100_000)
    return (world.simulator.now - before) / MILLISECOND


@pytest.mark.parametrize(
    ("trouble", "least", "most"),
    [
        (lambda network: network.delay("c", "s", 30 * MILLISECOND), 30, 32),
        (lambda network: network.delay("s", "c", 30 * MILLISECOND, 5 * MILLISECOND), 30, 37),
        (lambda network: network.rate("c", "s", 1000), 100, 102),
        (lambda network: network.reorder("c", "s", 1.0), 0.15, 2),
        (lambda network: network.duplicate("c", "s", 1.0), 0.1, 1.2),
        (lambda network: network.heal(), 0.1, 1.2),
    ],
)
def test_troubles_take_time_and_end(trouble, least, most):
    world = World(echo=True)
    client, _ = world.connected()
    trouble(world.network)
    assert least <= echo_time(world, client) <= most
    world.network.heal()
    assert echo_time(world, client) <= 1.2
    world.simulator.close()


@pytest.mark.parametrize("trouble", ["lose", "corrupt"])
def test_lost_packets_are_sent_again(trouble):
    world = World(echo=True)
    client, _ = world.connected()
    getattr(world.network, trouble)("c", "s", 0.5)
    times = [echo_time(world, client) for _ in range(40)]
    late = [time for time in times if time >= 200]
    assert 10 <= len(late) <= 30
    assert world.network.dropped("c", "s") >= len(late)
    world.simulator.close()


def test_what_is_lost_holds_back_what_comes_behind(world):
    client, server = world.connected()
    world.network.lose("c", "s", 0.2)
    sent = b""
    for number in range(300):
        sent += b"%d," % number
        client.transport.write(b"%d," % number)
        world.run(2 * MILLISECOND)
        assert sent.startswith(server.data)
    world.run(10 * SECOND)
    assert server.data == sent


def test_what_comes_behind_a_gap_that_is_never_filled_is_not_received(world):
    client, server = world.connected()
    client.transport.write(b"a")
    world.network.cut("c", "s")
    client.transport.write(b"b")
    world.network.mend("c", "s")
    client.transport.write(b"c")
    client.transport.abort()
    world.run(SECOND)
    assert server.data == b"a"
    assert server.lost == [errno.ECONNRESET]


def test_duplicates_are_counted_and_dropped(world):
    client, server = world.connected()
    world.network.duplicate("c", "s", 1.0)
    for _ in range(10):
        client.transport.write(b"x")
    world.run(SECOND)
    assert server.data == b"x" * 10
    assert world.network.path("c", "s").duplicated == 10


def test_writes_are_split(world):
    client, server = world.connected()
    world.network.fragment("c", "s", 0.9)
    for _ in range(20):
        client.transport.write(b"0123456789")
    world.run(SECOND)
    assert server.data == b"0123456789" * 20
    assert len(server.chunks) > 60


def history(seed):
    world = World(seed, echo=True)
    client, _ = world.connected()
    world.network.lose("c", "s", 0.2)
    for number in range(20):
        client.transport.write(b"%d" % number)
        world.run(100 * MILLISECOND)
    digest = world.simulator.digest()
    world.simulator.close()
    return digest


def test_the_seed_decides_all():
    assert history(5) == history(5)
    assert history(5) != history(6)


def test_contents_are_part_of_the_trace():
    digests = []
    for data in (b"a", b"a", b"b"):
        world = World(1)
        client, _ = world.connected()
        client.transport.write(data)
        world.run(SECOND)
        digests.append(world.simulator.digest())
        world.simulator.close()
    assert digests[0] == digests[1] != digests[2]
