"""Performs a night from its plan to its documents, and ends it in order."""

import contextlib
import datetime as dt
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from rumpus.campaigns.dask_cluster import cluster
from rumpus.campaigns.tasks import GRACE_S, Performers, processes
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.interruption import Interruption
from rumpus.nights.changes import Change
from rumpus.nights.documents.document import CommandResult, NightDocument, for_store
from rumpus.nights.documents.outputs import write_outputs
from rumpus.nights.documents.summary import headed, headline
from rumpus.nights.failure_book import FailureBook
from rumpus.nights.finishing import finished
from rumpus.nights.keeping import Keeping
from rumpus.nights.kept_cases import Kept
from rumpus.nights.memory.store import Store
from rumpus.nights.night import Night
from rumpus.nights.night_commands import perform_commands
from rumpus.nights.night_notes import CanaryNote, CaseNote, NightNotes
from rumpus.nights.pieces import Piece
from rumpus.nights.planning import NightPlan
from rumpus.nights.records import Ensemble, FailureRow, NightRow, RunRow, Trouble
from rumpus.nights.schedule import Schedule
from rumpus.nights.subjects import OnTrial
from rumpus.results.escapes import in_shell
from rumpus.results.store_error import StoreError
from rumpus.trust import places_of, refusal
from rumpus.usage_error import UsageError
from rumpus.workloads.own.references import is_reference

BEAT_S: Final = 5.0
"""How often the store is told how long the night has gone on."""

RUNS: Final = "runs"
"""Where a night's directory has the files of runs on real servers (``TrialTask.keep``)."""

AGAIN_FIRST: Final = 5
"""So many failures that nobody has made small yet are performed again, first of all."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """How a night is performed.

    Attributes:
        plan: what is to be done.
        night: the night, as it begins or goes on.
        store: its memory.
        directory: where its documents go.
        jobs: how many runs at once on this machine.
        dask: the address of a cluster's scheduler; None: this machine performs all.
        say: called with a line for people.
        show: called when something has changed.
        change: what is compared with its base; None: nothing is.
        memory: bytes that each process of this machine may take that performs runs; None: as this
            one.
    """

    plan: NightPlan
    night: NightRow
    store: Store
    directory: Path
    jobs: int
    dask: str | None
    say: Callable[[str], None]
    show: Callable[[Night], None]
    change: Change | None = None
    memory: int | None = None


def perform_night(order: Order) -> NightDocument:
    """Perform a night; its document, which is also written.

    Raises:
        UsageError, EnvironmentRefusal: the cluster cannot be had.
        StoreError: the documents cannot be written.
    """
    performance = _Performance(order)
    interruption = Interruption()
    with contextlib.ExitStack() as stack:
        schedule = performance.perform(stack)
        with interruption.listening(order.say):
            stack.close()
    commands = [] if performance.notes.interrupted else performance.perform_commands()
    not_worse = performance.not_worse()
    with interruption.listening(order.say):
        return performance.finish(schedule, commands, not_worse)


class _Performance:
    """A night that is performed: what it notes, and what it keeps of that."""

    def __init__(self, order: Order) -> None:
        self._order, self._plan, self._row = order, order.plan, order.night
        self._began = self._beat = time.monotonic()
        self._keeping = Keeping(order.store)
        before = order.store.runs(self._row.name)
        self.notes = notes_of(self._plan, before)
        # What a night that goes on has met before it was killed does not become untrue.
        self.notes.troubles += [e for e in self._row.troubles if e not in self._plan.troubles]
        failures = order.store.failures()
        self.book = FailureBook(
            self._row.name,
            failures,
            keep=self._keeping.keep,
            now=time.time,
            rulings=self._plan.rulings,
        )
        self.book.tonight.update(_counted(before))
        self._named = places_of(on.settings for on in self._plan.subjects)
        unshrunk = _unshrunk(self._plan, self.book)
        allowed = (_again(on, row) for on, row in unshrunk if self._allows(row))
        self._again = list(islice(allowed, AGAIN_FIRST))
        self._told = len(self.notes.troubles)

    def perform(self, stack: contextlib.ExitStack) -> Schedule:
        """Perform runs until the time is over; what had its turn, and what had none.

        Args:
            stack: who performs runs goes when it is closed.
        """
        plan, row, notes = self._plan, self._row, self.notes
        self._keeping.keep(self._note_sources)
        shrinker = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="shrinking"))
        lanes = stack.enter_context(_lanes(self._order))
        budget = max(0.0, row.budget - row.seconds - plan.reserved)
        looked_at = [name for name, each in notes.canaries.items() if each.found or each.given_up]
        schedule = plan.schedule(
            budget=budget,
            threads={world: performers.threads for world, performers in lanes.items()},
            random=Random(f"{row.seed}:{row.shard}:{len(notes.runs)}"),
            done={*notes.cases, *looked_at},
        )
        for piece in self._again:
            schedule.soon(piece)
        night = Night(
            schedule=schedule,
            book=self.book,
            kept={kept.name: kept for kept in plan.cases},
            lanes=lanes,
            budget=budget,
            shrink_share=plan.file.shrink,
            shrinker=shrinker,
            keep_run=self._keep_run,
            files=self._order.directory.absolute() / RUNS,
            notes=notes,
            notify=self._notify,
        )
        try:
            night.perform()
        except EnvironmentRefusal as refusal:
            notes.troubles.append(Trouble(kind="world", what=str(refusal)))
        return schedule

    def perform_commands(self) -> list[CommandResult]:
        """Perform the commands of the night's file."""
        order = self._order
        return list(perform_commands(self._plan.commands, order.directory, self.notes, order.say))

    def finish(
        self, schedule: Schedule, commands: Sequence[CommandResult], not_worse: frozenset[str]
    ) -> NightDocument:
        """Write the documents, and note that the night is over."""
        self.notes.troubles += self._keeping.troubles
        document = finished(
            self._plan,
            self._so_far(),
            self.notes,
            self.book,
            schedule,
            today=dt.datetime.now(dt.UTC).date(),
            commands=commands,
            not_worse=not_worse,
        )
        return end_night(document, self._order.store, self._order.directory, self.notes)

    def not_worse(self) -> frozenset[str]:
        """Failures and cases that are as they are without the change; Ctrl-C ends the look.

        That a night before has seen a failure does not count: it may have had the change, too.
        """
        order, notes = self._order, self.notes
        if order.change is None or notes.interrupted:
            return frozenset()
        rows = [self.book.failures[failure] for failure in self.book.tonight]
        cases = [(row.id, row.case) for row in rows if row.case is not None and self._allows(row)]
        kept = {each.name: each.case for each in order.plan.cases}
        cases += [
            (name, kept[name])
            for name, note in notes.cases.items()
            if note.state == "regression" and name in kept
        ]
        try:
            return order.change.without(cases, order.jobs, max(GRACE_S, self._row.budget))
        except KeyboardInterrupt:
            notes.interrupted = True
        except UsageError as error:
            what = f"nothing could be compared with {order.change.base}: {error}"
            notes.troubles.append(Trouble(kind="usage", what=what))
        return frozenset()

    def _allows(self, row: FailureRow) -> bool:
        """Whether a failure's case may be performed; if not, that is trouble.

        The store may have it from a stranger: its code must be trusted.
        """
        assert row.case is not None, "only those with a case are asked for"
        why = refusal(
            self._order.store.path,
            row.case.task().settings,
            named=self._named,
            remedy="name it in the night's file, or in your project's pyproject.toml",
        )
        if why:
            trouble = Trouble(kind="usage", what=f"failure {row.id} was not performed again: {why}")
            self.notes.troubles += [trouble] if trouble not in self.notes.troubles else []
        return not why

    def _note_sources(self, store: Store) -> None:
        for on in self._plan.subjects:
            store.note_source(self._row.name, on.subject, on.source)

    def _keep_run(self, run: RunRow) -> None:
        self._keeping.keep(lambda store: store.note_run(self._row.name, run))

    def _notify(self, night: Night) -> None:
        """Tell the store of troubles, and now and then how long the night has gone on."""
        troubles = len(self.notes.troubles)
        if time.monotonic() - self._beat >= BEAT_S or troubles != self._told:
            self._beat, self._told = time.monotonic(), troubles
            row = self._so_far()
            self._keeping.keep(lambda store: store.update_night(row))
        self._order.show(night)

    def _so_far(self) -> NightRow:
        """The night as it is now."""
        return msgspec.structs.replace(
            self._row,
            seconds=round(self._row.seconds + time.monotonic() - self._began, 1),
            troubles=(*self._plan.troubles, *self.notes.troubles),
        )


def end_night(
    document: NightDocument, store: Store, directory: Path, notes: NightNotes
) -> NightDocument:
    """Write a night's documents, and note in the store that it is over.

    The documents are written first: where the store cannot be, they tell all there is.

    Raises:
        StoreError: the documents cannot be written.
    """
    row = msgspec.structs.replace(
        document.night,
        ended=time.time(),
        exit_code=document.exit_code,
        headline=headline(document),
        counts=document.counts,
    )
    document = msgspec.structs.replace(
        document, night=msgspec.structs.replace(row, troubles=document.night.troubles)
    )
    moved = {name: note.moved for name, note in notes.cases.items() if note.moved is not None}
    write_outputs(document, directory, moved)
    try:
        store.update_night(document.night)
        store.note_document(document.night.name, for_store(document))
        store.thin()
    except StoreError as error:
        trouble = Trouble(kind="store", what=f"the end of the night is not in the store: {error}")
        row = msgspec.structs.replace(row, troubles=(*document.night.troubles, trouble))
        document = headed(msgspec.structs.replace(document, night=row))
        write_outputs(document, directory, moved)
    return document


def notes_of(plan: NightPlan, runs: Sequence[RunRow]) -> NightNotes:
    """What a night has noted before it was killed, from its runs in the store."""
    notes = NightNotes(runs=list(runs))
    for each, why in plan.refused:
        again = in_shell(["rumpus", "replay", each.path])
        notes.cases[each.name] = CaseNote(state="unperformed", why=why, again=again)
    kept = {each.name: each for each in plan.cases}
    canaries = {each.name: each for each in plan.canaries}
    for run in runs:
        if run.role == "case" and run.name in kept and run.kind == "case":
            notes.cases[run.name] = _case_note(kept[run.name], run)
        elif run.role == "canary" and run.name in canaries:
            note = notes.canaries.setdefault(run.name, CanaryNote(canaries[run.name]))
            note.runs += run.outcome is not None
            note.found = note.found or run.found == "found"
            note.given_up = not note.found and note.runs >= note.canary.tries
    return notes


def _case_note(kept: Kept, run: RunRow) -> CaseNote:
    again = in_shell(["rumpus", "replay", kept.path])
    return CaseNote(state=run.found, why=run.why, again=again)  # type: ignore[arg-type]  # a state


def _counted(runs: Sequence[RunRow]) -> dict[str, int]:
    """Failure -> how many of the runs showed it."""
    counts: dict[str, int] = {}
    for run in runs:
        for failure in run.failures:
            counts[failure] = counts.get(failure, 0) + 1
    return counts


def _unshrunk(plan: NightPlan, book: FailureBook) -> Iterator[tuple[OnTrial, FailureRow]]:
    """Failures in the simulation that nobody has made small yet, of what is on trial."""
    by_name = {
        (on.subject.workload, on.subject.recipe): on
        for on in plan.subjects
        if on.subject.world == "sim"
    }
    for row in book.unshrunk:
        on = by_name.get((row.workload, row.recipe))
        if on is not None and row.case is not None and row.case.task().repeatable:
            yield on, row


def _again(on: OnTrial, row: FailureRow) -> Piece:
    """The run of a failure's case, of what is on trial."""
    assert row.case is not None, "only those with a case are asked for"
    return Piece(
        role="run",
        subject=on.subject.key,
        world="sim",
        task=row.case.task(),
        kind="case",
        seed=row.case.seed,
    )


@contextlib.contextmanager
def _lanes(order: Order) -> Iterator[dict[Ensemble, Performers]]:
    """Those who perform the runs of each world; real servers have one process."""
    worlds = order.plan.worlds
    with contextlib.ExitStack() as stack:
        lanes: dict[Ensemble, Performers] = {}
        if "docker" in worlds:
            lanes["docker"] = Performers(stack.enter_context(processes(1, order.memory)), 1)
        if order.dask is not None:
            named = {
                name
                for on in order.plan.subjects
                for name in (on.settings.workload, on.settings.recipe or "", *on.settings.fault)
            }
            references = sorted(filter(is_reference, named))
            lanes["sim"] = stack.enter_context(cluster(order.dask, references))
        else:
            jobs = max(1, order.jobs - len(lanes))
            executor = stack.enter_context(processes(jobs, order.memory))
            lanes["sim"] = Performers(executor, jobs)
        yield lanes
