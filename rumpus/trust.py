"""Code that only a file names is not imported: its user has to trust it first.

A case, a run's directory and a store of nights may come from anybody, and name modules that
performing them imports. Such code is trusted

- if it is a class of rumpus or of kazoo, which are imported anyway (and not what their modules have
  imported: ``rumpus.git_calls:os.system`` is none of them);
- if a ``pyproject.toml`` outside the file's own directory names it: somebody has made it a part of
  the project that is worked in;
- if it lies where code was trusted once: by ``--trust``, or by a command line that named it
  (``rumpus run --recipe shop.locks:StockLock``). These places are kept in a file of the user's;
- if the command itself was asked for it (``named``): by the user's own file of a night, say.

A directory with a kazoo, a change of kazoo or of a recipe, and an image of servers, are code as
well.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rumpus.option_values import at_home, is_there
from rumpus.project_names import Names, found_module, names_here, references_of
from rumpus.results.store_error import StoreError
from rumpus.runs.mended_library import changes_of
from rumpus.usage_error import UsageError
from rumpus.user_state import keep_state, read_state, state_file
from rumpus.workloads.own.references import NotFound, referred

if TYPE_CHECKING:
    from rumpus.runs.run_settings import RunSettings

_OURS: Final = frozenset({"kazoo", "rumpus"})
_VERSION: Final = re.compile(r"[0-9A-Za-z.!]+")
"""What names a version of kazoo, and no file that may be where the run is performed."""
_MOST: Final = 1_000
"""How many places are remembered: the last ones."""

REMEDY: Final = (
    "say --trust (once: it is remembered for these places), or name it in your project's "
    "pyproject.toml (see Configuration: runs of other people)"
)
"""What is to be done by who trusts code that was refused."""


class Code(NamedTuple):
    """Code that a run imports or starts.

    ``option`` is the one that names it, ``name`` how, and ``place`` where it would come from: a
    path, or an image's name.
    """

    option: str
    name: str
    place: str


def code_of(settings: "RunSettings", *, absent: bool = False) -> Iterator[Code]:
    """The code that a run of these settings imports or starts, but for that of rumpus and kazoo.

    Args:
        settings: what is asked for.
        absent: whether modules count that are not here: they may be where the run is performed.
    """
    references = references_of(settings)
    places = names_here().places if references else ()
    options = {settings.workload: "workload", settings.recipe: "recipe"}
    for name in references:
        module = name.partition(":")[0].partition(".")[0]
        place = _not_of_ours(name) if module in _OURS else _code_in(module, places)
        if absent and place is None and module not in _OURS:
            place = f"where it is performed, for {module} is not in {Path.cwd()}"
        if place:
            yield Code(options.get(name, "fault"), name, place)
    if settings.kazoo is not None:
        base, changes = changes_of(settings.kazoo)
        for each in (base, *changes):
            there = at_home(Path(each))
            if each and (is_there(there) or not _VERSION.fullmatch(each)):
                yield Code("kazoo", each, str(there.resolve()))
    if settings.patch is not None:
        yield Code("patch", settings.patch, str(at_home(Path(settings.patch)).resolve()))
    if settings.image is not None:
        yield Code("image", settings.image, settings.image)


def places_of(runs: Iterable["RunSettings"]) -> frozenset[str]:
    """The places of the code that runs import or start: what names them for the user trusts it."""
    return frozenset(each.place for settings in runs for each in code_of(settings))


def untrusted(
    source: Path,
    settings: "RunSettings",
    named: Collection[str] = (),
    within: Path | None = None,
    *,
    absent: bool = False,
) -> list[Code]:
    """What only a file names, and nobody has trusted; if nothing is left, it can be imported now.

    Args:
        source: the case, the run's directory, or the store.
        settings: what it asks for.
        named: places of code that this command was asked for by its user (`places_of`).
        within: the directory in which it was found, and which may have come as a whole.
        absent: as in `code_of`.

    Raises:
        UsageError: the file that keeps the trusted places is malformed.
    """
    found = [each for each in code_of(settings, absent=absent) if each.place not in named]
    names = names_here() if found or references_of(settings) else None
    known = trusted_places() if found else ()
    strange = [
        each
        for each in found
        if each.place not in known and not (names and _named_by(names, (source, within), each.name))
    ]
    if names and not strange:
        names.find_modules(references_of(settings))
    return strange


def refusal(
    source: Path,
    settings: "RunSettings",
    *,
    named: Collection[str] = (),
    remedy: str = REMEDY,
) -> str:
    """Why what only a file names is not imported; empty if it may be, from now on.

    Args:
        source: the case, the run's directory, or the store.
        settings: what it asks for.
        named: as in `untrusted`.
        remedy: what is to be done by who trusts that code.

    Raises:
        UsageError: the file that keeps the trusted places is malformed.
    """
    strange = untrusted(source, settings, named, absent=True)
    return _refusal(source, strange, remedy) if strange else ""


def _refusal(source: Path, strange: Sequence[Code], remedy: str) -> str:
    told = "; ".join(f"{each.option} {each.name}, from {each.place}" for each in strange)
    return (
        f"{source} names code that is not imported just because a file names it: {told}. If you "
        f"trust that code, {remedy}"
    )


def refuse_untrusted(
    source: Path,
    settings: "RunSettings",
    *,
    trust: bool = False,
    named: Collection[str] = (),
    within: Path | None = None,
    absent: bool = False,
) -> None:
    """Refuse to import what only a file names; where its modules are may be imported from now on.

    Args:
        source: the case, the run's directory, or the store.
        settings: what it asks for.
        trust: whether the user trusts all of it, from now on.
        named: as in `untrusted`.
        within: likewise.
        absent: likewise.

    Raises:
        UsageError: it names code that nobody has trusted; the message says which, and where it is.
        StoreError: what is trusted from now on cannot be kept.
    """
    strange = untrusted(source, settings, named, within, absent=absent)
    if not strange:
        return
    if trust:
        keep_state(places_file(), [*trusted_places(), *(e.place for e in strange)][-_MOST:])
        names_here().find_modules(references_of(settings))
        return
    raise UsageError(_refusal(source, strange, REMEDY))


def trust_code(settings: "RunSettings", say: Callable[[str], None]) -> None:
    """Remember that a command line has named this code: a run of it may be performed again.

    Args:
        settings: what was asked for.
        say: told if that cannot be kept, which does not hinder this command.
    """
    known = trusted_places()
    new = [each.place for each in code_of(settings) if each.place not in known]
    if not new:
        return
    try:
        keep_state(places_file(), [*known, *new][-_MOST:])
    except StoreError as error:
        say(f"note: to perform this again say --trust, for it cannot be remembered: {error}")


def trusted_places() -> Sequence[str]:
    """Where trusted code is: paths, and names of images, those trusted first first.

    Raises:
        UsageError: the file that keeps them is malformed.
        UnreadableRun: it is no regular file, or is too large.
    """
    return read_state(places_file(), list[str], "list of trusted places")


def places_file() -> Path:
    """The user's file that keeps what was trusted."""
    return state_file("trusted.json")


def _named_by(names: Names, sources: Sequence[Path | None], name: str) -> bool:
    """Whether a project names this code, from outside of the files' own directories."""
    file = names.settings.file
    if file is None:
        return False
    # Whoever makes files makes links, too: neither may lead out of the directory, or into another.
    trees = [
        each if source.is_dir() else each.parent
        for source in sources
        if source is not None
        for each in _places(source)
    ]
    if any(each.is_relative_to(tree) for each in _places(file) for tree in trees):
        return False
    return any(each.source == file.name and each.reference == name for each in names.named)


def _places(path: Path) -> tuple[Path, Path]:
    """Where a path is, by its own name and without any link."""
    return Path(os.path.normpath(Path.cwd() / path)), path.resolve()


def _not_of_ours(name: str) -> str | None:
    """Whose it is if a module of ours has it, and it is no class of ours; None if it is one."""
    try:
        found = referred(name)
    except NotFound:  # so nothing is called
        return None
    owner = str(getattr(found, "__module__", None) or type(found).__name__)
    if isinstance(found, type) and owner.partition(".")[0] in _OURS:
        return None
    return f"{owner}, as {name}"


def _code_in(module: str, places: Sequence[str]) -> str | None:
    """Where a top-level module would be imported from; None if there is none, so nothing is.

    Args:
        module: its name.
        places: where modules lie that are not installed.
    """
    spec, _ = found_module(module, places)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return str(Path(next(iter(spec.submodule_search_locations))).resolve())
    there = spec.has_location and spec.origin
    return str(Path(spec.origin).resolve()) if there and spec.origin else f"Python's own {module}"
