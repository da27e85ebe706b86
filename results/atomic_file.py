"""Writing a file, or a symbolic link, so that no reader ever sees half of it."""

import contextlib
import errno
import os
from pathlib import Path

from rumpus.checker.untrusted_file import other_than_file
from rumpus.results.store_error import StoreError


def write_atomically(path: Path, content: bytes | str, *, option: str | None = None) -> None:
    """Write a file in one step: a reader sees either the old content or all of the new.

    Text is written as UTF-8; what cannot be encoded becomes a question mark.

    Args:
        path: the file.
        content: all of it.
        option: see `StoreError.from_os_error`.

    Raises:
        StoreError: it cannot be written, or a pipe or a device has its name; no temporary file is
            left.
    """
    _refuse_pipes(path, option)
    draft = _draft(path)
    try:
        data = content.encode(errors="replace") if isinstance(content, str) else content
        _write_draft(draft, data)
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # the name may be one that no file can have
            draft.unlink()
        raise StoreError.from_os_error(path, "write it", error, option=option) from error


def check_writable(path: Path, *, option: str) -> None:
    """Find out whether a file could be written now, also in a directory that is still to be made.

    Nothing is left behind.

    Raises:
        StoreError: it could not be; `write_atomically` would say the same.
    """
    _refuse_pipes(path, option)
    place = path.parent
    while not os.path.lexists(place):
        place = place.parent
    # Where a directory has to be made a name of our own is as good as the one that is missing.
    draft = _draft(path) if place == path.parent else place / f".rumpus.{os.getpid()}"
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        try:
            _write_draft(draft, b"1")  # the first byte takes space
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError.from_os_error(path, "write it", error, option=option) from error


def named_file(path: Path, *, option: str) -> Path:
    """The file that a user names to be written: a symbolic link stands for what it leads to.

    Only for what a user names: a link that somebody has put among the files of a run is replaced.

    Args:
        path: as the user names it.
        option: that names it.

    Raises:
        StoreError: it is a link that leads nowhere.
    """
    try:
        if not path.is_symlink():
            return path
        if path.exists():
            return path.resolve(strict=True)
    except OSError:  # the attempt to write says why it cannot be
        return path
    problem = "cannot write it (it is a symbolic link that leads nowhere)"
    raise StoreError(path, problem, f"remove it, or choose another place with {option}")


def inside(directory: Path, place: str | Path, *, option: str) -> Path:
    """The path of a file in a directory, by folders that are made if they are missing.

    None of these is a link: whoever hands a directory on could have files written elsewhere by it.

    Args:
        directory: as the user names it.
        place: of the file in it.
        option: that names the directory.

    Raises:
        StoreError: a folder on the way is a link, or cannot be made.
    """
    path = directory
    for name in Path(place).parts[:-1]:
        path /= name
        if path.is_symlink():
            remedy = f"remove it, or choose another place with {option}"
            raise StoreError(path, "cannot write in it (it is a symbolic link)", remedy)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError.from_os_error(
                path, "make the directory", error, option=option
            ) from error
    return directory / place


def _refuse_pipes(path: Path, option: str | None) -> None:
    """Refuse to put a file in the place of a pipe or a device, which others use.

    Raises:
        StoreError: one has the name, or a link of that name leads to one.
    """
    try:
        what = other_than_file(path.stat().st_mode)
    except OSError:  # nothing is there, or the attempt to write says why it cannot be
        return
    if what and not path.is_dir():
        option = StoreError.option if option is None else option
        remedy = f"choose another place with {option}" if option else "remove it"
        raise StoreError(path, f"cannot write it (it is {what})", remedy)


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")


def _write_draft(draft: Path, data: bytes) -> None:
    """Write a new file. A killed process of the same number may have left one of its name.

    So may a stranger, for all numbers: a link of that name is not followed.
    """
    draft.unlink(missing_ok=True)
    with draft.open("xb") as file:
        file.write(data)


def link_atomically(link: Path, target: Path) -> None:
    """Point a symbolic link at a target (relative to the link), replacing an earlier link.

    Raises:
        StoreError: it cannot be made, or something that is not a link has its name.
    """
    if not link.is_symlink() and link.exists():
        raise StoreError(
            link, "stands where a link to the latest run belongs", "move it out of the way"
        )
    draft = link.with_name(f".{link.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        draft.symlink_to(target)
        draft.replace(link)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StoreError.from_os_error(link, "link to the latest run", error) from error
