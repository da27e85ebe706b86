"""The next number stands in a znode; whoever takes it writes the one after."""

import time

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError


class Numbers:
    """Takes a number only if nobody else has written since it was read."""

    def __init__(self, client: KazooClient, path: str) -> None:
        self.client = client
        self.path = path
        client.ensure_path(path)

    def take(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            data, stat = self.client.get(self.path)
            number = int(data or b"1")
            try:
                self._write(number + 1, stat.version)
            except BadVersionError:
                continue  # somebody else took it
            return number
        raise TimeoutError

    def _write(self, number: int, version: int) -> None:
        self.client.set(self.path, b"%d" % number, version)


class HastyNumbers(Numbers):
    """Forgets the version: two clients that read at the same time take the same number."""

    def _write(self, number: int, _version: int) -> None:
        self.client.set(self.path, b"%d" % number)
