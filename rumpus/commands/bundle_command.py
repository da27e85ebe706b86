"""``rumpus bundle``: one zip with all that a stranger needs to perform a failure again."""

import argparse
import contextlib
import getpass
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.text import Text

from rumpus.commands.failure_command import kept_case
from rumpus.consoles import answers, notices, print_document, shown
from rumpus.nights.documents.bundling import bundle, own_source, performed_again
from rumpus.nights.memory.store import Store
from rumpus.results.atomic_file import named_file, write_atomically
from rumpus.results.escapes import escaped
from rumpus.trust import refuse_untrusted
from rumpus.usage_error import UsageError

_OUTPUT: Final = "-o FILE"
_NOBODY: Final = frozenset({"", "root", "localhost"})
"""Names of users and hosts that tell of nobody."""


def bundle_command(arguments: argparse.Namespace) -> int:
    """Write the zip; the exit code.

    Raises:
        UsageError: there is no such failure, no case of it, it names code that is not trusted, or
            something private is in it.
        UnreadableRun, StoreError: the store cannot be read, or the zip cannot be written.
        EnvironmentRefusal: this host does not allow the run.
    """
    with Store.opened(arguments.store) as store:
        row = store.failure(arguments.failure)
        case = kept_case(store, row)
    if case is None:
        raise UsageError(f"{row.id}: no case of it was kept, so there is nothing to perform")
    source = {} if arguments.without_source else own_source(case, Path.cwd())
    refuse_untrusted(arguments.store, case.task().settings, trust=arguments.trust)
    notices().print(Text("performing the case's run again, for its report"))
    again = performed_again(case, seconds=arguments.budget)
    packed = bundle(case, again=again, source=source, private=list(private_words()))
    write_atomically(named_file(arguments.output, option=_OUTPUT), packed, option=_OUTPUT)
    if arguments.json:
        document = {
            "id": row.id,
            "file": str(arguments.output),
            "bytes": len(packed),
            "report": again.report is not None,
            "why_no_report": again.why or None,
            "source": sorted(source),
        }
        print_document(document)
        return 0
    console = answers()
    console.print(Text(f"{shown(arguments.output)}: {row}"), soft_wrap=True)
    if again.report is None:
        console.print(Text(f"without a report: {escaped(again.why)}"), soft_wrap=True)
    for path in sorted(source):
        console.print(Text(f"with the source {path}"), soft_wrap=True)
    return 0


def private_words() -> Iterator[tuple[str, str]]:
    """What tells of this host and its user, and what may stand in its place."""
    places = [(Path.cwd(), ".")]
    with contextlib.suppress(RuntimeError):  # a user without a home
        places.append((Path.home(), "~"))
    for path, instead in places:
        for each in dict.fromkeys((str(path), str(path.resolve()))):
            if each != "/":
                yield each, instead
    names = [socket.gethostname()]
    with contextlib.suppress(KeyError, OSError):  # a user without a name, in a container
        names.append(getpass.getuser())
    for name in names:
        if name not in _NOBODY:
            yield name, "..."
