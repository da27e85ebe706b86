"""Locks on the service of ``tests.lock_service``: sound ones, and one with a mistake."""

import socket
import threading
import time

PATIENCE_S = 0.5
TTL_S = 1.0
MARGIN_S = 0.25


class Asker:
    """Asks the service, on a connection that is made again when it has failed."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self._address = host, int(port)
        self._file = None

    def ask(self, *words, wait=0.0):
        if self._file is None:
            with socket.create_connection(self._address, PATIENCE_S) as connection:
                self._file = connection.makefile("rwb", buffering=0)
                self._socket = connection.dup()
        try:
            self._socket.settimeout(PATIENCE_S + wait)
            self._file.write(" ".join(map(str, words)).encode() + b"\n")
            answer = self._file.readline()
            if not answer:
                raise ConnectionError("the service has hung up")
            return int(answer)
        except OSError as error:
            self.close()
            raise ConnectionError(f"{type(error).__name__}: {error}") from error

    def close(self):
        if self._file is not None:
            self._file.close()
            self._socket.close()
            self._file = None


class ConnectedLock:
    """Holds by its connection, and never looks whether that is still there."""

    def __init__(self, client, path, services):
        assert client is None, "there is no ZooKeeper"
        self.path = path
        self._asker = Asker(services["locks"])
        self._token = 0

    def acquire(self, timeout):
        self._token = self._asker.ask("LOCK", self.path, timeout, 0, wait=timeout)
        return bool(self._token)

    def release(self):
        self._asker.ask("FREE", self.path, self._token)

    def close(self):
        self._asker.close()


class LeasedLock(ConnectedLock):
    """Holds for a time that it counts itself, from before each answered request."""

    def __init__(self, client, path, services):
        super().__init__(client, path, services)
        self._until = 0.0
        self._renewing = threading.Lock()
        threading.Thread(target=self._keep, daemon=True).start()

    def remaining(self):
        return max(0.0, self._until - time.monotonic())

    def acquire(self, timeout):
        with self._renewing:
            end = time.monotonic() + timeout
            while True:  # a grant counts from when it was asked for, so wait in short steps
                asked = time.monotonic()
                step = min(0.1, max(0.0, end - asked))
                self._token = self._asker.ask("LOCK", self.path, step, TTL_S, wait=step)
                if self._token:
                    self._until = asked + TTL_S - MARGIN_S
                    return True
                if time.monotonic() >= end:
                    return False

    def release(self):
        with self._renewing:
            self._until = 0.0
            super().release()

    def _keep(self):
        while True:
            time.sleep(0.1)
            with self._renewing:
                if not self.remaining():
                    continue
                asked = time.monotonic()
                try:
                    kept = self._asker.ask("RENEW", self.path, self._token, TTL_S)
                except ConnectionError:
                    continue
                self._until = asked + TTL_S - MARGIN_S if kept else 0.0
