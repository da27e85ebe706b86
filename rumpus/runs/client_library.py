"""Finds the kazoo that is asked for by ``--kazoo``: a version, or a directory, with changes or not.

A version is installed by pip, from the index that the user has configured, into a directory of its
own in the cache (``$XDG_CACHE_HOME/rumpus``, else ``~/.cache/rumpus``), with the packages that it
needs. It stays there for later runs. Nothing is installed beside rumpus.
"""

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import kazoo

from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.option_values import at_home
from rumpus.runs.mended_library import changed_copy, changes_of
from rumpus.usage_error import UsageError

INSTALL_PATIENCE_S: Final = 600.0

_VERSION: Final = re.compile(r"\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)*")
_KNOWN: Final = re.compile(r"\(from versions: (.*?)\)")


def find_kazoo(asked: str, say: Callable[[str], None]) -> Path:
    """The directory in which clients find that kazoo, and nothing else that they could import.

    Args:
        asked: a version (``2.8.0``), or the path of a directory: the package ``kazoo`` itself, one
            that has it, or a checkout; nothing for the installed one. ``+FILE`` after that, once or
            more, names a change (see ``mended_library``).
        say: called with a line before something is installed.

    Raises:
        UsageError: there is no such version, no kazoo in the directory, or a change does not fit.
        EnvironmentRefusal: it cannot be installed or changed on this host.
    """
    base, files = changes_of(asked)
    try:
        if _VERSION.fullmatch(base):
            library = _installed(base, say)
        elif base or not files:
            library = _linked(base)
        else:
            library = _linked(str(Path(kazoo.__file__).parent))
        return changed_copy(library, files, _cache()) if files else library
    except OSError as error:
        raise EnvironmentRefusal(
            f"--kazoo {asked} needs the cache directory {_cache()}, and that cannot be used "
            f"({error.strerror}: {error.filename}): set XDG_CACHE_HOME to a directory that can"
        ) from error


def released_kazoos(first: str, last: str) -> list[str]:
    """The released versions of kazoo from one to another, both included, oldest first.

    pip asks the index that the user has configured.

    Raises:
        UsageError: there is no such version, or the first one is not older than the last one.
        EnvironmentRefusal: pip finds no versions.
    """
    command = [sys.executable, "-P", "-m", "pip", "--no-input", "--disable-pip-version-check"]
    try:
        ended = subprocess.run(
            [*command, "index", "versions", "kazoo"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentRefusal("pip did not list the versions of kazoo in time") from None
    listed = re.search(r"^Available versions: (.*)$", ended.stdout, re.MULTILINE)
    if listed is None:
        said = [line for line in ended.stderr.splitlines() if line.strip()]
        raise EnvironmentRefusal(
            f"pip cannot list the versions of kazoo ({said[-1] if said else 'it says nothing'}): "
            "name them one by one, as 2.6.1,2.7.0, or directories of kazoos"
        )
    versions = list(reversed(listed[1].split(", ")))
    for each in (first, last):
        if each not in versions:
            raise UsageError(f"there is no kazoo {each}; pip finds {', '.join(versions)}")
    begin, end = versions.index(first), versions.index(last)
    if begin > end:
        raise UsageError(f"kazoo {first} is newer than {last}: name the older one first")
    return versions[begin : end + 1]


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path("~/.cache").expanduser()
    return base / "rumpus" / "kazoo"


def _installed(version: str, say: Callable[[str], None]) -> Path:
    """A version from the cache; else pip installs it there."""
    # What a package needs, and its compiled code, depend on the version of Python.
    parent = _cache() / f"python{sys.version_info.major}.{sys.version_info.minor}"
    place = parent / version
    if place.is_dir():
        return place
    parent.mkdir(parents=True, exist_ok=True)
    say(f"installing kazoo {version} into {place}")
    with tempfile.TemporaryDirectory(prefix=f".{version}-", dir=parent) as temporary:
        target = Path(temporary) / "installed"
        _pip_install(version, target)
        try:
            target.rename(place)  # in one step: others see all of it or nothing
        except OSError:
            if not place.is_dir():  # else another run was faster
                raise
    return place


def _pip_install(version: str, target: Path) -> None:
    command = [sys.executable, "-P", "-m", "pip", "--no-input", "--disable-pip-version-check"]
    command += ["install", "--quiet", "--no-user", "--target", str(target), f"kazoo=={version}"]
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentRefusal(
            f"pip did not install kazoo {version} within {INSTALL_PATIENCE_S:.0f} s: {_OTHERWISE}"
        ) from None
    if ended.returncode == 0:
        return
    known = _KNOWN.search(ended.stderr)
    if known is not None and known[1] != "none":
        raise UsageError(f"there is no kazoo {version}; pip finds {known[1]}")
    said = [line for line in ended.stderr.splitlines() if line.strip()]
    reason = said[-1].removeprefix("ERROR: ") if said else f"it ended with {ended.returncode}"
    raise EnvironmentRefusal(f"pip cannot install kazoo {version} ({reason}): {_OTHERWISE}")


_OTHERWISE: Final = (
    "see that `python -m pip download kazoo` works here, or name the directory of a kazoo that is "
    "there already"
)


def _linked(asked: str) -> Path:
    """A directory in the cache with a link to the package: its neighbours must not be imported."""
    given = at_home(Path(asked))
    found = [
        place for place in (given, given / "kazoo", given / "src" / "kazoo") if _is_kazoo(place)
    ]
    if not found:
        raise UsageError(
            f"--kazoo {asked}: it is neither a version, such as 2.8.0, nor a directory with the "
            "package kazoo in it"
        )
    package = found[0].resolve()
    name = hashlib.sha256(os.fsencode(package)).hexdigest()[:16]
    place = _cache() / "links" / name
    place.mkdir(parents=True, exist_ok=True)
    link = place / "kazoo"
    with contextlib.suppress(FileExistsError):  # it always leads to the same place
        link.symlink_to(package)
    return place


def _is_kazoo(place: Path) -> bool:
    return (place / "__init__.py").is_file() and (place / "client.py").is_file()
