"""Commands of a night's file: other tests, whose exit codes are their verdicts."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from rumpus.exit_codes import DEFECT
from rumpus.nights.documents.document import CommandResult
from rumpus.nights.night_file import Command, seconds_of
from rumpus.nights.night_notes import NightNotes
from rumpus.nights.records import Trouble
from rumpus.results.escapes import in_file_name, in_shell

LAST_WORDS: Final = 2000
"""How many characters of what a command has said are kept."""

PATIENCE_S: Final = 5.0
"""How long a command may take to end when it is told to."""


def fitting(commands: Sequence[Command], budget: float) -> tuple[list[Command], float, list[str]]:
    """The commands for which a budget has room: together they may take half of it.

    Returns:
        Those that fit, the seconds that are kept for them, and what is said of the others.
    """
    fit: list[Command] = []
    kept = 0.0
    left_out = []
    for command in commands:
        seconds = seconds_of(command.timeout)
        if kept + seconds <= budget / 2:
            fit.append(command)
            kept += seconds
        else:
            left_out.append(f"{command.name} may take {command.timeout}, too long for the budget")
    return fit, kept, left_out


def perform_commands(
    commands: Sequence[Command], directory: Path, notes: NightNotes, say: Callable[[str], None]
) -> Iterator[CommandResult]:
    """Perform commands one after the other; Ctrl-C ends the one under way, and the rest.

    Args:
        commands: of the night's file.
        directory: all that they say is written there, in a file for each.
        notes: where troubles are noted.
        say: called with a line for each.
    """
    for command in commands:
        say(f"{command.name}: {in_shell(command.run)}")
        try:
            yield _command(command, directory, notes)
        except KeyboardInterrupt:
            notes.interrupted = True
            return


def _command(command: Command, directory: Path, notes: NightNotes) -> CommandResult:
    began = time.monotonic()
    log = directory / f"{in_file_name(command.name)}.log"
    try:
        log.unlink(missing_ok=True)  # a link that lies there is not followed
        with log.open("xb") as said:
            process = subprocess.Popen(
                command.run,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
    except OSError as error:
        notes.troubles.append(Trouble(kind="command", what=f"{command.name}: {error}"))
        return CommandResult(name=command.name, exit_code=0, seconds=0.0, said=str(error))
    code = 0
    try:
        code = process.wait(seconds_of(command.timeout))
    except subprocess.TimeoutExpired:
        _end(process)
        what = f"{command.name} was ended: it took longer than {command.timeout}"
        notes.troubles.append(Trouble(kind="command", what=what))
    except BaseException:
        _end(process)
        raise
    words = log.read_bytes()[-LAST_WORDS:].decode(errors="replace")
    seconds = round(time.monotonic() - began, 1)
    return CommandResult(
        name=command.name, exit_code=code if code >= 0 else DEFECT, seconds=seconds, said=words
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and all that it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
