"""``rumpus track-record``: what was found, what was missed, and what was a false alarm."""

import argparse
import datetime as dt
from pathlib import Path

from rich.text import Text

from rumpus.campaigns.case import Case
from rumpus.campaigns.exploring import Exploration
from rumpus.campaigns.replaying import judge_replay, replay_task
from rumpus.campaigns.tasks import Performers, processes, submit
from rumpus.consoles import Lines, answers, notices, print_document
from rumpus.live_line import LiveLine
from rumpus.project_names import names_here
from rumpus.track_record.first_sight import LOAD_S, first_sights
from rumpus.track_record.record_file import (
    Flaw,
    Measured,
    TrackRecord,
    read_measured,
    read_record,
    write_measured,
)
from rumpus.track_record.record_tables import as_data, first_sight, in_markdown
from rumpus.trust import refuse_untrusted

PLAIN_PERIOD_S = 10.0


def track_record_command(arguments: argparse.Namespace) -> int:
    """Print a track record, after measuring what is asked for; the exit code.

    1 if a case that was replayed did not show its flaw any more.

    Raises:
        UsageError: a file is malformed, asks for what does not exist, or names code that is not
            trusted.
        UnreadableRun, StoreError: a file cannot be read or written.
        EnvironmentRefusal: this host does not allow it.
    """
    path: Path = arguments.file
    record = read_record(path)
    if arguments.replay or arguments.measure:
        for flaw, case in _cases(record):
            source = path.parent / flaw.record.case
            refuse_untrusted(source, case.task().settings, trust=arguments.trust)
    gone = []
    with processes(arguments.jobs) as executor:
        performers = Performers(executor, arguments.jobs)
        if arguments.replay:
            gone = _replayed(path, record, performers)
        if arguments.measure:
            _measure(path, record, performers, arguments.budget)
    record = read_record(path)
    if arguments.json:
        print_document(as_data(record) | {"exit_code": 1 if gone else 0, "gone": gone})
    else:
        answers().print(Lines(in_markdown(record)), soft_wrap=True, end="")
    return 1 if gone else 0


def _replayed(path: Path, record: TrackRecord, performers: Performers) -> list[str]:
    """Replay all cases, and note when they showed their flaw; those that do not any more."""
    today = dt.datetime.now(dt.UTC).date()
    going = [
        (flaw, case, submit(performers.executor, replay_task(case)))
        for flaw, case in _cases(record)
    ]
    gone = []
    for flaw, case, underway in going:
        told = judge_replay(flaw.record.case, case, underway.result().performed())
        if told.reproduced is True:
            _note(path, flaw, reproduced=today)
        else:
            gone.append(flaw.record.case)
            notices().print(Text(f"{flaw.record.case}: {told.verdict}", "red"), soft_wrap=True)
    return gone


def _measure(path: Path, record: TrackRecord, performers: Performers, budget: float) -> None:
    """Measure the first sights of all cases that have none yet."""
    line = LiveLine(notices(), PLAIN_PERIOD_S)
    with line.live():
        for flaw, case in _cases(record):
            if flaw.measured.sights:
                continue

            def show(explored: Exploration, flaw: Flaw = flaw) -> None:
                line.show(Text(f"{flaw.record.case}: {explored.runs} runs"))

            # A case without a recipe means the workload's first, whatever the project's default.
            chosen = {key: case.settings.get(key) for key in ("workload", "recipe")}
            settings = names_here().settings_of(
                {"argv": (), "ensemble": "sim", "time_limit": LOAD_S, "fixed": (), **chosen}
            )
            sights = first_sights(case, settings, performers, budget=budget, notify=show)
            _note(path, flaw, sights=sights)
            said = Text(f"{flaw.record.case}: {first_sight(sights)}")
            notices().print(said, soft_wrap=True)


def _cases(record: TrackRecord) -> list[tuple[Flaw, Case]]:
    return [(flaw, flaw.case) for flaw in record.flaws if flaw.case is not None]


def _note(path: Path, flaw: Flaw, **changes: object) -> None:
    """Keep what was measured at once: an interruption loses nothing."""
    known = read_measured(path)
    measured = known.get(flaw.record.case, Measured())
    for name, value in changes.items():
        setattr(measured, name, value)
    write_measured(path, {**known, flaw.record.case: measured})
