"""``rumpus check --model``: decides whether the operations of any history follow a model."""

import argparse
import gc
import time
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from rumpus.checker.deciders.decision import Decision
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.values import WrongOperations
from rumpus.consoles import Lines, answers, notices, print_json, shown
from rumpus.history_check import BUDGET, decided
from rumpus.model_choice import chosen_model, initial_value, which_model
from rumpus.results.atomic_file import named_file, write_atomically
from rumpus.results.decision_document import DecisionDocument, decision_document
from rumpus.results.escapes import escaped, escaped_lines
from rumpus.results.formats.history_formats import FORMATS, detect_format, read_table
from rumpus.results.run_directory import open_run
from rumpus.results.store_error import StoreError, UnreadableRun
from rumpus.runs.made_here import STRANGE, is_made_here
from rumpus.usage_error import UsageError

_WIDEST = 100  # columns of a drawing
_SVG = "--svg FILE"
_STYLES = {True: "green", False: "red", "unknown": "yellow"}


def check_model(arguments: argparse.Namespace) -> int:
    """Decide, and print what was found; the exit code.

    Raises:
        UnreadableRun: the file cannot be read, or the model does not know its operations.
        UsageError: there is no such model, or a model of the user's own fails.
    """
    for option in ("workload", "recipe", "perform", "believe", "sign", "require"):
        if getattr(arguments, option):
            raise UsageError(
                f"--{option} cannot be given with --model, which judges the operations in the file "
                "and nothing else"
            )
    entry = chosen_model(arguments.model)
    initial = initial_value(arguments.initial)
    began = time.monotonic()
    path, name = history_file(arguments.path, arguments.format)
    table = read_table(path, name)
    # No object made so far becomes garbage: the garbage collector need not look at them again.
    gc.freeze()
    read = time.monotonic()
    try:
        decision = decided(entry, table, initial, arguments.budget or BUDGET)
    except WrongOperations as error:
        raise UnreadableRun(path, f"not decided ({error})", which_model(table)) from error
    if decision.valid is True and (why := _doubt(arguments.path)):
        decision.valid = "unknown"
        decision.unknown.append(why)
    document = decision_document(
        shown(path),
        name,
        table,
        decision,
        seconds=time.monotonic() - read,
        read_seconds=read - began,
    )
    console = notices() if arguments.json else answers()
    _print(console, document)
    if decision.witness is not None:
        from rumpus.results.pictures.witness_text import witness_text  # noqa: PLC0415 - slow to import

        console.print()
        drawn = witness_text(table, decision.witness, min(console.width, _WIDEST))
        console.print(Lines(drawn), soft_wrap=True)
    if arguments.json:
        print_json(document.to_json())
    if arguments.svg is not None:
        _draw(arguments.svg, table, decision, console)
    return document.exit_code


def _doubt(path: Path) -> str:
    """Why a run's own history, if that was named, proves nothing; else empty."""
    run = open_run(path)
    if run.bare:
        return ""
    if changed := run.changes():
        return f"since the run was sealed {changed[0]}: run it again, or restore what it wrote"
    return "" if is_made_here(run.path) else STRANGE


def _draw(file: Path, table: OperationTable, decision: Decision, console: Console) -> None:
    """Write the picture. If that fails, say so; the exit code stays what the decision made it."""
    if decision.witness is None:
        console.print(Text(f"{file}: not written, as there is no contradiction"), soft_wrap=True)
        return
    from rumpus.results.pictures.witness_drawing import (  # noqa: PLC0415 - slow to import
        witness_document,
    )

    try:
        picture = escaped_lines(witness_document(table, decision.witness))
        write_atomically(named_file(file, option=_SVG), picture, option=_SVG)
    except StoreError as error:
        console.print(Text(str(error), style="red"), soft_wrap=True)
    else:
        console.print(Text(f"picture:    {shown(file)}"), soft_wrap=True)


def history_file(path: Path, name: str) -> tuple[Path, str]:
    """The file with the history, and its format.

    Args:
        path: a history, or the directory of a run.
        name: a format, or "auto".

    Raises:
        UnreadableRun: there is no history, or its format is unknown.
    """
    file = open_run(path).history
    found = detect_format(file) if name == "auto" else name
    if found is None:
        raise UnreadableRun(
            file,
            "no history: it begins like none of the formats that are known",
            f"name its format with --format {'|'.join(FORMATS)}, if it is one after all",
        )
    return file, found


def refuse_without_model(path: Path, name: str) -> None:
    """Refuse a history in another program's format, and name the models that fit it.

    Raises:
        UnreadableRun: it cannot be read.
        UsageError: in every other case.
    """
    remedy = which_model(read_table(path, name))
    raise UsageError(f"{path}: a history in the format {name} is judged by a model; {remedy}")


def _print(console: Console, document: DecisionDocument) -> None:
    style = _STYLES[document.valid]
    console.print(Text(document.headline, style=f"bold {style}"))
    for remark in document.remarks():
        console.print(Padding(Text(escaped(remark), style=style), (0, 0, 0, 2), expand=False))
    for fact in document.facts():
        console.print(Text(fact), soft_wrap=True)
