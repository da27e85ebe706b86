"""A lock on etcd: a key that is created under a lease if there is none; its revision is the token.

The key is written by a transaction that compares its create revision with 0, under a lease with a
time to live. etcd removes the key when the lease ends. The revision at which the key was created is
the fencing token: every later grant has a higher one (``go.etcd.io/etcd/client/v3/concurrency``
uses the same revision as the order in which contenders queue).

``EtcdLock`` never renews the lease, so the time to live bounds a hold. The lease is granted for
each try of its own. etcd counts a lease in whole seconds.
"""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any, ClassVar

from rumpus.recipes.leases.lease_lock import LEASE, REQUEST_S, TTL_S, Granted, LeaseLock
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.servers import Servers


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


@contextmanager
def answered() -> Iterator[None]:
    """Turn the library's errors into ``Unanswered``."""
    # Only here, so in clients' processes: it imports eventlet if that is installed.
    from etcd3gw import exceptions  # noqa: PLC0415 - see above

    try:
        yield
    except (exceptions.Etcd3Exception, OSError) as error:  # those of requests are OSErrors
        raise Unanswered(f"{type(error).__name__}: {error}") from error


class EtcdLock(LeaseLock):
    """See the module."""

    system: ClassVar[str] = "etcd"
    library: ClassVar[str] = "etcd3gw"
    promises: ClassVar[Promises] = Promises(
        prevents=LEASE | {"token-regression"},
        tokens=True,
        notes="Order is not promised. A holder that is frozen between a look and its action can "
        "act after the lease has passed on: let the resource check tokens.",
    )

    bound: ClassVar[bool] = True
    """Whether the key ends with the lease."""

    def __init__(self, servers: Servers, path: str, **options: Any) -> None:
        super().__init__(servers, path, **options)
        self._addresses = cycle(servers.of("").values())
        self._client: Any = None

    def _server(self) -> Any:
        if self._client is None:
            from etcd3gw import Etcd3Client  # noqa: PLC0415 - as above

            host, port = next(self._addresses)
            self._client = Etcd3Client(host, port, timeout=REQUEST_S, api_path="/v3/")
        return self._client

    @contextmanager
    def _asking(self) -> Iterator[Any]:
        """A client of a server; of the next one after an error."""
        try:
            with answered():
                yield self._server()
        except Unanswered:
            self._client = None
            raise

    def _try(self, owner: int) -> Granted | None:
        with self._asking() as etcd:
            lease = etcd.lease(ttl=round(TTL_S))
            key = _encoded(self._key)
            put = {"key": key, "value": _encoded(str(owner))}
            if self.bound:
                put["lease"] = lease.id
            answer = etcd.transaction(
                {
                    "compare": [{"key": key, "target": "CREATE", "create_revision": 0}],
                    "success": [{"request_put": put}],
                    "failure": [],
                }
            )
            if answer.get("succeeded"):
                return Granted(int(answer["header"]["revision"]))
            lease.revoke()
            return None

    def _remove(self, owner: int) -> bool:
        with self._asking() as etcd:
            key = _encoded(self._key)
            ours = {"key": key, "target": "VALUE", "value": _encoded(str(owner))}
            answer = etcd.transaction(
                {
                    "compare": [ours],
                    "success": [{"request_delete_range": {"key": key}}],
                    "failure": [],
                }
            )
            return bool(answer.get("succeeded"))

    def left(self) -> list[str]:
        """The key, if it is there."""
        with self._asking() as etcd:
            return [self._key] if etcd.get(self._key) else []
