"""Performs a night: piece after piece in each world, until its time is over; notes all of it."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import Any, Final

from rumpus.campaigns.case import Case, case_of
from rumpus.campaigns.pieces import Performed
from rumpus.campaigns.shrinking import Shrinking
from rumpus.campaigns.tasks import GRACE_S, Attempt, Performers, Underway
from rumpus.campaigns.trial_task import TrialTask
from rumpus.exit_codes import ENVIRONMENT, USAGE
from rumpus.nights.failure_book import FailureBook, ToShrink
from rumpus.nights.kept_cases import Kept
from rumpus.nights.night_notes import CanaryNote, CaseNote, NightNotes, row_of
from rumpus.nights.pieces import Piece, submit_piece
from rumpus.nights.records import Ensemble, RunRow, Trouble
from rumpus.nights.schedule import CASES, REAL_SPARE_S, Schedule
from rumpus.results.escapes import in_shell

POLL_S: Final = 0.5
"""How often the night looks whether its time is over, while nothing ends."""

SET_UPS: Final = 3
"""How often a run is set up, if the host does not allow it. Verdicts are never tried again."""

PAUSE_S: Final = 5.0
"""How long a world rests after a run could not be set up, times how often that was tried."""

LOST_AFTER: Final = 2
"""After so many runs in a row that could not be set up a world is given up."""

DEFECTS: Final = 3
"""After so many defects a subject has no further turn."""

SHRINK_TRIES: Final = 300
"""How many smaller runs are tried for a failure."""


class Night:
    """A night that is performed.

    Args:
        schedule: which piece comes next.
        book: tells its failures apart.
        kept: its cases by name.
        lanes: world -> who performs runs there.
        budget: seconds, from now on.
        shrink_share: of the budget, that may go into making failures small.
        shrinker: calls functions that let ``lanes`` perform runs; it has to outlive these.
        keep_run: keeps a run's row beyond the night.
        files: where the files of runs on real servers stay that broke a promise, or may have;
            None: nowhere.
        notes: what the night has seen before it was resumed.
        clock: seconds, monotonic.
        now: seconds since the epoch.
        notify: called when something has changed.

    Attributes:
        notes: what it has seen.
        book: its failures.
    """

    def __init__(
        self,
        *,
        schedule: Schedule,
        book: FailureBook,
        kept: Mapping[str, Kept],
        lanes: Mapping[Ensemble, Performers],
        budget: float,
        shrink_share: float,
        shrinker: Executor,
        keep_run: Callable[[RunRow], None],
        files: Path | None = None,
        notes: NightNotes | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        notify: Callable[["Night"], None] = lambda _: None,
    ) -> None:
        self.notes = notes or NightNotes()
        self.book = book
        self._schedule, self._kept = schedule, kept
        self._lanes = lanes
        self._clock, self._now = clock, now
        self._budget = budget
        self._end = clock() + budget
        self._reserve = budget * shrink_share
        self._shrinker = shrinker
        self._keep_run, self._files = keep_run, files
        self._notify = notify
        self._going: dict[Future[Any], tuple[Piece, Underway[Sequence[Performed]], float]] = {}
        self._to_shrink: list[ToShrink] = []
        self._shrinking: tuple[Future[Case], Shrinking, ToShrink] | None = None
        self._shrinking_began = 0.0
        self._set_ups: dict[Piece, int] = {}
        self._lost: dict[Ensemble, int] = dict.fromkeys(lanes, 0)
        self._rests: dict[Ensemble, float] = dict.fromkeys(lanes, 0.0)
        self._defects: dict[str, int] = {}
        self._near: dict[str, Any] = {}

    @property
    def left(self) -> float:
        """Seconds until its time is over."""
        return self._end - self._clock()

    def perform(self) -> None:
        """Perform pieces until the time is over, or nothing is left to do.

        What has begun before the end is looked at if it ends soon after. Ctrl-C ends the night:
        what is under way is given up.

        Raises:
            EnvironmentRefusal: whoever performs simulated runs has gone.
        """
        try:
            while self._fill():
                waiting = [*self._going]
                if self._shrinking is not None:
                    waiting.append(self._shrinking[0])
                # Of none `wait` returns at once: while a world rests nobody is to be busy.
                done, _ = wait(waiting or [Future()], POLL_S, FIRST_COMPLETED)
                for future in done:
                    self._note(future)
                self._notify(self)
        except KeyboardInterrupt:
            self.notes.interrupted = True
        finally:
            self._give_up()

    def _fill(self) -> bool:
        """Begin what can be begun; whether anything is under way, or will be after a rest."""
        if self._shrinking is None and self._to_shrink and self.left > 0:
            self._begin_shrinking()
        left = self.left - (self._reserve if self._to_shrink else 0.0)
        rests = False
        for world, performers in self._lanes.items():
            if self._clock() < self._rests[world]:
                rests = rests or left > 0
                continue
            busy = sum(piece.world == world for piece, _, _ in self._going.values())
            if world == "sim" and self._shrinking is not None:
                busy += self._shrinkers
            for _ in range(performers.threads - busy):
                piece = self._schedule.next(world, left)
                if piece is None:
                    break
                bound = self._bound_of(piece)
                underway = submit_piece(performers.executor, piece, self._files, bound)
                self._going[underway.future] = (piece, underway, self._clock())
        return bool(self._going) or self._shrinking is not None or rests

    def _bound_of(self, piece: Piece) -> float:
        """After how many seconds a piece is ended.

        A case may come from anybody, and ask for any length. It must not take the whole night.
        """
        grace = REAL_SPARE_S if piece.world == "docker" else GRACE_S
        left = max(0.0, self.left) + grace
        if piece.role == "case" and piece.world == "sim":
            return min(left, max(GRACE_S, CASES * self._budget))
        return left

    def _give_up(self) -> None:
        for _, underway, _ in self._going.values():
            underway.cancel()
        if self._shrinking is not None:
            self._shrinking[0].cancel()

    def _note(self, future: Future[Any]) -> None:
        """Note what has ended."""
        if self._shrinking is not None and future is self._shrinking[0]:
            self._end_shrinking()
            return
        piece, underway, began = self._going.pop(future)
        performed = underway.result()
        seconds = self._clock() - began
        self._schedule.spent(piece, seconds)
        if self._is_refused(piece, performed):
            return
        for each in performed:
            self._note_run(piece, each, seconds / len(performed))

    def _is_refused(self, piece: Piece, performed: Sequence[Performed]) -> bool:
        """Whether the host did not allow a piece, and it is set up again."""
        attempt = performed[0].attempt
        world = piece.world
        if attempt.outcome is not None or attempt.bound or attempt.exit_code != ENVIRONMENT:
            self._lost[world] = 0
            return False
        tried = self._set_ups[piece] = self._set_ups.get(piece, 0) + 1
        if tried < SET_UPS and world in self._schedule.worlds:
            self._rests[world] = self._clock() + PAUSE_S * tried
            self._schedule.soon(piece)
            return True
        self._lost[world] += 1
        if self._lost[world] >= LOST_AFTER and world in self._schedule.worlds:
            self._schedule.close(world)
            where = "real servers" if world == "docker" else "simulated servers"
            what = f"nothing more was run on {where}: {attempt.error}"
            self.notes.troubles.append(Trouble(kind="world", what=what))
        return False

    def _note_run(self, piece: Piece, performed: Performed, seconds: float) -> None:
        """Note one run of a piece."""
        attempt, outcome = performed.attempt, performed.attempt.outcome
        ids: list[str] = []
        if piece.role == "run":
            turn = self._schedule.turns.get(piece.subject)
            if turn is None:  # of a night before this one was resumed
                return
            if outcome is not None:
                ids, small = self.book.note(turn.on.subject, outcome)
                self._to_shrink += small
                if piece.kind in ("usual", "swarm"):
                    turn.note(outcome.outcome)
            elif attempt.death:
                ids = [self.book.note_death(turn.on.subject, attempt.death)]
        found = ""
        if piece.role == "case":
            found = self._note_case(piece, attempt)
        elif piece.role == "canary":
            found = self._note_canary(piece, attempt)
        elif piece.role == "again":
            found = self._note_again(piece, attempt)
        row = row_of(
            piece,
            performed,
            seconds=seconds,
            at=self._now(),
            failures=tuple(ids),
            found=found,
        )
        self.notes.runs.append(row)
        self._keep_run(row)
        if piece.role == "run":
            self._look_again(piece, performed)
        if outcome is None and not attempt.death and piece.role == "run":
            self._note_error(piece, attempt)

    def _look_again(self, piece: Piece, performed: Performed) -> None:
        """Have some simulated runs performed a second time."""
        outcome = performed.attempt.outcome
        if outcome is None or outcome.digest is None or not self._schedule.is_twice():
            return
        task = performed.task or TrialTask(settings=outcome.settings, plan=outcome.plan)
        self._schedule.soon(again_of(piece, task, outcome.digest))

    def _note_again(self, piece: Piece, attempt: Attempt) -> str:
        """Whether a run was the same when performed a second time."""
        outcome = attempt.outcome
        if outcome is None:
            return ""
        if outcome.digest != piece.digest:
            what = (
                f"{piece.subject}, seed {piece.seed} ({piece.kind}): performed twice, two runs: "
                f"{piece.digest} and {outcome.digest}"
            )
            self.notes.troubles.append(Trouble(kind="unstable", what=what))
            return "another"
        return "same"

    def _note_error(self, piece: Piece, attempt: Attempt) -> None:
        """A run could not be performed: what would not exist the next time has no further turn."""
        if attempt.bound == "time":
            if piece.kind == "case":  # of a failure that was to be made small
                self.notes.troubles.append(_trouble(attempt, f"{piece.subject}: {attempt.error}"))
            return
        if attempt.exit_code == ENVIRONMENT and not attempt.bound:
            return  # it is told with its world, and by the number of such runs
        if not self._schedule.has(piece.subject):
            return  # it is told already: many runs may be of one piece, or have been under way
        self._defects[piece.subject] = self._defects.get(piece.subject, 0) + 1
        if attempt.exit_code == USAGE or self._defects[piece.subject] >= DEFECTS:
            self._schedule.drop(piece.subject)
            self.notes.troubles.append(_trouble(attempt, f"{piece.subject}: {attempt.error}"))
        elif self._defects[piece.subject] == 1:
            what = f"{piece.subject}, seed {piece.seed}: {attempt.error}"
            self.notes.troubles.append(_trouble(attempt, what))

    def _note_case(self, piece: Piece, attempt: Attempt) -> str:
        """What a case is found to be."""
        kept = self._kept[piece.name]
        note = self.notes.cases.get(piece.name)
        if piece.kind == "near" and note is not None:
            note.near += 1
            found = kept.found_in(attempt)
            if found is not None and note.moved is None:
                assert attempt.outcome is not None
                of = kept.case
                note.moved = case_of(
                    attempt.outcome, found, finding=of.finding, upstream=of.upstream,
                    mutant=of.mutant, known=of.known,
                )  # fmt: skip
                note.state, note.why = "shown", "by another run, near its plan"
                self._schedule.found_near(self._near[piece.name])
            return note.state
        state, why = kept.judged(attempt)
        again = in_shell(["rumpus", "replay", kept.path])
        self.notes.cases[piece.name] = CaseNote(state=state, why=why, again=again)
        if state == "unperformed" and (attempt.bound or attempt.exit_code != ENVIRONMENT):
            self.notes.troubles.append(_trouble(attempt, f"case {piece.name}: {why}"))
        if state == "stale" and piece.world == "sim":
            self._near[piece.name] = kept.near()
            self._schedule.look_near(piece.world, self._near[piece.name])
        return state

    def _note_canary(self, piece: Piece, attempt: Attempt) -> str:
        """Whether a canary was found."""
        canary = self._schedule.canaries[piece.name]
        note = self.notes.canaries.setdefault(piece.name, CanaryNote(canary))
        if attempt.outcome is None:
            note.why = attempt.error
            if attempt.bound != "time" and attempt.exit_code != ENVIRONMENT:
                self.notes.troubles.append(_trouble(attempt, f"canary {piece.name}: {note.why}"))
            return ""
        note.runs += 1
        note.found = canary.found(attempt.outcome)
        if not note.found:
            note.given_up = self._schedule.missed(canary)
        return "found" if note.found else "missed"

    @property
    def _shrinkers(self) -> int:
        """How many runs are performed at once to make a failure small."""
        return max(1, self._lanes["sim"].threads // 2)

    def _begin_shrinking(self) -> None:
        """Make the next failure small, with its share of the time that is left for that."""
        wanted = self._to_shrink.pop(0)
        share = min(self.left, self._reserve) / (1 + len(self._to_shrink))
        self._shrinking_began = self._clock()
        shrinking = Shrinking(
            wanted.outcome,
            wanted.seen,
            self._lanes["sim"].executor,
            jobs=self._shrinkers,
            budget=share,
            tries=SHRINK_TRIES,
            clock=self._clock,
        )

        self._shrinking = self._shrinker.submit(shrinking.shrink), shrinking, wanted

    def _end_shrinking(self) -> None:
        assert self._shrinking is not None
        future, shrinking, wanted = self._shrinking
        self._shrinking = None
        self._reserve = max(0.0, self._reserve - (self._clock() - self._shrinking_began))
        done = shrinking.reproduced and not shrinking.cut_off
        self.notes.rename(wanted.id, self.book.shrunk(wanted.id, future.result(), done=done))


def again_of(piece: Piece, task: TrialTask, digest: str) -> Piece:
    """The same run a second time."""
    return Piece(
        role="again",
        subject=piece.subject,
        world=piece.world,
        task=task,
        kind=piece.kind,
        seed=piece.seed,
        digest=digest,
    )


def _trouble(attempt: Attempt, what: str) -> Trouble:
    if attempt.bound:
        return Trouble(kind="unfinished" if attempt.bound == "time" else "world", what=what)
    return Trouble(kind="usage" if attempt.exit_code == USAGE else "defect", what=what)
