import os
import socket
import struct
import threading
from pathlib import Path

from rumpus.harness.links.link_process import ProcessLinks


def test_bytes_pass_both_ways(wires):
    client, server = wires.pair()
    client.sendall(b"hello")
    assert wires.read(server, 5) == b"hello"
    server.sendall(b"good day")
    assert wires.read(client, 8) == b"good day"


def test_each_link_leads_to_its_own_server(wires):
    for node in wires.nodes:
        for number in (0, 1):
            client, server = wires.pair(number, node)
            client.sendall(node.encode())
            assert wires.read(server, 2) == node.encode()


def test_many_megabytes_both_ways_at_once_and_whole(wires):
    client, server = wires.pair()
    there, back = os.urandom(8 << 20), os.urandom(8 << 20)
    senders = [
        threading.Thread(target=client.sendall, args=(there,)),
        threading.Thread(target=server.sendall, args=(back,)),
    ]
    for sender in senders:
        sender.start()
    # One way is read to its end before the other is begun: neither may hold up the other.
    assert wires.read(server, len(there)) == there
    assert wires.read(client, len(back)) == back
    for sender in senders:
        sender.join()


def test_a_reader_that_does_not_read_holds_up_the_writer(wires):
    client, server = wires.pair()
    sent = 0
    client.settimeout(1)
    try:
        while sent < 48 << 20:
            sent += client.send(bytes(1 << 20))
    except TimeoutError:
        pass
    assert sent < 48 << 20  # the proxy does not take in what it cannot pass on
    received = 0
    client.shutdown(socket.SHUT_WR)
    while data := server.recv(1 << 20):
        received += len(data)
    assert received == sent


def test_a_half_closed_connection_still_carries_the_other_way(wires):
    client, server = wires.pair()
    client.sendall(b"all")
    client.shutdown(socket.SHUT_WR)
    assert wires.read(server, 4) == b"all"  # and then the end
    server.sendall(b"still here")
    assert wires.read(client, 10) == b"still here"
    server.close()
    assert client.recv(1) == b""


def test_the_server_hanging_up_is_passed_on(wires):
    client, server = wires.pair()
    server.sendall(b"bye")
    server.close()
    assert wires.read(client, 4) == b"bye"
    client.close()


def test_a_reset_is_passed_on_as_a_reset(wires):
    for closing, other in ((0, 1), (1, 0)):
        ends = client, server = wires.pair()
        client.sendall(b"x")
        assert wires.read(server, 1) == b"x"  # before that, it would be a server that is down
        ends[closing].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        ends[closing].close()
        assert wires.was_reset(ends[other])


def test_a_server_that_is_down_is_an_orderly_end(wires):
    wires.stop("n1")
    client = wires.dial()
    assert client.recv(1) == b""
    client.sendall(b"anyone?")
    client.close()


def test_a_server_that_closes_at_once_is_an_orderly_end(wires):
    client, server = wires.pair()
    server.close()
    assert client.recv(1) == b""


def test_what_gave_up_before_its_server_was_reached_never_arrives(eventually):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        fillers = [fill(full) for _ in range(2)]  # the kernel takes in no third one
        with ProcessLinks({"n1": full.getsockname()}, clients=1) as links:
            before = open_files(links)
            with socket.create_connection(links.address(0, "n1")) as client:
                client.sendall(struct.pack(">i", 44))  # a handshake begins
                eventually(lambda: len(open_files(links)) == len(before) + 2)
            eventually(lambda: open_files(links) == before)
        for filler in fillers:
            filler.close()


def fill(listener):
    filler = socket.socket()
    filler.setblocking(False)
    filler.connect_ex(listener.getsockname())
    return filler


def open_files(links):
    return set(Path(f"/proc/{links.pid}/fd").iterdir())


def test_four_letter_words_pass_untouched(wires):
    client = wires.dial()
    client.sendall(b"ruok")
    client.shutdown(socket.SHUT_WR)
    server = wires.accept()
    assert wires.read(server, 5) == b"ruok"
    server.sendall(b"imok")
    server.close()
    assert wires.read(client, 5) == b"imok"


def test_connections_that_came_and_went_leave_nothing_open(wires):
    before = open_files(wires.links)
    for _ in range(20):
        client, server = wires.pair()
        client.sendall(b"x")
        assert wires.read(server, 1) == b"x"
        client.close()
        assert server.recv(1) == b""
        server.close()
    wires.eventually(lambda: open_files(wires.links) == before)
