"""``rumpus merge``: joins what the parts of an exploration have found, or the parts of a night."""

import argparse

from rumpus.campaigns.case import check_place_of_cases
from rumpus.campaigns.explored_answer import (
    explored_document,
    explored_exit_code,
    print_explored,
    save_cases,
)
from rumpus.campaigns.merging import check_parts, load_part, merge
from rumpus.commands.nightly_command import finish
from rumpus.consoles import answers, print_document
from rumpus.nights.documents.joining import check_night_parts, is_night, join, load_night
from rumpus.nights.memory.store import Store


def merge_command(arguments: argparse.Namespace) -> int:
    """Join parts; the exit code, as of ``rumpus explore``, or of ``rumpus nightly``.

    Raises:
        UsageError: a file is malformed, or the parts do not make a whole.
        UnreadableRun, StoreError: a file cannot be read, or one cannot be written.
    """
    if any(map(is_night, arguments.files)):
        return _nights(arguments)
    check_place_of_cases(arguments.cases)
    parts = {path: load_part(path) for path in arguments.files}
    check_parts(parts)
    explored = merge(list(parts.values()))
    saved = save_cases(explored, arguments.cases)
    interrupted = any(part.interrupted for part in parts.values())
    code = explored_exit_code(explored, interrupted=interrupted)
    if arguments.json:
        document = explored_document(explored, saved, code, interrupted=interrupted)
        print_document(document)
    else:
        print_explored(explored, saved, answers())
    return code


def _nights(arguments: argparse.Namespace) -> int:
    parts = {path: load_night(path) for path in arguments.files}
    check_night_parts(parts)
    with Store.opened(arguments.store, write=True) as store:
        return finish(
            lambda directory: join(parts, store, directory),
            arguments,
            store.new_name(next(iter(parts.values())).night.name.partition(".")[0]),
        )
