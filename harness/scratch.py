"""Temporary directories that are found again if their process is killed.

Their names say which process made them (``harness.owners``). Only that process removes one: not a
copy of it (``os.fork``), for which it is still the original's. Those of killed processes are
removed before the next is made, and by ``rumpus clean``.
"""

import atexit
import functools
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.owners import Owner

_BOOT = 8
"""How many digits of the boot id are in a name."""

_NAME = re.compile(rf"rumpus-[a-z]+-([0-9a-f]{{{_BOOT}}})-([0-9]+)-([0-9]+)-([0-9]+)-[a-z0-9_]+")

_made: dict[Path, int] = {}
"""Directories that are still to be removed, and the processes that made them."""

_ESCAPE = re.compile(r"\\([0-7]{3})")


@contextmanager
def scratch(what: str) -> Iterator[Path]:
    """A temporary directory, while the block runs.

    Args:
        what: a word for its name.

    Raises:
        EnvironmentRefusal: it cannot be made, or somebody has removed it meanwhile.
    """
    place, maker = make_scratch(what), os.getpid()
    try:
        yield place
    except Exception as error:
        if os.getpid() == maker and not place.exists():
            raise vanished(place) from error
        raise
    finally:
        if os.getpid() == maker:
            remove_scratch(place)


def make_scratch(what: str, within: str | None = None) -> Path:
    """A temporary directory, to be removed by `remove_scratch`.

    Args:
        what: a word for its name.
        within: where; None: where temporary files usually are.

    Raises:
        EnvironmentRefusal: it cannot be made.
    """
    _remove_abandoned_once()
    boot, *others = Owner.of()
    prefix = "-".join(("rumpus", what, boot[:_BOOT], *map(str, others), ""))
    try:
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
    except OSError as error:
        raise EnvironmentRefusal(
            f"no temporary directory can be made ({error}): free some space, or set TMPDIR to a "
            "directory that can be written"
        ) from error
    _made[place] = os.getpid()
    return place


def remove_scratch(place: Path) -> None:
    """Remove one of this process. What cannot be removed now is abandoned when the process ends."""
    shutil.rmtree(place, ignore_errors=True)
    _made.pop(place, None)


def vanished(place: Path) -> EnvironmentRefusal:
    """The refusal to raise if a directory is gone that is still in use."""
    return EnvironmentRefusal(
        f"{place} was removed while it was in use: see what cleans up {place.parent}, or set "
        "TMPDIR to a directory that nobody cleans up"
    )


def find_abandoned() -> list[Path]:
    """The directories that this user's processes have made and left, as they do not run any more.

    Those of another boot or PID namespace are not among them: nobody can know from here.
    """
    return [
        path
        for path in sorted(Path(tempfile.gettempdir()).glob("rumpus-*"))
        if (owner := _owner(path)) is not None and not owner.lives()
    ]


def remove_abandoned(path: Path) -> str | None:
    """Remove a directory that `find_abandoned` has found.

    Returns:
        None if it is gone, by whomever; else why it is not, in words.
    """
    mounted = _mounted_below(path)
    if mounted is not None:
        return f"{mounted} is mounted: unmount it"
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return None if not path.exists() else remove_abandoned(path)
    except OSError as error:
        return f"{error.filename or path}: {error.strerror}"
    return None


@atexit.register
def _remove_all() -> None:
    """Remove what is left: Ctrl-C may come before a block begins that would remove it."""
    for place in [place for place, maker in _made.items() if maker == os.getpid()]:
        remove_scratch(place)


@functools.cache
def _remove_abandoned_once() -> None:
    for path in find_abandoned():
        remove_abandoned(path)


def _owner(path: Path) -> Owner | None:
    """Whose directory it is; None if it is none of this user's."""
    named = _NAME.fullmatch(path.name)
    if named is None:
        return None
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return None
    boot, namespace, pid, start = named.groups()
    return Owner(boot, namespace, int(pid), int(start))


def _mounted_below(path: Path) -> str | None:
    """A place below a directory at which something is mounted: its files are not ours to remove."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place = _ESCAPE.sub(lambda escape: chr(int(escape[1], 8)), line.split()[4])
        if Path(place).is_relative_to(path.resolve()):
            return place
    return None
