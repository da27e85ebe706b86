"""``rumpus mutate``: how many mistakes, made by machine, would a recipe's trial notice?"""

import argparse
import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from rumpus.campaigns.source_digest import source_digest
from rumpus.campaigns.tasks import processes
from rumpus.commands.explore_command import PLAIN_PERIOD_S
from rumpus.consoles import answers, notices, print_document
from rumpus.exit_codes import campaign_exit_code, ending
from rumpus.harness.scratch import scratch
from rumpus.live_line import LiveLine
from rumpus.mutation.equivalents import NAME, Equivalents, stub
from rumpus.mutation.fates import Fate, FateFile, fate_of, told_again
from rumpus.mutation.hunting import Hunt
from rumpus.mutation.scores import (
    SURVIVING,
    in_words,
    mutation_document,
    print_scores,
    score_of,
)
from rumpus.mutation.source_mutants import SourceMutant, mutants_of
from rumpus.mutation.targets import Target, read, recipes_of, targets_of
from rumpus.mutation.trials import Subject
from rumpus.nights.sources import digest
from rumpus.project_names import names_here
from rumpus.results.atomic_file import inside, write_atomically
from rumpus.results.escapes import in_file_name, in_shell
from rumpus.runs.run_arguments import given_options
from rumpus.runs.run_settings import RunSettings
from rumpus.trust import trust_code
from rumpus.usage_error import UsageError

LOAD_S: Final = 8.0
"""Seconds of load of each usual run if nothing is said: enough for a verdict in most families."""

_OTHER: Final = frozenset({"argv", "runs", "recipe"})
"""Settings that do not change what becomes of a mutant of some recipes."""


def mutate_command(arguments: argparse.Namespace) -> int:
    """Make mutants of recipes and hunt them; the exit code.

    1 if one survives, or with ``--least`` if the score is lower; 3 if not all were hunted that
    should have been, or if no run comes to any; else 0.

    Raises:
        UsageError: something asked for does not exist or cannot be done.
        EnvironmentRefusal, StoreError: this host does not allow it.
    """
    settings = _settings(arguments)
    names = names_here()
    trust_code(settings, lambda words: notices().print(words, soft_wrap=True, markup=False))
    targets = {recipe: targets_of(settings, recipe, names) for recipe in recipes_of(settings)}
    modules = {target.name: target for some in targets.values() for target in some}
    mutants = _made(modules)
    if not mutants:
        raise UsageError(
            f"{settings.workload} / {settings.recipe}: there is nothing in it that could be "
            "mutated: it is not made of Python source that simulated clients load"
        )
    equivalents = Equivalents(modules.values())
    for old in equivalents.outdated(mutants):
        words = (
            f"note: {NAME} explains what is no mutant (any more): {old.module}, {old.function}: "
            f"`{old.after}` in place of `{old.before}`"
        )
        notices().print(words, soft_wrap=True, markup=False)
    chosen = _drawn(mutants, arguments.sample)
    name = in_file_name("-".join(filter(None, [settings.workload, settings.recipe])))
    file = FateFile(arguments.output / f"{name}.jsonl", _basis(settings, modules))
    if file.forgotten:
        notices().print(
            f"{file.path}: the recipe, rumpus or the settings have changed, so it begins anew "
            f"({file.forgotten} fates forgotten)",
            soft_wrap=True,
        )
    for each in chosen:
        if why := equivalents.why(each):
            file.note(fate_of(each, "equivalent", why=why))
    left = [each for each in chosen if not _is_known(file, each, arguments.budget)]
    interrupted = _hunted(arguments, settings, targets, left, file)
    fates = [told_again(file.fates[each.id], each) for each in chosen if each.id in file.fates]
    patches = arguments.output / name
    _save_survivors(chosen, file, patches)
    recipe = settings.recipe or "RECIPE"
    run = ["rumpus", "run", settings.workload, "--recipe", recipe, "--patch"]
    command = in_shell([*run, patches / "ID.diff"])
    return _answer(arguments, fates, len(chosen) - len(fates), command, interrupted=interrupted)


def _settings(arguments: argparse.Namespace) -> RunSettings:
    given = given_options(arguments)
    given["fixed"] = tuple(given)
    given = {"argv": (), "time_limit": LOAD_S, **given, "ensemble": "sim"}
    settings = replace(names_here().settings_of(given), argv=())
    return replace(settings, seed=settings.seed or 0)


def _made(modules: Mapping[str, Target]) -> list[SourceMutant]:
    return [
        mutant
        for target, text in read(list(modules.values()))
        for mutant in mutants_of(target.name, text, is_package=target.is_package)
    ]


def _drawn(mutants: Sequence[SourceMutant], sample: int | None) -> list[SourceMutant]:
    """So many of the mutants, drawn by hash: always the same ones, as far as they are there."""
    drawn = sorted(mutants, key=lambda each: each.id)
    return drawn if sample is None else drawn[:sample]


def _is_known(file: FateFile, mutant: SourceMutant, budget: float) -> bool:
    fate = file.fates.get(mutant.id)
    return fate is not None and fate.holds(budget)


def _basis(settings: RunSettings, modules: Mapping[str, Target]) -> str:
    """A digest of all that decides what becomes of mutants, but for time."""
    told = {
        each.name: str(getattr(settings, each.name))
        for each in fields(settings)
        if each.name not in _OTHER
    }
    return digest(
        sorted(each.file for each in modules.values()),
        {
            "kazoo": settings.kazoo or version("kazoo"),
            "python": sys.version.split()[0],
            "rumpus": source_digest(),
            "settings": hashlib.sha256(repr(sorted(told.items())).encode()).hexdigest(),
        },
    )


def _hunted(
    arguments: argparse.Namespace,
    settings: RunSettings,
    targets: Mapping[str, Sequence[Target]],
    left: Sequence[SourceMutant],
    file: FateFile,
) -> bool:
    """Hunt the mutants that are left, and keep what becomes of each; whether it was interrupted."""
    if not left:
        return False
    line = LiveLine(notices(), PLAIN_PERIOD_S)
    found: list[Fate] = []

    def note(fate: Fate) -> None:
        file.note(fate)
        found.append(fate)
        line.show(_status(found, len(left)))

    with processes(arguments.jobs) as executor, scratch("mutate") as place, line.live():
        line.show(Text(f"{len(left)} mutants: first the recipe as it is"))
        subjects = [
            Subject(replace(settings, recipe=recipe), some, executor, place)
            for recipe, some in targets.items()
        ]
        hunt = Hunt(subjects, place, budget=arguments.budget, first_seed=settings.seed or 0)
        try:
            hunt.hunt(left, note, arguments.jobs)
        except KeyboardInterrupt:
            return True
    _tell_broken(subjects)
    return False


def _tell_broken(subjects: Sequence[Subject]) -> None:
    """Say what the recipes break as they are: such promises kill no mutant."""
    for subject in subjects:
        if broken := subject.broken():
            words = ", ".join(f"{kind} in {count} pieces" for kind, count in sorted(broken.items()))
            notices().print(
                f"note: {subject.name} as it is breaks {words}: that kills no mutant",
                soft_wrap=True,
                markup=False,
            )


def _status(found: Sequence[Fate], of: int) -> Text:
    words = Text(f"{len(found)}/{of} mutants, noticed {in_words(score_of(found).share)}")
    last = found[-1]
    words.append(f"; {last.place}: {last.words}: {last.state}")
    if last.by:
        words.append(f" by {', '.join(last.by)}")
    return words


def _save_survivors(chosen: Sequence[SourceMutant], file: FateFile, patches: Path) -> None:
    """Write a patch of each mutant that survived, and remove those of others.

    Raises:
        StoreError: one cannot be written.
    """
    for each in chosen:
        fate = file.fates.get(each.id)
        name = Path(patches.name, f"{each.id}.diff")
        place = inside(patches.parent, name, option="--output DIR")
        if fate is not None and fate.state in SURVIVING:
            write_atomically(
                place,
                f"{fate.place}: {each.words}\n\nIf it is no mistake, in {NAME}:\n\n"
                f"{stub(each)}\n{each.diff}",
            )
        else:
            place.unlink(missing_ok=True)


def _answer(
    arguments: argparse.Namespace,
    fates: Sequence[Fate],
    left: int,
    command: str,
    *,
    interrupted: bool,
) -> int:
    share = score_of(fates).share
    survived = any(each.state in SURVIVING for each in fates)
    least = arguments.least
    failed = survived if least is None else share is None or 100 * share.value < least
    # Mutants of which none is reached say nothing of the trial.
    idle = share is None and any(each.state == "unreached" for each in fates)
    code = campaign_exit_code(failed=failed, errors=[], undecided=interrupted or left > 0 or idle)
    end: dict[str, Any] = ending(code, interrupted=interrupted)
    if arguments.json:
        print_document(mutation_document(fates, left) | end)
        return int(end["exit_code"])
    print_scores(fates, command, answers())
    if left:
        answers().print(f"{left} mutants were not hunted; the same command goes on", style="yellow")
    return int(end["exit_code"])
