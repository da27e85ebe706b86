"""A workload's client that keeps files and listens, for tests of what the harness lends it."""

import socket
import threading

from rumpus.harness.clients.client_body import Outcome


class LodgerClient:
    grants = ends = ""

    def __init__(self, context):
        self._context = context
        self._listener = None

    def believes(self):
        return self._listener is not None

    def close(self):
        """Nothing goes on in the background."""

    def invoke(self, f, value):
        return Outcome("ok", getattr(self, f)(value))

    def append(self, text):
        self._context.home.append("log", text.encode())

    def read(self, _):
        return self._context.home.read("log").decode()

    def listen(self, _):
        """Answer everybody with what they say, in capitals."""
        self._listener = socket.create_server((self._context.host, 0))
        threading.Thread(target=self._answer, args=(self._listener,), daemon=True).start()
        self._context.look_at_belief()
        return list(self._listener.getsockname())

    @staticmethod
    def _answer(listener):
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rwb") as stream:
                stream.write(stream.readline().upper())

    def call(self, value):
        host, port, text = value
        try:
            with socket.create_connection((host, port), timeout=2) as connection:
                connection.sendall(text.encode() + b"\n")
                return connection.makefile("rb").readline().decode().strip()
        except OSError as error:
            return type(error).__name__


def build(**_options):
    return LodgerClient
