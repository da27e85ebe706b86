"""Errors about the files of a run; their messages say what the user can do."""

import errno
from pathlib import Path
from typing import Self


class StoreError(Exception):
    """A run's files cannot be written: no space, no permission, something in the way.

    Args:
        path: the file or directory it is about.
        problem: what is wrong with it.
        remedy: what the user can do.
    """

    exit_code = 4
    """What the command line exits with: the environment does not allow it."""

    def __init__(self, path: Path, problem: str, remedy: str) -> None:
        super().__init__(f"{path}: {problem}; {remedy}")
        self.path = path
        self.problem = problem
        self.remedy = remedy

    @classmethod
    def from_os_error(cls, path: Path, doing: str, error: OSError) -> Self:
        """The error for an operating system's error; ``doing`` says what was tried."""
        reason = error.strerror or str(error)
        return cls(path, f"cannot {doing} ({reason})", _REMEDIES.get(error.errno or 0, _CHECK))


class UnreadableRun(StoreError):  # noqa: N818 - it names the run, which is at fault
    """What was given is not a run, or a file of it is malformed."""

    exit_code = 2
    """What the command line exits with: wrong usage or file format."""


_FREE = "free some space, or choose another place with --runs DIR"
_PERMIT = "make it accessible, or choose another place with --runs DIR"
_CHECK = "check the path, or choose another place with --runs DIR"
_REMEDIES = {
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
    errno.EFBIG: "raise the limit on file sizes (ulimit -f), or choose a shorter --time-limit",
    errno.EACCES: _PERMIT,
    errno.EPERM: _PERMIT,
    errno.EROFS: "it is mounted read-only: choose another place with --runs DIR",
    errno.ENOTDIR: "a file stands where a directory is needed: remove it, or use --runs DIR",
    errno.EEXIST: "something stands in its place: remove it, or use --runs DIR",
    errno.EISDIR: "a directory stands where a file is needed: remove it, or use --runs DIR",
    errno.ENOENT: "check that the path exists",
}
