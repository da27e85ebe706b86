"""The file of a night: what is to run, as data. docs/how-to/nights.md describes it.

::

    budget = "1h"
    cases = ["cases"]

    [[jobs]]
    workloads = ["lock"]
    recipes = ["stock-lock", "shop.locks:Other"]
    kazoo = ["2.10.0", "2.11.0"]
    options = { clients = 3 }
    weight = 2
"""

from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from rumpus.campaigns.pieces import RUN_KINDS, RunKind
from rumpus.nemesis.swarm import ProfileName
from rumpus.nights.records import Ensemble
from rumpus.option_values import Seconds
from rumpus.untrusted_toml import read_toml
from rumpus.usage_error import UsageError

VERSION: Final = 1

USUAL_FILE: Final = Path("nightly.toml")
"""The file that is read if none is named, and there is one."""

USUAL_EXPECTED: Final = "expected-failures.toml"
USUAL_RULINGS: Final = "failure-rulings.toml"


Weight = Annotated[float, msgspec.Meta(gt=0, le=1000)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Time = Annotated[str | int | float, msgspec.Meta(description="seconds, or text such as 90s, 30m")]


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Recipes that are put on trial, each with each version.

    Args:
        workloads: names or references; ``all``: those of rumpus.
        recipes: names or references; or ``own``: those that the project's ``pyproject.toml`` names
            for the workloads; or ``built-in``: the sound ones of rumpus.
        without: recipes that are left out: ``lock / kazoo``, or ``kazoo`` for every workload.
        worlds: where the servers run.
        zookeeper: versions of the servers, where these are real ones; empty: the usual one.
        kazoo: versions of the clients' kazoo; empty: the installed one.
        kinds: of runs in the simulation. On real servers all are ``usual``.
        profile: of swarm runs and short runs.
        options: of ``rumpus run``, by their names in ``pyproject.toml``.
        weight: which share of the time the job gets beside others.
    """

    workloads: tuple[str, ...] | Literal["all"]
    recipes: tuple[str, ...] | Literal["own", "built-in"] = "own"
    without: tuple[str, ...] = ()
    worlds: tuple[Ensemble, ...] = ("sim",)
    zookeeper: tuple[str, ...] = ()
    kazoo: tuple[str, ...] = ()
    kinds: tuple[RunKind, ...] = RUN_KINDS
    profile: ProfileName = "normal"
    options: dict[str, Any] = {}
    weight: Weight = 1.0


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command that is part of the night: other tests. Its exit code is its verdict.

    Args:
        name: by which the night speaks of it.
        run: its words; no shell reads them.
        timeout: after so long it is ended, which is trouble. So much of the budget is kept for it;
            one that does not fit is left out, which is said.
    """

    name: str
    run: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    timeout: Time = "1h"


class Canaries(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Known mistakes that must be found.

    Args:
        share: of the budget, at most.
        families: workloads whose mistakes are taken; empty: those of the night's recipes;
            ``all``: those of rumpus.
        own: whether a mistake is put into recipes of the project's own, too, where that can be.
    """

    share: Share = 0.1
    families: tuple[str, ...] | Literal["all"] = ()
    own: bool = True


class NightFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a night is to run.

    Args:
        version: of the format.
        budget: how long it takes.
        cases: files and directories of cases, from the file's directory on.
        expected: the file of failures that are expected, if it exists.
        rulings: the file that says which failures are one, and which are not, if it exists.
        canaries: known mistakes.
        owners: recipe, or ``workload / recipe`` -> who is told of its failures.
        jobs: what is put on trial.
        commands: what is run at the end; together they may take half of the budget.
        shrink: which share of the budget goes into making failures small, at most.
    """

    version: int = VERSION
    budget: Time = "30m"
    cases: tuple[str, ...] = ("cases",)
    expected: str = USUAL_EXPECTED
    rulings: str = USUAL_RULINGS
    canaries: Canaries = Canaries()
    owners: dict[str, str] = {}
    jobs: tuple[Job, ...] = ()
    commands: tuple[Command, ...] = ()
    shrink: Share = 0.2

    @property
    def seconds(self) -> float:
        """The budget."""
        return seconds_of(self.budget)


def seconds_of(value: str | float) -> float:
    """A time as a file may give it, in seconds.

    Raises:
        ValueError: it is none.
    """
    times = Seconds()
    return times.read(value) if isinstance(value, str) else times.checked(value)


def load_night_file(path: Path) -> NightFile:
    """Read a night's file.

    Raises:
        UsageError: it cannot be read, or has an unknown key or a wrong value; the message names
            the file and the key.
        UnreadableRun: it is no regular file, or is too large.
    """
    raw = read_toml(path, "read the night's file")
    if raw.get("version", VERSION) != VERSION:
        raise UsageError(f"{path}: has version {raw['version']}; this program reads {VERSION}")
    return night_file_of(raw, str(path))


def night_file_of(raw: Any, source: str) -> NightFile:
    """A night's file from plain data; ``source`` names it in errors.

    Raises:
        UsageError: it has an unknown key or a wrong value.
    """
    try:
        file = msgspec.convert(raw, NightFile)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        at = place.rstrip("`").lstrip(".")
        raise UsageError(f"{source}: {at + ': ' if at else ''}{what}") from error
    for name, value in [
        ("budget", file.budget),
        *((f"commands[{n}].timeout", each.timeout) for n, each in enumerate(file.commands)),
    ]:
        try:
            seconds_of(value)
        except ValueError as error:
            raise UsageError(f"{source}: {name}: {error}") from error
    return file


def schema() -> dict[str, Any]:
    """The JSON schema of the file (draft 2020-12)."""
    made = msgspec.json.schema(NightFile)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A night of rumpus",
        **made,
    }
