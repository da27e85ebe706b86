"""What the links cost: round trips and throughput through the proxy and on a direct connection.

Requests and replies are of the size that a lock recipe's are, framed as ZooKeeper's, against a
peer in a process of its own that answers at once.

``python -m benchmarks.links [--quick]``
"""

import multiprocessing
import socket
import statistics
import struct
import time
from collections.abc import Callable

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from rumpus.harness.links.link_process import ProcessLinks

ROUND_TRIPS = 5_000
WARM_UP = 500
REQUEST = struct.pack(">iii", 96, 1, 3) + bytes(88)  # an exists, as long as a lock's path makes it
STREAMED = 256 << 20  # bytes
BLOCK = struct.pack(">i", (64 << 10) - 4) + bytes((64 << 10) - 4)


def echo(listener: socket.socket) -> None:
    """Send back whatever comes, one connection after the other."""
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            while data := connection.recv(1 << 16):
                connection.sendall(data)


def sink(listener: socket.socket) -> None:
    """Read to the end of each connection, then say so with one byte."""
    while True:
        connection, _ = listener.accept()
        with connection:
            while connection.recv(1 << 18):
                pass
            connection.sendall(b".")


def round_trips(address: tuple[str, int], count: int) -> list[float]:
    """Microseconds of each round trip, sorted."""
    took = []
    with socket.create_connection(address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(WARM_UP + count):
            began = time.perf_counter_ns()
            connection.sendall(REQUEST)
            missing = len(REQUEST)
            while missing:
                missing -= len(connection.recv(missing))
            took.append((time.perf_counter_ns() - began) / 1e3)
    return sorted(took[WARM_UP:])


def throughput(address: tuple[str, int], streamed: int) -> float:
    """Megabytes a second from here to the peer."""
    with socket.create_connection(address) as connection:
        began = time.perf_counter()
        for _ in range(streamed // len(BLOCK)):
            connection.sendall(BLOCK)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
        return streamed / 1e6 / (time.perf_counter() - began)


def serve(peer: Callable[[socket.socket], None]) -> tuple[str, int]:
    listener = socket.create_server(("127.0.0.1", 0))
    context = multiprocessing.get_context("fork")
    context.Process(target=peer, args=(listener,), daemon=True).start()
    address: tuple[str, int] = listener.getsockname()
    listener.close()
    return address


def measure(scale: Scale) -> Table:
    count, streamed = scale.count(ROUND_TRIPS), scale.count(STREAMED)
    echoing, sinking = serve(echo), serve(sink)
    with ProcessLinks({"echo": echoing, "sink": sinking}, clients=1) as links:
        direct = round_trips(echoing, count)
        linked = round_trips(links.address(0, "echo"), count)
        direct_speed = throughput(sinking, streamed)
        linked_speed = throughput(links.address(0, "sink"), streamed)
    table = Table(title="What the links cost")
    for heading in ("", "direct", "link", "added"):
        table.add_column(heading, justify="right")
    for name, pick in (
        ("round trip, median (µs)", statistics.median),
        ("round trip, mean (µs)", statistics.fmean),
        ("round trip, p99 (µs)", lambda sample: sample[len(sample) * 99 // 100]),
    ):
        a, b = pick(direct), pick(linked)
        table.add_row(name, f"{a:.1f}", f"{b:.1f}", f"{b - a:.1f}")
    table.add_row("one way, 64 KiB (MB/s)", f"{direct_speed:.0f}", f"{linked_speed:.0f}", "")
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
