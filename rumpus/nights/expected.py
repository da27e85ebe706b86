"""Failures that are expected: a file of the repository says which, why, and until when.

::

    [[expected]]
    failure = "3f2a91c0de"
    reason = "kazoo keeps no order after a reconnect: fixed with our move to 3.0"
    until = 2027-01-31
"""

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rumpus.untrusted_toml import read_toml
from rumpus.usage_error import UsageError


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An expectation.

    Args:
        failure: the failure's identifier, or its first digits, at least four.
        reason: why it is accepted for now.
        until: the last day on which it is.
    """

    failure: str
    reason: str
    until: dt.date

    def covers(self, failure: str, today: dt.date) -> bool:
        """Whether it says that a failure is expected today."""
        return failure.startswith(self.failure) and today <= self.until

    def __str__(self) -> str:
        """As in ``3f2a91c0de (flaky network, until 2027-01-31)``."""
        return f"{self.failure} ({self.reason}, until {self.until})"


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    expected: tuple[Expected, ...] = ()


def load_expected(path: Path) -> Sequence[Expected]:
    """The expectations of a file; none if there is no such file.

    Raises:
        UsageError: it is malformed; the message names the file and the key.
        UnreadableRun: it is no regular file, or is too large.
    """
    if not path.exists():
        return ()
    raw = read_toml(path, "read the expected failures")
    try:
        found = msgspec.convert(raw, _File)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}") from error
    for each in found.expected:
        if len(each.failure) < 4:
            raise UsageError(f"{path}: failure {each.failure!r}: give at least four digits")
    return found.expected
