"""Requests to a cluster of etcd, through one of its servers at a time.

The library is etcd3gw, which speaks to etcd's JSON gateway. Keys and values are base64 there, and
numbers of 64 bits are text.
"""

import json
import random
import socket
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from rumpus.recipes.leases.lease_lock import REQUEST_S
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.servers import Servers

NO_LEASE: Final = "requested lease not found"
"""What etcd answers to a write under a lease that has ended."""

Answer = Mapping[str, Any]


class LeaseGone(NotDone):
    """etcd refused a write because its lease has ended: nothing happened, and nothing will."""


def encoded(text: str) -> str:
    """Text as the gateway wants keys and values."""
    return b64encode(text.encode()).decode()


def decoded(text: str) -> str:
    """What ``encoded`` was given."""
    return b64decode(text).decode()


def after_prefix(prefix: str) -> str:
    """The end of the range of all keys with a prefix, encoded; the prefix ends in ASCII."""
    return encoded(prefix[:-1] + chr(ord(prefix[-1]) + 1))


def created_at(key: str, revision: int) -> dict[str, Any]:
    """The comparison that a key was created at a revision; 0: that it does not exist."""
    return {"key": encoded(key), "target": "CREATE", "create_revision": revision}


def put(key: str, value: str, lease: int | None = None) -> dict[str, Any]:
    """The request to write a key, in a transaction."""
    request: dict[str, Any] = {"key": encoded(key), "value": encoded(value)}
    if lease is not None:
        request["lease"] = lease
    return {"request_put": request}


def get(key: str, **options: Any) -> dict[str, Any]:
    """The request to read a key, or a range that begins with it, in a transaction."""
    return {"request_range": {"key": encoded(key), **options}}


def delete(key: str, **options: Any) -> dict[str, Any]:
    """The request to delete a key, or a range that begins with it, in a transaction."""
    return {"request_delete_range": {"key": encoded(key), **options}}


def pairs(answer: Answer, place: int = 0) -> list[dict[str, Any]]:
    """The keys that the read at a place of a transaction has found."""
    found: list[dict[str, Any]] = answer["responses"][place]["response_range"].get("kvs", [])
    return found


def revision_of(answer: Answer) -> int:
    """The store's revision at an answer."""
    return int(answer["header"]["revision"])


@contextmanager
def answered() -> Iterator[None]:
    """Turn the library's errors into ``Unanswered`` and ``LeaseGone``."""
    # Only here, so in clients' processes: it imports eventlet if that is installed.
    from etcd3gw import exceptions  # noqa: PLC0415 - see above

    try:
        yield
    except (exceptions.Etcd3Exception, OSError) as error:  # those of requests are OSErrors
        if NO_LEASE in f"{error} {getattr(error, 'detail_text', '')}":
            raise LeaseGone(NO_LEASE) from error
        raise Unanswered(f"{type(error).__name__}: {error}") from error


class EtcdAccess:
    """One client's access; not for several threads. It begins with any of the servers.

    Args:
        servers: where they are.
    """

    def __init__(self, servers: Servers) -> None:
        self._addresses = [*servers.of("").values()]
        self._next = random.randrange(len(self._addresses))
        self._client: Any = None
        self._stream: Any = None
        with answered():
            pass  # the library is loaded now, not in the first call, which may have a timeout

    @contextmanager
    def asking(self) -> Iterator[Any]:
        """An ``Etcd3Client`` of a server; of the next one after an error.

        Raises:
            Unanswered: a request got no answer, or an error that does not tell its outcome.
            LeaseGone: a write was refused because its lease has ended.
        """
        try:
            with answered():
                yield self._server()
        except Unanswered:
            self.reconnect()
            raise

    def reconnect(self) -> None:
        """Drop the connection: the next request goes to the next server. From any thread.

        A watch ends, as if the connection had broken.
        """
        client, self._client = self._client, None
        if client is not None:
            client.session.close()
        stream = self._stream
        if stream is not None:
            with suppress(OSError, ValueError, AttributeError):  # it has ended meanwhile
                descriptor = socket.fromfd(stream.raw.fileno(), socket.AF_INET, socket.SOCK_STREAM)
                with descriptor:
                    descriptor.shutdown(socket.SHUT_RDWR)

    def _server(self) -> Any:
        if self._client is None:
            from etcd3gw import Etcd3Client  # noqa: PLC0415 - as above

            host, port = self._addresses[self._next % len(self._addresses)]
            self._next += 1
            self._client = Etcd3Client(host, port, timeout=REQUEST_S, api_path="/v3/")
        return self._client

    def transaction(
        self,
        compare: Sequence[Mapping[str, Any]],
        success: Sequence[Mapping[str, Any]],
        failure: Sequence[Mapping[str, Any]] = (),
    ) -> Answer:
        """Carry out the requests ``success`` if all comparisons hold, else those of ``failure``.

        Raises:
            Unanswered, LeaseGone: as ``asking``.
        """
        with self.asking() as etcd:
            answer: Answer = etcd.transaction(
                {"compare": [*compare], "success": [*success], "failure": [*failure]}
            )
            return answer

    def watch(
        self, key: str, revision: int, seconds: float, silence: float | None = None, **options: Any
    ) -> Iterator[dict[str, Any]]:
        """The events of a key (or of a range) from a revision on, as etcd's gateway gives them.

        The library's own watch would wait for ever for a server that takes a connection and does
        not answer.

        Args:
            key: the key, or where the range begins.
            revision: of the first event; 0: from now on.
            seconds: after which the stream ends.
            silence: seconds without an event after which the stream ends, if it is less.
            options: of the request; ``range_end``, say.

        Raises:
            Unanswered: the stream broke off, or etcd has forgotten the revision (compaction).
        """
        with self.asking() as etcd:
            request = {"key": encoded(key), "start_revision": revision, **options}
            deadline = Deadline(seconds)
            longest = seconds if silence is None else silence
            response = etcd.session.post(
                etcd.get_url("/watch"),
                json={"create_request": request},
                stream=True,
                timeout=(REQUEST_S, max(longest, REQUEST_S)),
            )
            self._stream = response
            try:
                for line in response.iter_lines(chunk_size=None):
                    said = json.loads(line) if line else {}
                    result = said.get("result", {})
                    if "error" in said or result.get("canceled"):
                        raise Unanswered(f"the watch was cancelled: {said}")
                    yield from result.get("events", [])
                    if deadline.passed:
                        return
            except OSError as error:
                # Silence is no error: nothing has happened.
                if not deadline.passed and "Read timed out" not in str(error):
                    raise Unanswered(f"the watch broke off: {error}") from error
            finally:
                self._stream = None
                response.close()
