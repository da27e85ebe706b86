"""``rumpus export``: a history in a form that other checkers read."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from rich.text import Text

from rumpus.check_model import history_file
from rumpus.checker.history import History
from rumpus.consoles import notices, print_text, shown
from rumpus.results.atomic_file import named_file, write_atomically
from rumpus.results.formats.edn_export import NotExportable, edn_history, porcupine_kv
from rumpus.results.formats.history_formats import FORMATS
from rumpus.results.store_error import UnreadableRun

_OUTPUT: Final = "-o FILE"
EXPORTS: Final[Mapping[str, Callable[[History], Iterator[str]]]] = {
    "edn": edn_history,
    "porcupine-kv": porcupine_kv,
}
"""Format -> the function that writes it."""


def export_command(arguments: argparse.Namespace) -> int:
    """Write the history; the exit code.

    Raises:
        UnreadableRun: there is no history, it is malformed, or the format cannot express it.
        StoreError: it cannot be written.
    """
    path, name = history_file(arguments.path, "auto")
    try:
        history = History(op for piece in FORMATS[name](path) for op in piece)
        history.operations()
        # Nothing is written before all of it is made: a history is refused as a whole.
        pieces = list(EXPORTS[arguments.format](history))
    except NotExportable as error:
        raise UnreadableRun(
            path, f"cannot be written as {arguments.format} ({error})", "try --format edn"
        ) from error
    except ValueError as error:
        remedy = "see docs/reference/history-format.md"
        raise UnreadableRun(path, f"no history ({error})", remedy) from error
    if arguments.output is None:
        print_text(pieces)
        return 0
    place = named_file(arguments.output, option=_OUTPUT)
    write_atomically(place, "".join(pieces), option=_OUTPUT)
    written = f"{len(history):,} records: {shown(arguments.output)}"
    notices().print(Text(written), soft_wrap=True)
    return 0
