"""``rumpus completion``: prints a script by which a shell completes command lines of rumpus.

The scripts are made by shtab from the parser. Names of workloads, recipes, faults and models are
asked for when they are needed (``rumpus completion --names``): a project may have its own.
"""

import argparse
import importlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from rumpus.catalogue.index import index, recipes
from rumpus.command_line import make_parser
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.project_names import Kind, names_here
from rumpus.usage_error import UsageError

_NAMES: dict[str, Kind] = {
    "workload": "workloads",
    "--workload": "workloads",
    "--family": "workloads",
    "--recipe": "recipes",
    "--nemesis": "faults",
    "--fault": "faults",
    "--model": "models",
}
"""Option or argument -> what it names."""

_FILES = ("path", "--plan", "--svg", "--output")
_DIRECTORIES = ("--runs",)


def completion_command(arguments: argparse.Namespace) -> int:
    """Print the script of a shell, or names; the exit code.

    Raises:
        UsageError: neither a shell nor a kind of name is given.
        EnvironmentRefusal: shtab is not installed.
    """
    if arguments.names is not None:
        sys.stdout.writelines(f"{name}\n" for name in known_names(arguments.names))
        return 0
    if arguments.shell is None:
        raise UsageError("name a shell: rumpus completion bash, zsh or fish")
    try:
        shtab = importlib.import_module("shtab")
    except ModuleNotFoundError as error:
        raise EnvironmentRefusal(
            "completion needs the package shtab: pip install 'rumpus[completion]'"
        ) from error
    parser = make_parser()
    for action in _actions(parser):
        for name in action.option_strings or [action.dest]:
            if name in _NAMES:
                action.complete = shtab.cmd(f"rumpus completion --names {_NAMES[name]}")
            elif name in _FILES:
                action.complete = shtab.FILE
            elif name in _DIRECTORIES:
                action.complete = shtab.DIRECTORY
    sys.stdout.write(shtab.complete(parser, arguments.shell) + "\n")
    return 0


def known_names(kind: Kind) -> list[str]:
    """The names of a kind that can be given here: those of rumpus, the project and libraries."""
    names = names_here()
    own = [each.name for each in names.named if each.kind == kind]
    known: dict[Kind, Iterable[str]] = {
        "workloads": recipes(),
        "recipes": (name for each in recipes().values() for name in (*each.sound, *each.mutants)),
        "faults": (fault["name"] for fault in index()["faults"]),
        "models": index()["models"],
    }
    return list(dict.fromkeys([*known[kind], *own]))


def _actions(parser: argparse.ArgumentParser) -> Iterator[Any]:
    """The options and arguments of a parser and of its commands."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of them
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for command in action.choices.values():
                yield from _actions(command)
