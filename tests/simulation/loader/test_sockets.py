import socket as real_socket

import pytest

from rumpus.simulation.kernel.simulator import SECOND

SERVER = """
import socket, threading
def serve(connection):
    with connection, connection.makefile("rwb") as file:
        for line in file:
            file.write(line.upper())
            file.flush()
def main():
    with socket.create_server(("", 7000)) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
"""


def test_a_client_and_a_server_of_users(world):
    world.start(SERVER, host="s")
    module = world.run(
        """
        import socket
        def main():
            global seen, end
            with socket.create_connection(("s", 7000), timeout=5) as connection:
                connection.sendall(b"one\\ntw")
                connection.sendall(memoryview(b"o\\n"))
                file = connection.makefile()
                seen = file.readline(), file.readline(), connection.getpeername()
                seen += connection.getsockname()[:1], connection.gettimeout()
                connection.shutdown(socket.SHUT_WR)
                end = file.read(), connection.recv(10)
        """,
        host="c",
    )
    assert module.seen == ("ONE\n", "TWO\n", ("s", 7000), ("c",), 5)
    assert module.end == ("", b"")


def test_timeouts_refusals_and_closed_sockets(world):
    module = world.run(
        """
        import errno, socket, threading, time
        def raises(kind, function, *arguments):
            try:
                function(*arguments)
            except kind as error:
                return error.errno
            raise AssertionError(function)
        def main():
            refused = raises(ConnectionRefusedError, socket.create_connection, ("x", 1), 3)
            assert refused == errno.ECONNREFUSED
            server = socket.socket()
            server.settimeout(1)
            assert raises(OSError, server.accept) == errno.EINVAL
            server.bind(("127.0.0.1", 0))
            server.listen()
            raises(TimeoutError, server.accept)
            taken = socket.socket()
            taken.bind(("", server.getsockname()[1]))
            assert raises(OSError, taken.listen) == errno.EADDRINUSE
            client = socket.create_connection(("localhost", server.getsockname()[1]))
            peer, address = server.accept()
            assert address == client.getsockname()
            client.setblocking(False)
            raises(BlockingIOError, client.recv, 1)
            client.settimeout(2)
            before = time.monotonic()
            raises(socket.timeout, client.recv, 1)
            assert 2 <= time.monotonic() - before < 2.01
            peer.send(b"abcdef")
            assert client.recv(2, socket.MSG_PEEK) == b"ab"
            buffer = bytearray(4)
            assert client.recv_into(buffer) == 4 and buffer == b"abcd"
            assert client.recv_into(buffer, 1) == 1 and client.recv(9) == b"f"
            threading.Timer(1, client.close).start()
            client.settimeout(None)
            assert raises(OSError, client.recv, 1) == errno.EBADF
            assert client.fileno() == -1
            assert raises(OSError, client.send, b"x") == errno.EBADF
            assert peer.recv(1) == b""
            assert raises(OSError, socket.socket, socket.AF_INET6) == errno.EAFNOSUPPORT
            assert raises(OSError, socket.socket().send, b"x") == errno.ENOTCONN
            assert raises(OSError, socket.socket().recv, 1) == errno.ENOTCONN
        """
    )
    assert module.socket.socket is not real_socket.socket


def test_a_connection_opened_without_blocking(world):
    world.start(SERVER, host="s")
    module = world.run(
        """
        import errno, select, selectors, socket
        def main():
            global seen
            client = socket.socket()
            client.setblocking(False)
            assert client.connect_ex(("s", 7000)) == errno.EINPROGRESS
            assert select.select([client], [client], [], 0) == ([], [], [])
            assert select.select([], [client], [client], 5) == ([], [client], [])
            assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
            client.send(b"x\\n")
            poll = select.poll()
            poll.register(client, select.POLLIN)
            assert poll.poll(5000) == [(client.fileno(), select.POLLIN)]
            seen = client.recv(9)
            assert poll.poll(1000) == []
            lost = socket.socket()
            lost.setblocking(False)
            assert lost.connect_ex(("nobody", 1)) == errno.EINPROGRESS
            with selectors.DefaultSelector() as selector:
                selector.register(lost, selectors.EVENT_WRITE)
                assert selector.select(5)
            assert lost.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED
        """,
        host="c",
    )
    assert module.seen == b"X\n"


def test_a_slow_reader_holds_the_writer_back(world):
    module = world.run(
        """
        import socket, threading, time
        def main():
            global accepted, received, timed_out
            server = socket.create_server(("", 7000))
            client = socket.create_connection(("localhost", 7000))
            peer, _ = server.accept()
            client.settimeout(1)
            accepted = 0
            try:
                while True:
                    accepted += client.send(bytes(10_000))
            except TimeoutError:
                timed_out = True
            received = 0
            client.close()
            while data := peer.recv(50_000):
                received += len(data)
        """
    )
    assert module.timed_out
    assert 256 * 1024 < module.accepted < 2 * 1024 * 1024
    assert module.received == module.accepted


def test_pairs(world):
    module = world.run(
        """
        import selectors, socket, threading, time
        def main():
            global sent
            one, two = socket.socketpair()
            one.send(b"x")
            assert two.recv(5) == b"x"
            one.setblocking(False)
            sent = 0
            try:
                while True: sent += one.send(bytes(10_000))
            except BlockingIOError:
                pass
            with selectors.DefaultSelector() as selector:
                assert not selector.get_map()
                key = selector.register(one, selectors.EVENT_WRITE, "data")
                assert (key.fileobj, key.fd, key.data) == (one, one.fileno(), "data")
                assert selector.get_key(one) == selector.get_map()[one] == key
                assert selector.get_map()[one.fileno()] == key and len(selector.get_map()) == 1
                assert selector.select(0.5) == []
                threading.Timer(1, two.recv, (10_000_000,)).start()
                assert selector.select(5) == [(key, selectors.EVENT_WRITE)]
                selector.modify(one, selectors.EVENT_READ | selectors.EVENT_WRITE)
                two.send(b"y")
                assert [events for _, events in selector.select()] == [3]
                selector.unregister(one)
                for action in (selector.unregister, selector.get_key):
                    try:
                        action(one)
                    except KeyError:
                        pass
                    else:
                        raise AssertionError
                for wrong in ((one, 0), (-1, 1), ("x", 1)):
                    try:
                        selector.register(*wrong)
                    except ValueError:
                        pass
                    else:
                        raise AssertionError(wrong)
            assert one.recv(1) == b"y"
            two.close()
            one.setblocking(True)
            assert one.recv(1) == b""
            try:
                one.send(b"x")
            except BrokenPipeError:
                return
            raise AssertionError
        """
    )
    assert 200_000 < module.sent < 230_000


def test_a_killed_process_closes_its_connections(world):
    world.start(SERVER, host="s")
    module = world.start(
        """
        import socket
        def main():
            global end
            client = socket.create_connection(("s", 7000))
            client.send(b"x\\n")
            end = [client.recv(9)]
            end.append(client.recv(9))
        """,
        host="c",
    )
    world.simulator.call_at(SECOND, lambda _: world.simulator.processes[0].kill())
    world.simulator.run(9 * SECOND)
    assert module.end == [b"X\n", b""]


def test_a_reset_is_told_once(world):
    world.start(SERVER, host="s")
    module = world.start(
        """
        import socket
        def main():
            global seen
            client = socket.create_connection(("s", 7000))
            try:
                client.recv(9)
            except ConnectionResetError:
                seen = client.recv(9)
        """,
        host="c",
    )
    world.simulator.call_at(SECOND, lambda _: world.network.reset("s", "c"))
    world.simulator.run(9 * SECOND)
    assert module.seen == b""


def test_names(world):
    socket = world.space(host="h").load("socket")
    assert socket.gethostname() == socket.getfqdn() == "h"
    address = (real_socket.AF_INET, real_socket.SOCK_STREAM, 6, "", ("n1", 2181))
    assert socket.getaddrinfo("n1", "2181", 0, 0, socket.IPPROTO_TCP) == [address]
    assert socket.gethostbyname("n1") == "n1"
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("not a name", 1)
    socket.setdefaulttimeout(3)
    assert socket.getdefaulttimeout() == socket.socket().gettimeout() == 3
