"""The exit code of each way in which a command can end."""

import errno
import importlib
from typing import Final

from rumpus.results.store_error import StoreError, UnreadableRun
from rumpus.usage_error import UsageError

VALID, VIOLATION, USAGE, UNDECIDED, ENVIRONMENT, DEFECT = range(6)

MEANINGS: Final = {
    VALID: "valid",
    VIOLATION: "violation",
    USAGE: "wrong usage",
    UNDECIDED: "unknown, inconclusive or interrupted",
    ENVIRONMENT: "this host does not allow it",
    DEFECT: "a defect of rumpus",
}

_OF_HOST: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EROFS}
)
"""Errors of the operating system that are the host's fault wherever they are raised."""


def exit_code(error: BaseException) -> int:
    """The exit code of a command that was ended by an exception."""
    if isinstance(error, KeyboardInterrupt):
        return UNDECIDED
    if isinstance(error, (UsageError, UnreadableRun)):
        return USAGE
    if isinstance(error, (StoreError, MemoryError)):
        return ENVIRONMENT
    if isinstance(error, OSError) and error.errno in _OF_HOST:
        return ENVIRONMENT
    # Imported only after a failure: the modules of runs are slow to import.
    if isinstance(error, importlib.import_module("rumpus.nemesis.entry").PlanError):
        return USAGE
    if isinstance(error, importlib.import_module("rumpus.harness.ensemble").EnvironmentRefusal):
        return ENVIRONMENT
    return DEFECT
