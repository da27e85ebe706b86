"""A copy of kazoo with changes: ``--kazoo 2.11.0+report.md`` looks behind a flaw that is known.

A loud flaw of the client library hides what else is wrong with a recipe, or is taken for the
recipe's own. A change that mends just that flaw is applied to a copy, which clients load. Copies
are kept in the cache, by what they are made of.
"""

import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rumpus.checker.untrusted_file import UnfitFile, read_regular
from rumpus.git_calls import LONGEST_CHANGE, apply_change
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.option_values import at_home, is_there
from rumpus.usage_error import UsageError

_IN_MARKDOWN: Final = re.compile(r"^```diff\n(.*?)^```", re.DOTALL | re.MULTILINE)
_KINDS: Final = frozenset({".diff", ".md", ".patch"})
_UNCOPIED: Final = shutil.ignore_patterns("__pycache__", ".*")


def changes_of(asked: str) -> tuple[str, list[str]]:
    """What ``--kazoo`` names, without the changes, and the files that have these.

    Args:
        asked: as for ``client_library.find_kazoo``.
    """
    if is_there(at_home(Path(asked))):
        return asked, []
    base, *files = asked.split("+")
    return base, files


def changed_copy(library: Path, files: Sequence[str], cache: Path) -> Path:
    """The directory with a copy of a kazoo to which the changes were applied, in their order.

    Args:
        library: the directory that has the package, and maybe packages that it needs.
        files: unified diffs (``a/kazoo/client.py``), or Markdown documents with such in blocks
            that are marked ``diff``; or directories, of which all that have one are taken, in the
            order of their names.
        cache: where copies are kept.

    Raises:
        UsageError: a file has no change, or it does not fit this kazoo; the message says why.
        EnvironmentRefusal: there is no Git to apply it with.
    """
    changes = [(file, change) for file in files for change in _changes_in(file)]
    digest = hashlib.sha256()
    for each in sorted((library / "kazoo").resolve().rglob("*.py")):
        digest.update(each.read_bytes())
    for _, change in changes:
        digest.update(b"\0" + change.encode())
    place = cache / "changed" / digest.hexdigest()[:16]
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=place.parent) as temporary:
        copy = Path(temporary) / "copy"
        shutil.copytree(library, copy, ignore=_UNCOPIED)
        for file, change in changes:
            _apply(file, change, copy)
        try:
            copy.rename(place)  # in one step: others see all of it or nothing
        except OSError:
            if not place.is_dir():  # else another run was faster
                raise
    return place


def files_with_changes(place: Path) -> list[Path]:
    """The file itself; of a directory those in it that may have changes, by their names."""
    if not place.is_dir():
        return [place]
    return sorted(each for each in place.iterdir() if each.suffix in _KINDS)


def _changes_in(file: str) -> Iterator[str]:
    if not file:
        raise UsageError("--kazoo: name a file with a change after each +")
    place = at_home(Path(file))
    found = [change for each in files_with_changes(place) for change in _read(str(each))]
    if not any(change.strip() for change in found):
        raise UsageError(
            f"--kazoo: {file} has no change; it must be a unified diff, or a Markdown document "
            "(*.md) with a block that is marked diff, or a directory of such"
        )
    yield from found


def _read(file: str) -> list[str]:
    try:
        text = read_regular(at_home(Path(file)), LONGEST_CHANGE).decode("utf-8")
    except UnfitFile as unfit:
        raise UsageError(f"--kazoo: cannot read the change {file} ({unfit.why})") from unfit
    except OSError as error:
        raise UsageError(f"--kazoo: cannot read the change {file} ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--kazoo: the change {file} is no text") from error
    return _IN_MARKDOWN.findall(text) if file.endswith(".md") else [text]


def _apply(file: str, change: str, copy: Path) -> None:
    git = shutil.which("git")
    if git is None:
        raise EnvironmentRefusal(f"--kazoo: Git is needed to apply {file}, and is not installed")
    ended = apply_change(git, copy, change)
    if ended.returncode != 0:
        lines = ended.stderr.strip().splitlines()
        raise UsageError(f"--kazoo: the change {file} does not fit ({'; '.join(lines)})")
