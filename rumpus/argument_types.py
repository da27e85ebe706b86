"""Types of command-line arguments, with errors in words; options that several commands have."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rumpus.checker.bounds import LONGEST_S, SHORTEST_S
from rumpus.option_values import Seconds, Size, Text, Whole, at_home

T = TypeVar("T")


def argument(read: Callable[[str], T]) -> Callable[[str], T]:
    """A reader of text, whose ``ValueError`` the parser is to print after the argument's name."""

    def parse(text: str) -> T:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def count(least: int, most: int) -> Callable[[str], int]:
    """A parser of whole numbers from ``least`` to ``most``."""
    return argument(Whole(least, most).read)


def seconds(least: float = SHORTEST_S, most: float = LONGEST_S) -> Callable[[str], float]:
    """A parser of times from ``least`` to ``most`` seconds: ``90``, ``90s``, ``1.5m`` or ``2h``."""
    return argument(Seconds(least, most).read)


def name(text: str) -> str:
    """Any text that is not blank.

    Raises:
        argparse.ArgumentTypeError: it is blank.
    """
    return argument(Text().read)(text)


def add_count(
    parser: argparse.ArgumentParser,
    option: str,
    least: int,
    most: int,
    words: str,
    default: int | None = None,
) -> None:
    """An option that takes a whole number."""
    kind = count(least, most)
    parser.add_argument(option, type=kind, default=default, metavar="N", help=words)


def add_seconds(
    parser: argparse.ArgumentParser,
    option: str,
    default: float | None,
    words: str,
    within: tuple[float, float] = (SHORTEST_S, LONGEST_S),
) -> None:
    """An option that takes a time in seconds."""
    kind = seconds(*within)
    parser.add_argument(option, type=kind, default=default, metavar="S", help=words)


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option for programs that read what a command says."""
    words = "one JSON document on standard output, and nothing else there"
    parser.add_argument("--json", action="store_true", help=words)


def add_trust(parser: argparse.ArgumentParser) -> None:
    """The option of commands that import what a file names."""
    words = "import code that only the file names; remembered for the places where it lies"
    parser.add_argument("--trust", action="store_true", help=words)


def add_memory(parser: argparse.ArgumentParser) -> None:
    """The option of commands that read files of strangers; ``memory_of_files`` has its default."""
    words = (
        "most memory of each process, such as 4G (default: 900M, and 50 bytes more for each byte "
        "of the files that are named, each counted once)"
    )
    kind = argument(Size().read)
    parser.add_argument("--memory", type=kind, metavar="SIZE", help=words)


def add_memory_of_runs(parser: argparse.ArgumentParser) -> None:
    """The option of a command that bounds only the processes that perform its runs."""
    words = "most memory of each process that performs runs, such as 4G (default: 900M)"
    kind = argument(Size().read)
    parser.add_argument("--memory", dest="memory_of_runs", type=kind, metavar="SIZE", help=words)


def add_path(parser: argparse.ArgumentParser) -> None:
    """The argument that names the run or the history to read."""
    words = "directory of a run (runs/latest, for example), or a history"
    parser.add_argument("path", type=_path, metavar="RUN_OR_HISTORY", help=words)


def _path(text: str) -> Path:
    return at_home(Path(text))


def add_runs(parser: argparse.ArgumentParser) -> None:
    """The option that says where runs are kept."""
    words = "where runs are kept (default: runs)"
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help=words)


def add_rulings(parser: argparse.ArgumentParser) -> None:
    """The option for commands that tell failures apart."""
    words = "what persons have decided: a TOML file that merges and splits failures, with reasons"
    parser.add_argument("--rulings", type=Path, metavar="FILE", help=words)


def add_cases(parser: argparse.ArgumentParser) -> None:
    """The option that says where failures are kept."""
    words = "where failures are kept as cases (default: cases)"
    parser.add_argument("--cases", type=Path, default=Path("cases"), metavar="DIR", help=words)


def add_store(parser: argparse.ArgumentParser) -> None:
    """The option that says where nights are remembered."""
    words = "where nights are remembered (default: runs/nights.sqlite)"
    default = Path("runs/nights.sqlite")
    parser.add_argument("--store", type=Path, default=default, metavar="FILE", help=words)
