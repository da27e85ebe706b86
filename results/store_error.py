"""Errors about the files of a run; their messages say what the user can do."""

import errno
from pathlib import Path
from typing import ClassVar, Self


class StoreError(Exception):
    """A run's files cannot be written: no space, no permission, something in the way.

    Args:
        path: the file or directory it is about.
        problem: what is wrong with it.
        remedy: what the user can do.
    """

    exit_code = 4
    """What the command line exits with: the environment does not allow it."""

    option: ClassVar[str] = "--runs DIR"
    """The option that chooses another place for a run's files."""

    def __init__(self, path: Path, problem: str, remedy: str) -> None:
        super().__init__(f"{path}: {problem}; {remedy}")
        self.path = path
        self.problem = problem
        self.remedy = remedy

    @classmethod
    def from_os_error(
        cls, path: Path, doing: str, error: OSError, *, option: str | None = None
    ) -> Self:
        """The error for an operating system's error.

        Args:
            path: the file or directory it is about.
            doing: what was tried.
            error: what came of it.
            option: the command's option that chooses another place, ``--cases DIR`` say; empty if
                it has none; None for that of what is written or read here.
        """
        reason = error.strerror or str(error)
        remedy, elsewhere = _REMEDIES.get(error.errno or 0, ("check the path", _CHOOSE))
        if option := cls.option if option is None else option:
            remedy += f", or {elsewhere} {option}" if elsewhere else ""
        return cls(path, f"cannot {doing} ({reason})", remedy)


class UnreadableRun(StoreError):  # noqa: N818 - it names the run, which is at fault
    """What was given is not a run, or a file of it is malformed."""

    exit_code = 2
    """What the command line exits with: wrong usage or file format."""

    option = ""


_CHOOSE, _USE = "choose another place with", "use"
_FREE = "free some space", _CHOOSE
_PERMIT = "make it accessible", _CHOOSE
_REMEDIES = {
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
    errno.EFBIG: ("raise the limit on file sizes (ulimit -f), or shorten the --time-limit", ""),
    errno.EACCES: _PERMIT,
    errno.EPERM: _PERMIT,
    errno.EROFS: ("it is mounted read-only: make it writable", _CHOOSE),
    errno.ENOTDIR: ("a file stands where a directory is needed: remove it", _USE),
    errno.EEXIST: ("something stands in its place: remove it", _USE),
    errno.EISDIR: ("a directory stands where a file is needed: remove it", _USE),
    errno.ENOENT: ("check that the path exists", ""),
}
"""Error number -> what helps, and how another place does, if it does."""
