"""``rumpus init``: writes a first test of a recipe or workload of the user's own, or a schedule."""

import argparse
import os
import shutil
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from rich.text import Text

from rumpus.consoles import answers
from rumpus.nights.night_file import USUAL_FILE
from rumpus.nights.schedulers.found_recipes import FoundRecipe, found_recipes, night_file_for
from rumpus.nights.schedulers.schedulers import files_for, next_steps
from rumpus.project_names import Names, names_here
from rumpus.results.escapes import in_python, in_python_name, in_shell
from rumpus.results.store_error import StoreError
from rumpus.usage_error import UsageError
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.references import NotFound, is_reference
from rumpus.workloads.registry import find_workload

_FILE = '''\
"""A trial of a coordination recipe: concurrent clients use it while servers and clients fail.

A trial is simulated on virtual time: it takes seconds, and its seed decides everything. The same on
real servers: ensemble="docker".
"""

import rumpus


def test_{function}() -> None:
    """It keeps what it promises, in five runs."""
    rumpus.run({arguments}, seeds=5).assert_valid()
'''


_FIRST_TEST = Path("tests/test_coordination.py")


def init_command(arguments: argparse.Namespace) -> int:
    """Write the file, or those of a schedule, and say what to do next; the exit code.

    Raises:
        UsageError: the file exists, or the workload or recipe cannot be put on trial.
        StoreError: the file cannot be written.
    """
    if arguments.nightly is not None:
        return _schedule(arguments)
    path = arguments.path or _FIRST_TEST
    names = names_here()
    named = arguments.workload or "lock"
    names.find_modules([names.workload(named), arguments.recipe or ""])
    workload = _workload(names, named)
    recipe = arguments.recipe or _example(workload, named)
    _check_recipe(names, workload, named, recipe)
    words = [in_python(named)] + ([f"recipe={in_python(recipe)}"] if recipe else [])
    thing = recipe or named
    text = _FILE.format(
        function=in_python_name(thing.rpartition(":")[2]),
        arguments=", ".join(words),
    )
    _write({path: text}, "name another file, rumpus init FILE")
    command = ["rumpus", "run", named, *(["--recipe", recipe] if recipe else [])]
    for line in (
        f"{path}: written. Next:",
        f"  pytest {in_shell([path])}",
        f"  {in_shell([*command, '--ensemble', 'sim'])}",
        "A name for it, and defaults of its runs, go into pyproject.toml:",
        "  docs/reference/configuration.md",
    ):
        answers().print(Text(line), soft_wrap=True)
    return 0


def _workload(names: Names, named: str) -> Workload:
    try:
        return find_workload(names.workload(named))
    except NotFound as error:
        raise UsageError(f"--workload: {error}") from error


def _example(workload: Workload, named: str) -> str | None:
    """A recipe to begin with: one of kazoo if the workload has one, else its first."""
    recipes = list(workload.catalogue)
    if not recipes:
        raise UsageError(f"workload {named} has no recipes: name yours with --recipe")
    return "kazoo" if "kazoo" in recipes else recipes[0]


def _check_recipe(names: Names, workload: Workload, named: str, recipe: str | None) -> None:
    """Refuse a recipe that could not be put on trial."""
    if recipe is None or recipe in names.recipes_of(named):
        return
    try:
        workload.recipe_of(recipe)
    except (NotFound, ValueError) as error:
        if not is_reference(recipe):
            raise UsageError(f"--recipe: {error}") from error
        raise UsageError(f"--recipe: {error}; nothing was written") from error


def _schedule(arguments: argparse.Namespace) -> int:
    """Write the files by which a scheduler performs nights; the exit code.

    If nothing says what a night runs, a file does that names the recipe of the command line, or
    what looks like one.
    """
    if arguments.path:
        raise UsageError("--nightly writes a schedule, and no test: leave FILE out")
    here = Path.cwd()
    scripts = sysconfig.get_path("scripts")
    places = f"{scripts}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    program = Path(shutil.which("rumpus", path=places) or f"{scripts}/rumpus").absolute()
    files = files_for(arguments.nightly, here, program)
    recipes = _recipes_of_nights(arguments, here)
    if recipes:
        files[str(USUAL_FILE)] = night_file_for(recipes)
    _write({Path(name): text for name, text in files.items()}, "move it away first")
    lines = [f"{', '.join(files)}: written. Next:"]
    if not (here / ".git").exists():
        lines.append("  move to the root of the repository: nothing is looked for elsewhere")
    lines += [
        f"  see whether {each.reference} is a {each.workload}: {USUAL_FILE} says so"
        for each in recipes
    ]
    lines.append("  rumpus nightly --budget 1m  # a first night here and now")
    lines += [f"  git add {USUAL_FILE}"] if recipes else []
    lines += [f"  {step}" for step in next_steps(arguments.nightly, here)]
    for line in lines:
        answers().print(Text(line), soft_wrap=True)
    return 0


def _recipes_of_nights(arguments: argparse.Namespace, here: Path) -> list[FoundRecipe]:
    """The recipes that a night's file has to name; none if something else says what to run.

    Raises:
        UsageError: nothing does, and nothing looks like a recipe.
    """
    if arguments.recipe:
        return [FoundRecipe(arguments.workload or "lock", arguments.recipe)]
    settings = names_here().settings
    if settings.recipes or settings.workloads or USUAL_FILE.exists():
        return []
    if recipes := found_recipes(here):
        return recipes
    raise UsageError(
        "nothing here says what a night is to run: name your recipe, "
        "rumpus init --nightly ... --workload lock --recipe package.module:Name"
    )


def _write(files: Mapping[Path, str], otherwise: str) -> None:
    """Write new files: all of them, or none if one exists."""
    for path in files:
        if os.path.lexists(path):
            raise UsageError(f"{path} exists, and nothing is overwritten: {otherwise}")
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
            if path.suffix == ".sh":
                path.chmod(0o755)
        except OSError as error:
            raise StoreError.from_os_error(path, "write it", error, option="") from error
