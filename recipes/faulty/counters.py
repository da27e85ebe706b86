"""Counters with one known mistake each, which the harness must find."""

from typing import ClassVar

from recipes.counter import Counter, Receipt
from recipes.errand import Errand


class AddsAgainCounter(Counter):
    """It tries again whatever became of the first try."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "tries again after a lost connection, without looking whether it was added: a lost reply "
        "counts twice"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"miscount"})

    def _is_for(self, receipt: Receipt, key: str) -> bool:  # noqa: ARG002 - the recipe's signature
        return False


class BlindWriteCounter(Counter):
    """It writes what it has computed, whatever is there by now."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "reads, adds and writes without the version: of two that do so at once one is lost"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"miscount"})

    def _write(
        self,
        errand: Errand,
        total: int,
        version: int,  # noqa: ARG002 - that is the mistake
        receipt: str,
        receipt_version: int,
    ) -> None:
        super()._write(errand, total, -1, receipt, receipt_version)


class UnsyncedCounter(Counter):
    """It reads what its server has."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "reads the total without a sync: a server that is behind lacks what was added before"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"miscount"})

    def _catch_up(self, errand: Errand) -> None:
        """Nothing: the mistake."""
