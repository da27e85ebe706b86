"""A counter to which each addition is added exactly once, even when replies are lost.

The total is a node's data, as text, and is changed by compare-and-set on the node's version, as in
kazoo's Counter. That alone does not tell, after a lost reply, whether an addition was made. So each
addition has a **key**. The transaction that writes the total also writes a *receipt*: a child of
the counter, one for each client's name, which holds the key of that client's last addition and the
total after it. A client that got no answer tries again: if the receipt has the addition's key, the
addition was made; and if the same write arrives twice, the version check refuses the second.

The receipt outlives sessions and processes: a client that restarts under the same name, and repeats
an addition under its key, does not add twice. Only the last addition of each name is remembered, so
a name makes one addition at a time. (Helland, "Life beyond Distributed Transactions", CIDR 2007,
keeps the messages that were processed together with the state that they changed.)
"""

import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NoNodeError

from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.retrying_recipe import RetryingRecipe


class AdditionUnknown(OutcomeUnknown):
    """It is not known whether the addition was made, or will be.

    Repeat the addition under ``key``: it is made once.
    """

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class Receipt:
    """A client's last addition: its key, the total after it, and the version of the receipt."""

    key: str
    total: int
    version: int


class Counter(RetryingRecipe):
    """A counter of whole numbers at ``path``. See the module.

    One thread at a time may use it; each thread needs an object and a name of its own.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode that holds the total; created as needed.
        name: the name of this client's receipt, used by one client at a time. A new unique name
            if empty; call ``forget`` in the end to remove its receipt.
        grace: seconds by which a call may exceed its timeout, to await late answers.

    Raises:
        ValueError: ``path`` is not an absolute znode path.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"miscount", "overdue-call", "stuck-waiter"}),
        notes=(
            "An addition of unknown outcome is made once if the same name repeats it under its "
            "key before it adds anything else. The receipt of a name stays until ``forget``: one "
            "node for each name."
        ),
    )

    def __init__(
        self, client: KazooClient, path: str, *, name: str = "", grace: float = 2.0
    ) -> None:
        super().__init__(client, path, grace=grace)
        self._receipt = f"{path}/{name or uuid.uuid4().hex}"

    def add(self, amount: int, timeout: float | None = None, *, key: str = "") -> int:
        """Add, waiting for ever or for ``timeout`` seconds (plus ``grace``).

        Args:
            amount: what to add; may be negative.
            timeout: seconds.
            key: identifies the addition, so that it can be repeated; a new one if empty.

        Returns:
            The total right after this addition.

        Raises:
            AdditionUnknown: no answer in time; the addition may have been made, or may be yet.
        """
        key = key or uuid.uuid4().hex
        with self._call(timeout) as call:
            total: int | None = call.rounds(lambda: self._add_once(call, amount, key))
        if total is None:
            raise AdditionUnknown(f"{self._path}: no answer in time", key)
        return total

    def read(self, timeout: float | None = None) -> int:
        """The total, with all additions that were made before the call.

        Raises:
            NotDone: no answer in ``timeout`` seconds (plus ``grace``).
        """
        with self._call(timeout) as call:

            def read() -> int:
                self._catch_up(call)
                return self._total(call)[0]

            total: int | None = call.rounds(read)
        if total is None:
            raise NotDone(f"{self._path}: no answer in time")
        return total

    def forget(self, timeout: float | None = None) -> None:
        """Remove the receipt, once no addition will be repeated under this name.

        Raises:
            OutcomeUnknown: no answer in ``timeout`` seconds (plus ``grace``).
        """
        with self._call(timeout) as call:

            def remove() -> bool:
                with suppress(NoNodeError):
                    call.write(self._client.delete_async, self._receipt)
                return True

            self._complete(call, remove, "no answer in time, the receipt may be there")

    def _catch_up(self, call: RetryingCall) -> None:
        """Make sure that the next read shows all additions made before this call."""
        call.settle(f"{self._path}/{uuid.uuid4().hex}")

    def _add_once(self, call: RetryingCall, amount: int, key: str) -> int | None:
        """Try until it is added or the time is over; see the module.

        The receipt is read before the total: if an earlier write takes effect between the two
        reads, the next write fails its version check.
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
        """A node's data and version; creates the node if it is missing."""
        try:
            data, stat = call.read(self._client.get_async, path)
        except NoNodeError:
            call.write(self._client.ensure_path_async, path)
            data, stat = call.read(self._client.get_async, path)
        return data, stat.version
