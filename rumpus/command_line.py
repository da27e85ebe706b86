"""The command line: arguments in, an exit code out (``rumpus.exit_codes``), errors in words."""

import argparse
import contextlib
import importlib
import json
import logging
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import NoReturn

from rumpus.command_arguments import COMMANDS
from rumpus.command_parser import CommandParser, WrongArguments
from rumpus.consoles import Lines, documents_printed, notices, print_json, print_text
from rumpus.exit_codes import DEFECT, MEANINGS, UNDECIDED, USAGE, ending, exit_code, in_words
from rumpus.harness.memory import at_most
from rumpus.interruption import as_keyboard_interrupt
from rumpus.memory_of_files import memory_of_files
from rumpus.results.store_error import StoreError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = make_parser(words)
    try:
        for word in words:
            if _surrogates(word):
                # The word goes into the run's record, its report and the output: all are UTF-8.
                parser.error(f"{word!a} is not UTF-8: give the file or directory another name")
        arguments = parser.parse(words)
    except WrongArguments as wrong:
        if parser.takes_json(words):
            _answer(USAGE, wrong.why)
        raise
    arguments.argv = words
    arguments.printed = documents_printed()
    # A log that cannot be written (the disk may be full) is not worth a traceback.
    logging.raiseExceptions = arguments.verbose
    with _bounded(arguments):
        return _ended(arguments, words)


def _ended(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Run the command; the exit code."""
    try:
        with as_keyboard_interrupt():
            return int(_command(arguments)(arguments))
    except KeyboardInterrupt:
        return interrupted(words, arguments.printed)
    except Exception as error:  # the last resort: name it, and show where only when asked
        return _refused(arguments, error)


def interrupted(words: Sequence[str], printed: int = 0) -> int:
    """Say that somebody has ended the command; the exit code.

    Args:
        words: the command line's arguments.
        printed: how many JSON documents had been printed when the command began.
    """
    _say("interrupted", style="yellow")
    if "--json" in words and documents_printed() == printed:
        _answer(UNDECIDED, "interrupted", interrupted=True)
    return UNDECIDED


def _bounded(arguments: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    """The memory that a command may take, if it reads what strangers may have made."""
    if not hasattr(arguments, "memory"):
        return contextlib.nullcontext()
    return at_most(arguments.memory or memory_of_files(arguments))


def _surrogates(word: str) -> bool:
    """Whether a word of the command line had bytes that are not UTF-8."""
    return any("\udc80" <= letter <= "\udcff" for letter in word)


def _command(arguments: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    """The function to call. Only its module is imported, so that each command starts fast."""
    name, place = arguments.command, "rumpus.commands"
    if name == "check_command" and arguments.model is not None:
        name, place = "check_model", "rumpus"
    command: Callable[[argparse.Namespace], int]
    command = getattr(importlib.import_module(f"{place}.{name}"), name)
    return command


def _refused(arguments: argparse.Namespace, error: Exception) -> int:
    """Say why a command did not come to its end; the exit code."""
    code = exit_code(error)
    words = in_words(error)
    if arguments.verbose:
        trace = "".join(traceback.format_exception(error))
        notices().print(Lines(trace), soft_wrap=True)
    _say(words, style="red")
    if code == DEFECT and not _is_crash(error):
        _say(f"this is a defect of rumpus ({type(error).__name__}); -v shows where")
    if getattr(arguments, "json", False) and documents_printed() == arguments.printed:
        _answer(code, words)
    return code


def _is_crash(error: Exception) -> bool:
    """Whether a client's process failed: perhaps by what a user's recipe did."""
    # Imported only after a failure: the modules of runs are slow to import.
    crash = importlib.import_module("rumpus.harness.clients.workers").WorkerCrash
    return isinstance(error, crash)


def _answer(code: int, reason: str, *, interrupted: bool = False) -> None:
    """Print, if possible, a JSON document for a command that ended without one."""
    how = ending(code, interrupted=interrupted)
    document = {**how, "valid": "unknown", "outcome": "none", "reasons": [reason]}
    with contextlib.suppress(StoreError):
        print_json(json.dumps(document, indent=2).encode() + b"\n")


def _say(words: str, style: str = "") -> None:
    # Never wrapped: paths and commands in it must stay in one piece to be copied.
    notices().print(Lines(f"rumpus: {words}", style), soft_wrap=True)


class _Version(argparse.Action):
    """The option that prints the version, which pip's records tell: they are slow to read."""

    def __call__(self, *_: object) -> NoReturn:
        """Print it, and end."""
        from rumpus.version import __version__  # noqa: PLC0415 - see above

        print_text([f"rumpus {__version__}\n"])
        sys.exit(0)


def make_parser(words: Sequence[str] | None = None) -> CommandParser:
    """The parser of a command line.

    Args:
        words: the command line; only the arguments of its own command are made, as those of all
            take as long as what some commands do. None for the arguments of every command.
    """
    parser = CommandParser(
        prog="rumpus",
        description="Correctness and chaos tests for coordination recipes on ZooKeeper.",
        epilog=f"Exit codes: {'; '.join(f'{code} {what}' for code, what in MEANINGS.items())}.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    parser.commands = commands.choices

    for name, (summary, add_arguments) in COMMANDS.items():
        # An abbreviation would mean something else once there is a longer option.
        added = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            allow_abbrev=False,
        )
        added.set_defaults(command=f"{name.replace('-', '_')}_command")
        added.add_argument("-v", "--verbose", action="store_true", help="show traces of errors")
        if words is None or name in words[:1]:
            add_arguments(added)
    return parser
