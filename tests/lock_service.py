"""A service that grants locks over TCP, as a process of its own: ``python -m tests.lock_service``.

It says on which port it listens. Each request is a line, and so is its answer:

``LOCK name wait ttl``
    A token once it is granted, 0 after ``wait`` seconds. The grant ends after ``ttl`` seconds; with
    0, when the connection does.
``RENEW name token ttl``, ``FREE name token``
    1 if the grant is still the token's, else 0.
"""

import contextlib
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path

FOREVER = float("inf")


class Locks:
    """Who has which lock: name -> token, the end of the grant, and the connection that it needs."""

    def __init__(self):
        self._changed = threading.Condition()
        self._granted = {}
        self._tokens = 0

    def lock(self, connection, name, wait, ttl):
        deadline = time.monotonic() + wait
        with self._changed:
            while self._is_taken(name):
                left = min(deadline, self._granted[name][1]) - time.monotonic()
                if time.monotonic() >= deadline:
                    return 0
                self._changed.wait(max(0.001, min(left, wait)))
            self._tokens += 1
            end = time.monotonic() + ttl if ttl else FOREVER
            self._granted[name] = (self._tokens, end, None if ttl else connection)
            return self._tokens

    def renew(self, name, token, ttl):
        with self._changed:
            if not self._is_taken(name) or self._granted[name][0] != token:
                return 0
            self._granted[name] = (token, time.monotonic() + ttl, None)
            return 1

    def free(self, name, token):
        with self._changed:
            if not self._is_taken(name) or self._granted[name][0] != token:
                return 0
            del self._granted[name]
            self._changed.notify_all()
            return 1

    def hang_up(self, connection):
        with self._changed:
            for name, (_, _, needed) in [*self._granted.items()]:
                if needed is connection:
                    del self._granted[name]
            self._changed.notify_all()

    def _is_taken(self, name):
        return name in self._granted and time.monotonic() < self._granted[name][1]


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Connection)
        self.locks = Locks()


class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        locks = self.server.locks
        with contextlib.suppress(OSError):
            for line in self.rfile:
                command, name, *numbers = line.decode().split()
                if command == "LOCK":
                    told = locks.lock(self, name, *map(float, numbers))
                elif command == "RENEW":
                    told = locks.renew(name, int(numbers[0]), float(numbers[1]))
                else:
                    told = locks.free(name, int(numbers[0]))
                self.wfile.write(f"{told}\n".encode())

    def finish(self):
        self.server.locks.hang_up(self)
        with contextlib.suppress(OSError):
            super().finish()


@contextlib.contextmanager
def lock_service():
    """The address of a service that runs in the block, ``host:port``."""
    root = Path(__file__).resolve().parents[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.lock_service"], cwd=root, stdout=subprocess.PIPE, text=True
    )
    try:
        yield f"127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    with Server() as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()
