"""Elections with one known mistake each, which the harness must find."""

from typing import ClassVar

from recipes.election import FairElection


class BelievesAfterLostElection(FairElection):
    """Its leader does not listen."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "goes on believing that it leads while suspended, and after LOST"
    expected: ClassVar[frozenset[str]] = frozenset({"unaware-holder"})

    @property
    def _believes(self) -> bool:
        return self._grant is not None
