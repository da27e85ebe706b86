"""``rumpus merge``: joins the results of an exploration's parts."""

import argparse

from rumpus.campaigns.explored_answer import (
    explored_document,
    explored_exit_code,
    print_explored,
    save_cases,
)
from rumpus.campaigns.merging import check_parts, load_part, merge
from rumpus.consoles import answers, print_document


def merge_command(arguments: argparse.Namespace) -> int:
    """Join the results of an exploration's parts; the exit code, as of ``rumpus explore``.

    Raises:
        UsageError: a file is malformed, or the parts do not make a whole.
        UnreadableRun, StoreError: a file cannot be read, or a case cannot be written.
    """
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
