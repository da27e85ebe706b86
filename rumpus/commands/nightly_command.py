"""``rumpus nightly``: performs what matters within a budget, remembers it, and says what is new."""

import argparse
import contextlib
import datetime as dt
import secrets
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec
from rich.text import Text

from rumpus.campaigns.tasks import software
from rumpus.consoles import Lines, answers, notices, print_document, print_json, shown
from rumpus.exit_codes import VALID
from rumpus.harness.scratch import scratch
from rumpus.live_line import LiveLine
from rumpus.memory_of_files import USUAL
from rumpus.nights.asked import Asked, asked_before, asked_now
from rumpus.nights.changes import Change
from rumpus.nights.documents.document import NightDocument, to_json
from rumpus.nights.documents.notifying import notify
from rumpus.nights.documents.outputs import OUTPUT
from rumpus.nights.documents.plan_text import plan_document, plan_lines
from rumpus.nights.documents.summary import duration, in_text, many
from rumpus.nights.memory.store import Store
from rumpus.nights.night import Night
from rumpus.nights.night_file import schema
from rumpus.nights.performing import Order, perform_night
from rumpus.nights.planning import NightPlan, make_plan, with_notes
from rumpus.nights.records import NightRow, Trouble
from rumpus.nights.revision import revision
from rumpus.project_names import Names, names_here
from rumpus.results.atomic_file import check_writable, link_atomically
from rumpus.results.escapes import in_file_name
from rumpus.results.store_error import StoreError
from rumpus.runs.shard import shard_of
from rumpus.trust import trust_code
from rumpus.usage_error import UsageError

PLAIN_PERIOD_S = 30.0
"""How often the state is printed where lines cannot be overwritten."""

NIGHTS = Path("runs/nights")
"""Where a night's directory is made, by its name; ``latest`` points at the newest."""


def nightly_command(arguments: argparse.Namespace) -> int:
    """Perform a night; the exit code, as docs/how-to/nights.md orders them.

    Raises:
        UsageError: something asked for does not exist or cannot be done.
        EnvironmentRefusal, StoreError: this host does not allow it.
    """
    if arguments.schema:
        print_document(schema())
        return 0
    names = names_here()
    names.find_modules()
    if arguments.dry_run:
        return _dry_run(arguments, names)
    code = None
    try:
        with Store.opened(arguments.store, write=True) as store:
            code = _perform(arguments, names, store)
    except StoreError as error:
        if code is None:
            raise
        notices().print(Lines(f"the store could not be closed: {error}"), soft_wrap=True)
    return code


def _perform(arguments: argparse.Namespace, names: Names, store: Store) -> int:
    console = notices()

    def say(words: str) -> None:
        console.print(Text(words), soft_wrap=True)

    former = _former(store) if arguments.resume else None
    if former is None:
        asked = asked_now(arguments.file, names)
    else:
        asked = asked_before(former, arguments.file, names=names, store=arguments.store)
    row = former or _new(arguments, store)
    asked = _within(asked, arguments.budget)
    row = msgspec.structs.replace(
        row, budget=asked.file.seconds, ended=None, interrupted=False, asked=asked.plain()
    )
    change = Change(Path.cwd(), arguments.base) if arguments.changed else None

    def perform(directory: Path) -> NightDocument:
        canaries = None if arguments.dask else _emptied(directory / "canaries")
        plan = _plan(names, store, asked, row, canaries)
        if change is not None:
            plan = with_notes(change.of(plan, asked.path), f"compared with {change.base}")
        for each in plan.subjects:
            trust_code(each.settings, say)
        say(f"night {row.name}: {asked.source}; what comes of it will be in {shown(directory)}")
        if former is None:
            store.begin_night(row)
        else:
            store.update_night(row)
        line = LiveLine(console, PLAIN_PERIOD_S)
        with line.live():
            return perform_night(
                Order(
                    plan=plan,
                    night=row,
                    store=store,
                    directory=directory,
                    jobs=arguments.jobs,
                    dask=arguments.dask,
                    memory=arguments.memory_of_runs or USUAL,
                    say=say,
                    show=lambda night: line.show(_status(night)),
                    change=change,
                )
            )

    return finish(perform, arguments, row.name)


def finish(make: Callable[[Path], NightDocument], arguments: argparse.Namespace, name: str) -> int:
    """Have a night's documents made, and tell it; the exit code.

    Args:
        make: makes them, in a directory that exists.
        arguments: the command's: ``output``, ``json``, and perhaps ``notify``.
        name: of the night.

    Raises:
        StoreError: something cannot be written.
    """
    directory = _folder(arguments.output or NIGHTS / in_file_name(name))
    document = make(directory)
    if directory.parent == NIGHTS:
        link_atomically(NIGHTS / "latest", Path(directory.name))
    if getattr(arguments, "notify", None):
        document = notify(arguments.notify, document, directory)
    if arguments.json:
        print_json(to_json(document))
        return document.exit_code
    style = "" if document.exit_code == VALID else "bold red"
    for number, line in enumerate(in_text(document)):
        answers().print(Text(line, style if number == 0 else ""), soft_wrap=True)
    answers().print(Text(f"all of it: {shown(directory)}"), soft_wrap=True)
    return document.exit_code


def _emptied(path: Path) -> Path:
    """A directory for modules that are imported: what lies there is nobody's, and goes.

    Raises:
        StoreError: it cannot be made, or emptied.
    """
    try:
        if path.is_symlink():
            path.unlink()
        elif path.exists():
            shutil.rmtree(path)
    except OSError as error:
        raise StoreError.from_os_error(path, "empty it", error, option=OUTPUT) from error
    return _folder(path)


def _folder(path: Path) -> Path:
    """A directory, made if it is missing.

    Raises:
        StoreError: it cannot be.
    """
    if path.is_symlink():
        raise StoreError(path, "it is a link, and a night's files are to lie here", "remove it")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError.from_os_error(
            path, "make the night's directory", error, option=OUTPUT
        ) from error
    check_writable(path / "night.json", option=OUTPUT)
    return path


def _former(store: Store) -> NightRow:
    """The night that is to go on: one that was killed, or the newest if it was ended early.

    Raises:
        UsageError: there is none.
    """
    found = store.unfinished()
    newest = store.nights()[:1]
    if found is None and newest and newest[0].interrupted:
        found = newest[0]
    if found is None:
        raise UsageError("there is no night to go on with: all have ended; leave --resume out")
    return found


def _within(asked: Asked, budget: float | None) -> Asked:
    """The same, within a budget that was given."""
    if budget is None:
        return asked
    return replace(asked, file=msgspec.structs.replace(asked.file, budget=budget))


def _new(arguments: argparse.Namespace, store: Store) -> NightRow:
    """A night that begins now."""
    here = revision(Path.cwd())
    return NightRow(
        name=store.new_name(dt.datetime.now(dt.UTC).date().isoformat()),
        began=time.time(),
        seed=secrets.randbits(31) if arguments.seed is None else arguments.seed,
        branch=here.branch,
        commit=here.commit,
        versions=dict(software()),
        shard=str(arguments.shard) if arguments.shard is not None else "",
    )


def _plan(
    names: Names,
    store: Store,
    asked: Asked,
    row: NightRow,
    canaries: Path | None,
) -> NightPlan:
    """The plan of a night.

    Raises:
        UsageError: something that is asked for does not exist.
    """
    nights = [night for night in store.nights() if night.name != row.name]
    if canaries is not None:
        sys.path.append(str(canaries.resolve()))
    plan = make_plan(
        asked.allowed,
        asked.path,
        names,
        past=store.subjects_last(),
        last=store.runs(nights[0].name) if nights else (),
        random=Random(f"{row.seed}:plan"),
        why_no_engine=asked.why_no_engine(),
        shard=shard_of(row.shard) if row.shard else None,
        canaries_in=canaries,
    )
    troubles = [Trouble(kind="usage", what=why) for why in asked.refused.values()]
    plan = replace(plan, troubles=[*plan.troubles, *troubles])
    killed = store.unfinished()
    note = ""
    if killed is not None and killed.name != row.name:
        note = f"the night {killed.name} was killed and not gone on with"
    return with_notes(plan, *asked.notes, note)


def _dry_run(arguments: argparse.Namespace, names: Names) -> int:
    """Print what a night would do."""
    asked = _within(asked_now(arguments.file, names), arguments.budget)
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(scratch("nightly"))
        path = arguments.store
        if not path.exists():
            path = place / "nights.sqlite"
        store = stack.enter_context(Store.opened(path, write=path != arguments.store))
        shard = str(arguments.shard) if arguments.shard is not None else ""
        row = NightRow(name="", began=time.time(), seed=arguments.seed or 0, shard=shard)
        plan = _plan(names, store, asked, row, None if arguments.dask else place)
    if arguments.json:
        print_document(plan_document(plan, arguments.jobs))
    else:
        for line in plan_lines(plan, asked.source, arguments.jobs):
            answers().print(Text(line), soft_wrap=True)
    return 0


def _status(night: Night) -> Text:
    notes = night.notes
    words = [
        many(len(notes.cases), "case"),
        many(len(notes.canaries), "canary", "canaries"),
        many(sum(run.role == "run" for run in notes.runs), "run"),
        many(len(night.book.tonight), "failure"),
    ]
    return Text(f"{', '.join(words)}; {duration(max(0.0, night.left))} left")
