"""The directory of a run: ``runs/<workload>/<start>/`` and what lies in it.

``test.json``
    what was run (``results.record``)
``history.jsonl``
    what happened (``results.history_file``)
``wire.jsonl``
    what passed between clients and servers (``checker.wire.records``)
``plan.json``
    the fault plan, as ``rumpus run --plan`` takes it
``results.json``, ``report.html``, ``junit.xml``, ``summary.md``
    the verdict on it, and reports
``likelihood.json``
    when its failure became likely, if `rumpus cause` was asked
``nodes/<node>/``
    servers' logs and data, gathered at the end
``clients/c<client>.log``, ``harness.log``
    what clients and the harness logged
``seal.json``
    a checksum of every file that a verdict rests on, once the run has ended (``results.seal``)

``runs/<workload>/latest`` and ``runs/latest`` are links to the run that began last.
"""

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rumpus.checker.history import History
from rumpus.results.atomic_file import link_atomically, write_atomically
from rumpus.results.history_file import HistoryWriter, read_history
from rumpus.results.home_paths import without_home
from rumpus.results.likelihood_file import read_likelihood
from rumpus.results.record import RunRecord, read_record, write_record
from rumpus.results.record_values import check_records
from rumpus.results.seal import SEAL, changes, seal
from rumpus.results.store_error import StoreError, UnreadableRun

if TYPE_CHECKING:
    from rumpus.checker.timeline.timeline import Timeline
    from rumpus.checker.verdict import Verdict
    from rumpus.results.results_document import ResultsDocument

_LATEST = "latest"
_WORKLOAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class RunDirectory:
    """A run's directory, and the paths of its files.

    Args:
        path: the directory; ``create`` makes one, ``open_run`` finds one.
        history: the history's file, where it is not ``history.jsonl`` in the directory (a
            history on its own, without the rest of a run).
    """

    def __init__(self, path: Path, *, history: Path | None = None) -> None:
        self.path = path
        self.history = history or path / "history.jsonl"
        self.record = path / "test.json"
        self.wire = path / "wire.jsonl"
        self.plan = path / "plan.json"
        self.results = path / "results.json"
        self.report = path / "report.html"
        self.junit = path / "junit.xml"
        self.summary = path / "summary.md"
        self.likelihood = path / "likelihood.json"
        self.nodes = path / "nodes"
        self.clients = path / "clients"
        self.harness_log = path / "harness.log"

    @property
    def bare(self) -> bool:
        """Whether there is only a history, without a ``test.json`` that says what was run.

        A sealed directory is a run's: without ``test.json`` it is damaged.
        """
        if self.history != self.path / "history.jsonl":
            return True
        return not self.record.exists() and not os.path.lexists(self.path / SEAL)

    def write_record(self, record: RunRecord) -> None:
        """Write ``test.json``, replacing an earlier one.

        Raises:
            StoreError: it cannot be written.
        """
        write_record(self.record, record)

    def read_record(self) -> RunRecord:
        """Read ``test.json``.

        Raises:
            UnreadableRun: it is missing or malformed.
        """
        return read_record(self.record)

    def history_writer(self) -> HistoryWriter:
        """Begin the run's history.

        Raises:
            StoreError: it cannot be made, or has been begun already.
        """
        return HistoryWriter(self.history)

    def read_history(self) -> History:
        """Load the run's history, up to its last whole line.

        Raises:
            UnreadableRun: it is missing or malformed, or its records are not those of a run; the
                message names one.
        """
        clients = None if self.bare else self.read_record().clients
        history = read_history(self.history, clients=clients)
        try:
            check_records(history)
        except ValueError as error:
            raise UnreadableRun(
                self.history,
                f"not a run's history ({error})",
                "see docs/reference/history-format.md",
            ) from error
        return history

    def seal(self) -> None:
        """Write the checksums of the run's files, now that it has ended.

        Raises:
            StoreError: the seal cannot be written, or a file cannot be read.
        """
        seal(self.path)

    def changes(self) -> list[str] | None:
        """What has changed since the run was sealed, in words; None if it has no seal.

        Raises:
            UnreadableRun: the seal is malformed.
        """
        return changes(self.path)

    def finish(
        self,
        record: RunRecord,
        timeline: "Timeline",
        verdict: "Verdict",
        results: "ResultsDocument",
        *,
        only_sealed: bool = False,
    ) -> None:
        """Write ``results.json``, ``junit.xml``, ``summary.md`` and ``report.html``.

        They may be shown to others: the path of a run in the user's home begins with ``~`` there.

        Args:
            record: what the run was.
            timeline: what happened.
            verdict: what came of it.
            results: both, for ``results.json``.
            only_sealed: whether the report leaves out ``likelihood.json``, which no seal has: it
                may be made after the run.

        Raises:
            StoreError: one of them cannot be written.
            UnreadableRun: ``likelihood.json`` is there and malformed.
            ValueError: the history's records do not fit together; the message names one.
        """
        # What only reads a history makes no reports, and these are slow to import.
        from rumpus.results.reports.junit import junit  # noqa: PLC0415
        from rumpus.results.reports.report import render_report  # noqa: PLC0415
        from rumpus.results.reports.summary import summary  # noqa: PLC0415

        history = timeline.history
        results = replace(results, run=without_home(results.run))
        write_atomically(self.results, results.to_json())
        write_atomically(self.junit, junit(record, history, verdict))
        write_atomically(self.summary, summary(record, history, verdict, results))
        likelihood = None if only_sealed else read_likelihood(self.likelihood)
        write_atomically(self.report, render_report(record, timeline, verdict, results, likelihood))


def create(runs: Path, workload: str, now: datetime) -> RunDirectory:
    """Make the directory of a new run and point the ``latest`` links at it.

    Args:
        runs: directory of all runs; made when missing.
        workload: name of the workload.
        now: the time of start, with its time zone. When a run of the workload has begun in the
            same millisecond, the next free millisecond names the directory.

    Raises:
        StoreError: it cannot be made.
        ValueError: the workload's name cannot be a directory's.
    """
    if not _WORKLOAD.fullmatch(workload) or workload == _LATEST:
        raise ValueError(f"a workload cannot be called {workload!r}")
    of_workload = runs / workload
    run = RunDirectory(of_workload)
    try:
        of_workload.mkdir(parents=True, exist_ok=True)
        while True:
            run = RunDirectory(of_workload / _start_name(now))
            try:
                run.path.mkdir()
                break
            except FileExistsError:
                now += timedelta(milliseconds=1)
        run.nodes.mkdir()
        run.clients.mkdir()
    except OSError as error:
        raise StoreError.from_os_error(run.path, "make the run's directory", error) from error
    link_atomically(of_workload / _LATEST, Path(run.path.name))
    link_atomically(runs / _LATEST, Path(workload, run.path.name))
    return run


def open_run(path: Path) -> RunDirectory:
    """Find a run by its directory, a link to it, its history file, or a history on its own.

    Raises:
        UnreadableRun: there is no run.
    """
    try:
        return _find(path)
    except OSError as error:
        raise UnreadableRun.from_os_error(path, "open the run", error) from error


def _find(path: Path) -> RunDirectory:
    if path.is_file():
        if path.name == "history.jsonl":
            return RunDirectory(path.parent)
        return RunDirectory(path.parent, history=path)
    if not path.is_dir():
        problem = "is neither a file nor a directory" if path.exists() else "does not exist"
        raise UnreadableRun(path, problem, "name the directory of a run, or a history")
    run = RunDirectory(path)
    if not run.history.exists():
        latest = path / _LATEST
        remedy = f"did you mean {latest}?" if latest.exists() else "name the directory of a run"
        raise UnreadableRun(path, "not a run: it has no history.jsonl", remedy)
    return run


def _start_name(start: datetime) -> str:
    """A directory's name: UTC to the millisecond, so that names sort by time."""
    utc = start.astimezone(UTC)
    return f"{utc:%Y%m%dT%H%M%S}.{utc.microsecond // 1000:03d}Z"
