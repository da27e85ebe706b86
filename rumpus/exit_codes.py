"""The exit code of each way in which a command can end."""

import errno
import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from rumpus.harness.memory import allowed
from rumpus.harness.run_limits import RunTooLong
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

_SHOWN: Final = 100
"""Characters that are shown of a path that is too long for one."""

EXTRAS: Final = {
    "cryptography": "sign",
    "docker": "docker",
    "requests": "docker",
    "starlette": "serve",
    "uvicorn": "serve",
}
"""Packages that only some commands need -> the extra of this package that installs them."""


def in_words(error: BaseException) -> str:
    """What an exception says, with the remedy if the host is at fault."""
    if isinstance(error, MemoryError):
        return _short_of_memory()
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        name = str(error.filename)
        told = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
        return f"{told}: it is too long for a path; name a shorter one"
    if isinstance(error, OSError) and exit_code(error) == ENVIRONMENT:
        place = Path(str(error.filename or "a file of the run"))
        return str(StoreError.from_os_error(place, "write it", error, option=""))
    if isinstance(error, ModuleNotFoundError) and (extra := _extra(error)):
        package = (error.name or "").partition(".")[0]
        return f"the package {package} is not installed: pip install 'rumpus[{extra}]'"
    return str(error)


def _short_of_memory() -> str:
    words = "there is not enough memory: "
    if (most := allowed()) is None:
        return f"{words}give it a machine that has more, or a shorter history"
    return (
        f"{words}it may take {most // 10**6} MB. If you trust who made what it reads, give it "
        "more, such as --memory 4G"
    )


def _extra(error: ModuleNotFoundError) -> str | None:
    """The extra that installs what is missing; None if none of ours does."""
    return EXTRAS.get((error.name or "").partition(".")[0])


def campaign_exit_code(*, failed: bool, errors: Iterable[int] = (), undecided: bool = False) -> int:
    """The exit code of a command that performs many runs.

    A failure that was found stands. Without one, a run that could not be performed is never less
    grave than a run that was: nobody has looked there.

    Args:
        failed: whether a failure was found.
        errors: the exit codes of the runs that could not be performed.
        undecided: whether something else is open: nothing was judged, or not all was done.
    """
    if failed:
        return VIOLATION
    # A run that was killed has a signal's number, and one that has an error was never valid.
    codes = [code if USAGE <= code <= DEFECT else DEFECT for code in errors]
    return max([*codes, UNDECIDED if undecided else VALID])


def ending(code: int, *, interrupted: bool = False) -> dict[str, Any]:
    """How a command has ended, for the JSON document that it prints.

    ``outcome`` is ``none`` if there is an error that kept the command from its answer.
    """
    outcomes = {VALID: "valid", VIOLATION: "violation", UNDECIDED: "unknown"}
    outcome = outcomes.get(code, "none")
    return {"outcome": outcome, "exit_code": code, "interrupted": interrupted}


def exit_code(error: BaseException) -> int:
    """The exit code of a command that was ended by an exception."""
    if isinstance(error, (KeyboardInterrupt, RunTooLong)):
        return UNDECIDED
    if isinstance(error, (UsageError, UnreadableRun)):
        return USAGE
    if isinstance(error, (StoreError, MemoryError)):
        return ENVIRONMENT
    if isinstance(error, OSError) and error.errno in _OF_HOST:
        return ENVIRONMENT
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return USAGE
    if isinstance(error, ModuleNotFoundError) and _extra(error):
        return ENVIRONMENT
    # Imported only after a failure: the modules of runs are slow to import.
    if isinstance(error, importlib.import_module("rumpus.nemesis.entry").PlanError):
        return USAGE
    if isinstance(error, importlib.import_module("rumpus.harness.ensemble").EnvironmentRefusal):
        return ENVIRONMENT
    return DEFECT
