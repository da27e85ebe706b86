"""A counter to which everybody's additions are added once, even when replies are lost.

The total is a node's data, changed by compare-and-set on its version, as text: kazoo's Counter
reads the same. That alone does not tell, after a lost reply, whether an addition was made. So each
addition has a **key**. The transaction that writes the total also writes a *receipt*: a child of
the counter, one for each adder's name, which holds the key and the total of that adder's last
addition. An adder that got no answer tries again: if the receipt has the addition's key, it was
made; and if the same write arrives twice, the version check refuses the second.

The receipt outlives sessions and processes: an adder that restarts under its name, and repeats an
addition under its key, does not add it twice. Only the last addition of each name is remembered, so
a name makes one addition at a time. (Helland, "Life beyond Distributed Transactions", CIDR 2007:
messages that are processed at most once are remembered with the state that they change.)
"""

import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NoNodeError

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.retrying_call import RetryingCall


class AdditionUnknown(OutcomeUnknown):
    """Nobody can say yet whether it was added, or will be.

    Add the same again under ``key`` to find out, or to have it added: it will be added once.
    """

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class Receipt:
    """An adder's last addition: its key, the total after it, and the version of the node."""

    key: str
    total: int
    version: int


class Counter(Recipe):
    """A counter of whole numbers at ``path``. See the module.

    One thread at a time may use it; others take an object, and a name, of their own.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode that holds the total; made as needed.
        name: whose receipts these are: one adder at a time. A name of its own if empty, whose
            receipt ``forget`` removes.
        grace: seconds by which a call may run over its timeout, for answers that are on their way.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"miscount", "stuck-waiter"}),
        notes=(
            "An addition of unknown outcome is added once if it is tried again under its key, by "
            "the same name, before that name adds anything else. Receipts of names that never come "
            "back are left: one node each."
        ),
    )

    def __init__(
        self, client: KazooClient, path: str, *, name: str = "", grace: float = 2.0
    ) -> None:
        if not path.startswith("/") or path.endswith("/"):
            raise ValueError(f"{path!r} is not an absolute znode path such as /counters/visits")
        self._client = client
        self._path = path
        self._receipt = f"{path}/{name or uuid.uuid4().hex}"
        self._grace = grace

    def add(self, amount: int, timeout: float | None = None, *, key: str = "") -> int:
        """Add, waiting for ever or for ``timeout`` seconds (plus ``grace``).

        Args:
            amount: of either sign.
            timeout: seconds.
            key: which addition this is, to try one again; a new one if empty.

        Returns:
            The total right after this addition.

        Raises:
            AdditionUnknown: no answer in time; nobody can say whether it was or will be added.
        """
        key = key or uuid.uuid4().hex
        with RetryingCall(self._client, timeout, self._grace) as call:
            total: int | None = call.rounds(lambda: self._add_once(call, amount, key))
        if total is None:
            raise AdditionUnknown(f"{self._path}: no answer in time", key)
        return total

    def read(self, timeout: float | None = None) -> int:
        """The total: everything that was added before the call is in it.

        Raises:
            NotDone: no answer in ``timeout`` seconds (plus ``grace``).
        """
        with RetryingCall(self._client, timeout, self._grace) as call:

            def read() -> int:
                self._catch_up(call)
                return self._total(call)[0]

            total: int | None = call.rounds(read)
        if total is None:
            raise NotDone(f"{self._path}: no answer in time")
        return total

    def forget(self, timeout: float | None = None) -> None:
        """Remove the receipt, once nothing will be tried again under this name.

        Raises:
            OutcomeUnknown: no answer in ``timeout`` seconds (plus ``grace``).
        """
        with RetryingCall(self._client, timeout, self._grace) as call:

            def remove() -> bool:
                with suppress(NoNodeError):
                    call.write(self._client.delete_async, self._receipt)
                return True

            if call.rounds(remove) is None:
                raise OutcomeUnknown(f"{self._path}: no answer in time, the receipt may be there")

    def _catch_up(self, call: RetryingCall) -> None:
        """See to it that the next read shows all that was added before this call."""
        call.settle(f"{self._path}/{uuid.uuid4().hex}")

    def _add_once(self, call: RetryingCall, amount: int, key: str) -> int | None:
        """Try until the time is over; see the module.

        The receipt is read before the total: an earlier write that comes in between makes the next
        one fail.
        """
        while True:
            receipt = self._last(call)
            if self._is_for(receipt, key):
                return receipt.total
            total, version = self._total(call)
            after = total + amount
            try:
                self._write(call, after, version, f"{key} {after}", receipt.version)
            except BadVersionError:
                if call.deadline.passed:
                    return None
            else:
                return after

    def _is_for(self, receipt: Receipt, key: str) -> bool:
        return receipt.key == key

    def _write(
        self, call: RetryingCall, total: int, version: int, receipt: str, receipt_version: int
    ) -> None:
        transaction = self._client.transaction()
        transaction.set_data(self._path, str(total).encode(), version)
        transaction.set_data(self._receipt, receipt.encode(), receipt_version)
        call.commit(transaction, self._path)

    def _total(self, call: RetryingCall) -> tuple[int, int]:
        data, version = self._node(call, self._path)
        return int(data or b"0"), version

    def _last(self, call: RetryingCall) -> Receipt:
        data, version = self._node(call, self._receipt)
        key, _, total = data.decode().rpartition(" ")
        return Receipt(key, int(total or 0), version)

    def _node(self, call: RetryingCall, path: str) -> tuple[bytes, int]:
        """A node's data and version; made if it is not there."""
        try:
            data, stat = call.read(self._client.get_async, path)
        except NoNodeError:
            call.write(self._client.ensure_path_async, path)
            data, stat = call.read(self._client.get_async, path)
        return data, stat.version
