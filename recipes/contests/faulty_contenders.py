"""Mistakes that every lock, semaphore or election can have, as classes to put before a sound one.

Each takes one step of ``recipes.contests.contender`` and its kin and gets it wrong.
"""

from rumpus.recipes.contests.contender import Contender
from rumpus.recipes.contests.contest import Entry


class NeverBelieves(Contender):
    """``held`` is always false: the flag that the listener sets is read the wrong way round."""

    @property
    def _believes(self) -> bool:
        return False


class BelievesForGood(Contender):
    """No listener: neither SUSPENDED nor LOST ends the belief."""

    @property
    def _believes(self) -> bool:
        return self._grant is not None


class IgnoresTimeout:
    """The timeout is not handed on."""

    def acquire(self, timeout: float | None = None) -> bool:
        return bool(super().acquire(None))  # type: ignore[misc]  # it is put before what has it


class HalvesTimeout:
    """The timeout is handed on twice, and each half of the way takes half of it."""

    def acquire(self, timeout: float | None = None) -> bool:
        half = None if timeout is None else timeout / 2
        return bool(super().acquire(half))  # type: ignore[misc]  # it is put before what has it


class CountsItsOwnGrants(Contender):
    """The token is the number of the client's own grants: it knows nothing of other clients'."""

    _counted: Entry | None = None
    _grants = 0

    @property
    def token(self) -> int | None:
        if self._grant is not None and self._grant is not self._counted:
            self._counted = self._grant
            self._grants += 1
        return None if self._grant is None else self._grants
