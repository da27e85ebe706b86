"""The lock of a day's books: whoever has the advisory lock closes them."""

import hashlib
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.errors import LockNotAvailable

PATIENCE = "connect_timeout=2 keepalives_idle=1 keepalives_interval=1 tcp_user_timeout=2000"


class BookLock:
    """PostgreSQL frees an advisory lock when its session ends, and a session when its connection
    does. The worker that had the lock is not told."""

    outcome_unknown = psycopg.Error

    def __init__(self, client: None, path: str, services: Mapping[str, str]) -> None:
        host, _, port = services["postgresql"].rpartition(":")
        self.address = f"host={host} port={port} user=postgres dbname=postgres {PATIENCE}"
        self.key = int.from_bytes(hashlib.sha256(path.encode()).digest()[:8], "big", signed=True)
        self._connection: psycopg.Connection[Any] | None = None

    def acquire(self, timeout: float = 10.0) -> bool:
        patience = f"{max(1, timeout * 1000):.0f}"
        try:
            self.ask("SELECT set_config('lock_timeout', %s, false)", patience)
            self.ask("SELECT pg_advisory_lock(%s)", self.key)
        except LockNotAvailable:
            self.ask("SELECT pg_advisory_unlock_all()")  # it may just have been granted
            return False
        return True

    def release(self) -> None:
        self.ask("SELECT pg_advisory_unlock_all()")

    def ask(self, request: str, *arguments: object) -> Any:
        """The first row of an answer. A connection that was lost is made again."""
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.address, autocommit=True)
        return self._connection.execute(request, arguments).fetchone()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
