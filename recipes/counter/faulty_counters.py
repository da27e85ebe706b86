"""Counters with one known mistake each, which the harness must find."""

import time
from functools import cached_property

from rumpus.recipes.contests.faulty_calls import REST_S
from rumpus.recipes.counter.receipt_counter import AdditionUnknown, Counter, Receipt
from rumpus.recipes.mistake import given, made
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.requests.session import Session


class AddsAgainCounter(Counter):
    def _is_for(self, receipt: Receipt, key: str) -> bool:
        return given(False, super()._is_for(receipt, key), key)


class BlindWriteCounter(Counter):
    def _write(
        self, call: RetryingCall, total: int, version: int, receipt: str, receipt_version: int
    ) -> None:
        transaction = self._client.transaction()
        transaction.set_data(self._path, str(total).encode(), -1)
        transaction.set_data(self._receipt, receipt.encode(), receipt_version)
        written, _ = call.commit(transaction, self._path)
        if written.version != version + 1:
            made(receipt.partition(" ")[0])


class AddsOneCounter(Counter):
    def add(self, amount: int, timeout: float | None = None, *, key: str = "") -> int:
        if amount != 1:
            made()
        return super().add(1, timeout, key=key)


class LooksAfterwardsCounter(Counter):
    def _add_once(self, call: RetryingCall, amount: int, key: str) -> int | None:
        added = super()._add_once(call, amount, key)
        return None if added is None else given(self._total(call)[0], added)


class FirstSessionCounter(Counter):
    @cached_property
    def _first(self) -> Session:
        return Session(self._client)

    def add(self, amount: int, timeout: float | None = None, *, key: str = "") -> int:
        if self._first.lost:
            made(own=True)
            time.sleep(timeout or 0.0)
            raise AdditionUnknown(f"{self._path}: the session has ended", key)
        return super().add(amount, timeout, key=key)

    def read(self, timeout: float | None = None) -> int:
        if self._first.lost:
            made(own=True)
            time.sleep(timeout or 0.0)
            raise NotDone(f"{self._path}: the session has ended")
        return super().read(timeout)


class RestsAfterTimeoutCounter(Counter):
    def add(self, amount: int, timeout: float | None = None, *, key: str = "") -> int:
        try:
            return super().add(amount, timeout, key=key)
        except AdditionUnknown:
            made(own=True)
            time.sleep(REST_S)
            raise
