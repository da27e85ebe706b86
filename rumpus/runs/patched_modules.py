"""Modules of the clients with changes: ``--patch weaker.diff`` tries a change without making it.

A mistake that was put into a recipe (``rumpus mutate``), or a mend that is only an idea yet, is a
few lines of difference. Simulated clients load their modules from what these lines make of them;
no file is changed, and nothing is installed.
"""

import hashlib
import re
import shutil
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Final

from rumpus.checker.untrusted_file import UnfitFile, read_regular
from rumpus.git_calls import LONGEST_CHANGE, apply_change
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.simulated.workers import PRIVATE, SHARED
from rumpus.option_values import at_home
from rumpus.project_names import names_here, source_of
from rumpus.usage_error import UsageError

_CHANGED: Final = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)", re.MULTILINE)


def patched_modules(file: Path, kazoo: str | None = None) -> dict[str, str]:
    """What a patch makes of modules: name -> source.

    Args:
        file: a unified diff. Its paths are those of imports, ``a/shop/locks.py`` for
            ``shop.locks``, in any directory of Python's path.
        kazoo: the clients' kazoo, if it is not the installed one: that is changed in another way.

    Raises:
        UsageError: it cannot be read, changes what clients do not load, or does not fit; the
            message says why.
        EnvironmentRefusal: there is no Git to apply it with.
    """
    try:
        change = read_regular(at_home(file), LONGEST_CHANGE).decode("utf-8")
    except UnfitFile as unfit:
        raise UsageError(f"--patch: cannot read {file} ({unfit.why})") from unfit
    except OSError as error:
        raise UsageError(f"--patch: cannot read {file} ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--patch: {file} is no text") from error
    paths = sorted(set(_CHANGED.findall(change)))
    if not paths:
        raise UsageError(f"--patch: {file} is no unified diff of modules")
    if kazoo is not None and any(path.startswith("kazoo/") for path in paths):
        raise UsageError(
            f"--patch: {file} changes the installed kazoo, and clients run with --kazoo {kazoo}: "
            f"give that change as --kazoo {kazoo}+{file}"
        )
    found = {path: _source(str(file), path) for path in paths}
    try:
        made = _applied(change, tuple(sorted(found.items())))
    except ValueError as error:
        raise UsageError(f"--patch: the change {file} does not fit ({error})") from error
    for path, source in made.items():
        try:
            compile(source, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise UsageError(f"--patch: {file} makes no Python of {path} ({error})") from error
    return {_module(path): source for path, source in made.items()}


def digest_of_patched(modules: Mapping[str, str]) -> str:
    """By which runs of the same change are known, whatever its file is called."""
    made = hashlib.sha256()
    for name, source in sorted(modules.items()):
        made.update(f"{name}\0{source}\0".encode())
    return made.hexdigest()[:12]


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _source(patch: str, path: str) -> str:
    """The source of the module at a path of a diff.

    Raises:
        UsageError: clients load no such module, or share it.
    """
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or parts.suffix != ".py":
        raise UsageError(f"--patch: {patch} changes {path}, which is no module")
    module = _module(path)
    private = any(module == each or module.startswith(f"{each}.") for each in PRIVATE)
    if module in SHARED or (module.partition(".")[0] == "rumpus" and not private):
        raise UsageError(
            f"--patch: {patch} changes {module}, which clients and checks of rumpus share: only "
            "what clients load for themselves can be changed, as recipes"
        )
    file = source_of(module, names_here().places)
    if file is not None and file.parts[-len(parts.parts) :] == parts.parts:
        return file.read_text("utf-8")
    raise UsageError(
        f"--patch: {patch} changes {path}, and no directory of Python's path has that file: its "
        "paths must be those of imports, as a/shop/locks.py for shop.locks"
    )


@lru_cache(64)
def _applied(change: str, sources: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """What a diff makes of sources.

    Raises:
        ValueError: it does not fit; what Git says.
        EnvironmentRefusal: there is no Git.
    """
    git = shutil.which("git")
    if git is None:
        raise EnvironmentRefusal("--patch: Git is needed to apply it, and is not installed")
    with tempfile.TemporaryDirectory(prefix="rumpus-patch-") as directory:
        files = {path: Path(directory, *PurePosixPath(path).parts) for path, _ in sources}
        for path, source in sources:
            files[path].parent.mkdir(parents=True, exist_ok=True)
            files[path].write_text(source, "utf-8")
        ended = apply_change(git, Path(directory), change)
        if ended.returncode != 0:
            raise ValueError("; ".join(ended.stderr.strip().splitlines()))
        return {path: file.read_text("utf-8") for path, file in files.items() if file.is_file()}
