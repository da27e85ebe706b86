import errno
import os
import resource
import signal
import socket
import threading
import time

import pytest

from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.network.connection import RECEIVE_BUFFER
from rumpus.simulation.network.network import Network
from rumpus.simulation.real_sockets import CHUNK, WorldEnded, serve_in_thread

MUCH = 50_000_000  # more than all buffers


class Echo:
    """Sends back what it receives; says what it lost."""

    def __init__(self, transport, log):
        self.transport = transport
        self.log = log

    def data_received(self, data):
        if data == b"stop reading":
            self.transport.pause_reading()
            self.transport.write(b"I do")
        elif data == b"much":
            self.transport.write(bytes(MUCH))
        elif data == b"close":
            self.transport.write(b"bye")
            self.transport.close()
        elif data == b"abort":
            self.transport.abort()
        else:
            self.transport.write(data)

    def eof_received(self):
        self.log("eof")
        self.transport.close()

    def connection_lost(self, error):
        self.log(error and error.errno)


class Served:
    """A world with an echo server and, at a second address, nobody."""

    def __init__(self):
        self.events = []
        self.happened = threading.Semaphore(0)

    def log(self, event):
        self.events.append(event)
        self.happened.release()

    def accept(self, transport):
        self.echoes.append(Echo(transport, self.log))
        return self.echoes[-1]

    def build(self):
        self.simulator = Simulator(1)
        self.network = Network(self.simulator)
        self.process = self.simulator.process("echo", "n1")
        self.echoes = []
        self.network.listen(self.process, 2181, self.accept)
        return self.simulator, self.network, [("n1", 2181), ("n1", 1)]


@pytest.fixture
def served():
    served = Served()
    with serve_in_thread(served.build) as server:
        served.server = server
        yield served


def connect(served, index=0):
    return socket.create_connection(("127.0.0.1", served.server.ports[index]), timeout=20)


def eventually(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def receive(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        assert more
        data += more
    return data


def test_real_clients_reach_simulated_servers(served):
    with connect(served) as one, connect(served) as other:
        one.sendall(b"one")
        other.sendall(b"other")
        assert receive(one, 3) == b"one"
        assert receive(other, 5) == b"other"
    assert served.happened.acquire(timeout=20)
    assert served.happened.acquire(timeout=20)
    assert served.events[:1] == ["eof"]


def test_the_connection_string_names_all_ports(served):
    first, second = served.server.ports
    assert served.server.hosts == f"127.0.0.1:{first},127.0.0.1:{second}"


def test_much_goes_both_ways(served):
    data = bytes(range(256)) * 20_000
    with connect(served) as connection:
        sender = threading.Thread(target=connection.sendall, args=(data,))
        sender.start()
        assert receive(connection, len(data)) == data
        sender.join()


def test_a_server_that_does_not_read_holds_up_the_real_client(served):
    with connect(served) as connection:
        connection.sendall(b"stop reading")
        assert receive(connection, 4) == b"I do"
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):
            connection.sendall(bytes(MUCH))
        (bridge,) = served.server.bridges
        eventually(lambda: bridge._transport.unsent() > 0)
        assert bridge._transport.unsent() <= CHUNK


def untaken(served):
    """Bytes that the server has written and the real socket has not taken."""
    # Asked of the world's thread, or it might be seen in the middle of a callback.
    return served.server.ask(served.echoes[-1].transport.untaken)


def test_a_real_client_that_does_not_read_holds_up_the_server(served):
    with connect(served) as connection:
        connection.sendall(b"much")
        eventually(lambda: served.echoes)
        (bridge,) = served.server.bridges
        eventually(lambda: served.server.ask(lambda: bridge._transport._paused))
        assert bridge._transport._held_bytes <= RECEIVE_BUFFER + CHUNK
        assert 0 < untaken(served) < MUCH  # all that the kernel has not taken
        assert receive(connection, MUCH) == bytes(MUCH)
        eventually(lambda: not untaken(served))


@pytest.mark.parametrize("closed", [False, True])
def test_what_a_real_client_does_not_read_can_be_discarded(served, closed):
    with connect(served) as connection:
        connection.sendall(b"much")
        eventually(lambda: served.echoes and untaken(served))
        transport = served.echoes[-1].transport
        if closed:  # by the server, with all of it still to be sent
            served.server.ask(transport.close)
            assert untaken(served)
        served.server.ask(transport.discard)
        eventually(lambda: not served.server.bridges)
        assert served.server.ask(transport.untaken) == 0
        with pytest.raises(ConnectionResetError):
            receive(connection, MUCH)


def test_the_end_of_a_simulated_connection_is_seen(served):
    with connect(served) as connection:
        connection.sendall(b"close")
        assert receive(connection, 3) == b"bye"
        assert connection.recv(1) == b""
    assert served.happened.acquire(timeout=20)
    assert served.events == [None]


@pytest.mark.parametrize("how", ["aborted", "nobody listens"])
def test_resets_are_seen(served, how):
    def reset():  # by then, or already while the client connects
        with connect(served, 1 if how == "nobody listens" else 0) as connection:
            if how == "aborted":
                connection.sendall(b"abort")
            connection.recv(1)

    with pytest.raises(ConnectionResetError):
        reset()


def test_resets_of_real_clients_are_seen(served):
    connection = connect(served)
    connection.sendall(b"x")
    assert receive(connection, 1) == b"x"
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
    assert served.happened.acquire(timeout=20)
    assert served.events == [errno.ECONNRESET]


def test_a_world_can_be_hurt_while_it_is_served(served):
    with connect(served) as connection:
        connection.sendall(b"x")
        assert receive(connection, 1) == b"x"
        served.server.call(served.process.kill)
        assert connection.recv(1) == b""


def test_virtual_time_follows_the_wall_clock(served):
    passed = threading.Event()
    served.server.call(lambda: served.process.call_later(50_000_000, passed.set))
    assert passed.wait(20)
    assert served.simulator.now >= 50_000_000


def test_a_taken_port_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(OSError, match=str(port)) as caught,
            serve_in_thread(Served().build, [0, port]),
        ):
            pytest.fail("it must not begin")
    assert caught.value.errno == errno.EADDRINUSE


def test_who_connects_when_no_file_can_be_opened_waits_and_the_others_are_served(served):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with connect(served) as early:
        early.sendall(b"accepted")
        assert early.recv(100) == b"accepted"
        free = os.dup(early.fileno())  # the lowest number that is free
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, limits[1]))
        try:
            late = connect(served)
            for _ in range(3):
                early.sendall(b"still here")
                assert early.recv(100) == b"still here"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        with late:
            late.sendall(b"at last")
            assert late.recv(100) == b"at last"


def test_what_ends_a_world_is_raised():
    served = Served()

    def fail():
        raise ArithmeticError("two and two")

    with (
        pytest.raises(ArithmeticError, match="two and two"),
        serve_in_thread(served.build) as server,
    ):
        server.call(fail)


# -- questions of other threads, and stalls ---------------------------------------------------


def test_another_thread_asks_the_world_and_gets_its_answer_or_its_error(served):
    assert served.server.ask(lambda: threading.current_thread().name) == "simulated world"
    with pytest.raises(ZeroDivisionError):
        served.server.ask(lambda: 1 // 0)
    assert served.server.ask(lambda: 2) == 2


def test_who_waits_for_an_answer_learns_that_the_world_has_ended():
    served = Served()
    with serve_in_thread(served.build) as server:
        ends = threading.Event()

        def end():
            ends.wait(20)
            server._stop()

        server.call(end)
        told = []

        def wait():
            try:
                server.ask(lambda: told.append("an answer"))
            except WorldEnded as error:
                told.append(str(error))

        # Asked for while the last turn goes on: it is the turn's second call.
        waiting = threading.Thread(target=wait)
        waiting.start()
        ends.set()
        waiting.join(20)
        assert told in (["an answer"], ["the simulated servers have ended"])
    with pytest.raises(WorldEnded):
        server.ask(lambda: 1)


def test_virtual_time_stands_still_while_the_thread_stalls(served):
    def stall():
        time.sleep(1.0)

    before = served.server.ask(lambda: served.simulator.now)
    began = time.monotonic_ns()
    served.server.ask(stall)
    for _ in range(3):
        now = served.server.ask(lambda: served.simulator.now)
    elapsed = time.monotonic_ns() - began
    assert elapsed >= SECOND
    assert now - before <= elapsed - SECOND // 2
    time.sleep(0.05)
    assert served.server.ask(lambda: served.simulator.now) > now


def test_a_world_that_is_behind_looks_at_real_sockets_meanwhile(served):
    done = []

    def work(left):
        time.sleep(0.002)
        done.append(left)
        if left:
            served.simulator.call_after(1, work, left - 1)

    served.server.call(lambda: served.simulator.call_after(1, work, 400))
    assert served.server.ask(lambda: len(done)) < 200
    began, before = time.monotonic_ns(), served.server.ask(lambda: served.simulator.now)
    eventually(lambda: len(done) == 401)
    # Virtual time is not made up for: nothing expires because there was much to do.
    passed = served.server.ask(lambda: served.simulator.now) - before
    assert time.monotonic_ns() - began - passed > SECOND // 4


def test_nothing_is_left_if_it_is_interrupted_while_the_world_is_made():
    served = Served()
    made = threading.Event()

    def build():
        os.kill(os.getpid(), signal.SIGUSR1)  # the other thread waits for this one
        made.wait(0.2)
        return served.build()

    def interrupt(*_):
        raise KeyboardInterrupt

    before = threading.active_count()
    former = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt), serve_in_thread(build):
            pass
    finally:
        signal.signal(signal.SIGUSR1, former)
    assert threading.active_count() == before
    assert served.simulator.closed
