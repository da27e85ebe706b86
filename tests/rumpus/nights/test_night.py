"""The loop of a night: made-up runs that end at once, on a clock that nobody waits for."""

from concurrent.futures import Executor, Future
from dataclasses import replace
from random import Random

import pytest

from rumpus.campaigns.pieces import Performed
from rumpus.campaigns.tasks import GRACE_S, Attempt, Performers, Underway
from rumpus.exit_codes import DEFECT, ENVIRONMENT, UNDECIDED, USAGE
from rumpus.nights import night as night_module
from rumpus.nights.documents.document import NightDocument
from rumpus.nights.failure_book import FailureBook
from rumpus.nights.night import DEFECTS, LOST_AFTER, PAUSE_S, SET_UPS, Night
from rumpus.nights.pieces import submit_piece, trial_piece
from rumpus.nights.records import NightRow
from rumpus.nights.schedule import CASES, Schedule
from tests.rumpus.campaigns.conftest import Inline
from tests.rumpus.nights.made import (
    canary_of,
    case_of_kind,
    kept,
    on,
    outcome_of,
    plan_of,
    seen_of,
    shown,
)

GRANT = seen_of("double-grant", "acquire")
REFUSED = Attempt(error="the host says no", exit_code=ENVIRONMENT)
RUN_S = 10.0


class Never(Executor):
    """Takes tasks, and performs none."""

    def submit(self, *_, **__):
        return Future()


class World:
    """A night whose runs show what a function says of their pieces."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        self.performed, self.kept_runs, self.changes, self.bounds = [], [], [], []
        self.stop_at = None
        monkeypatch.setattr(night_module, "submit_piece", self._submit)
        monkeypatch.setattr(night_module, "wait", self._wait)
        monkeypatch.setattr(night_module, "Shrinking", self._shrinking)
        self.shrunk = None
        self.cut_off = False

    def make(self, shows, *, cases=(), canaries=(), subjects=(), worlds=("sim",), **more):
        self.shows = shows
        self.schedule = Schedule(
            budget=1000.0,
            threads=dict.fromkeys(worlds, 1),
            random=Random(0),
            cases=[each.piece() for each in cases],
            canaries=canaries,
            canary_share=0.2,
            subjects=[(each, 1) for each in subjects],
        )
        self.book = FailureBook("tonight", (), keep=self.changes.append, now=lambda: self.now)
        self.night = Night(
            schedule=self.schedule,
            book=self.book,
            kept={each.name: each for each in cases},
            lanes={world: Performers(Inline(), 1) for world in worlds},
            clock=lambda: self.now,
            now=lambda: self.now,
            keep_run=self.kept_runs.append,
            **{"budget": 200.0, "shrink_share": 0.2, "shrinker": Inline(), **more},
        )
        return self.night

    def perform(self, shows, **more):
        self.make(shows, **more).perform()
        return self.night.notes

    def _submit(self, executor, piece, _files, bound):
        self.performed.append(piece)
        self.bounds.append(bound)
        shown_ = self.shows(piece)
        attempts = shown_ if isinstance(shown_, list) else [shown_]
        made = [Performed(each, piece.task) for each in attempts]
        return Underway(executor, lambda: made)

    def _wait(self, futures, patience, _):
        assert futures, "nothing to wait for is no rest: it would ask again at once"
        if self.stop_at is not None and self.now >= self.stop_at:
            raise KeyboardInterrupt
        done = [each for each in futures if each.done()]
        self.now += RUN_S if done else patience
        return done, set(futures) - set(done)

    def _shrinking(self, outcome, seen, *_, **__):
        world = self

        class Made:
            reproduced, cut_off = True, world.cut_off

            def shrink(self):
                return world.shrunk

        assert seen in outcome.seen
        return Made()


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def by_world(**attempts):
    return lambda piece: attempts[piece.world]


def roles(world):
    return [piece.role for piece in world.performed if piece.role != "again"]


def kinds_of(notes):
    return [each.kind for each in notes.troubles]


def test_runs_are_performed_until_the_time_is_over_and_noted(world):
    notes = world.perform(lambda _: shown(), subjects=[on()])
    assert len(notes.runs) == len(world.performed) == 200 / RUN_S
    assert world.kept_runs == notes.runs
    assert {(run.outcome, run.seconds) for run in notes.runs} == {("valid", RUN_S)}
    assert notes.troubles == []
    assert not notes.interrupted


def test_nothing_to_do_ends_at_once(world):
    assert world.perform(lambda _: shown()).runs == []
    assert world.now == 0.0


def test_what_the_host_refuses_is_set_up_again_and_then_told(world):
    notes = world.perform(lambda _: REFUSED, cases=[kept("a")])
    assert len(world.performed) == SET_UPS
    assert world.now >= PAUSE_S * (1 + 2), "it rests in between"
    assert notes.cases["a"].state == "unperformed"
    (row,) = notes.runs
    assert (row.outcome, row.exit_code, row.why) == (None, ENVIRONMENT, "the host says no")


def test_a_host_that_refuses_once_costs_nothing(world):
    answers = iter([REFUSED, shown()])
    notes = world.perform(lambda _: next(answers), cases=[kept("a")])
    assert notes.cases["a"].state == "mended"
    assert len(notes.runs) == 1
    assert notes.troubles == []


def test_a_world_that_refuses_is_given_up_and_the_other_goes_on(world):
    notes = world.perform(
        by_world(sim=shown(), docker=REFUSED),
        subjects=[on(), on(world="docker", time_limit=1.0)],
        worlds=("sim", "docker"),
        budget=1000.0,
    )
    real = [piece for piece in world.performed if piece.world == "docker"]
    assert len(real) == SET_UPS * LOST_AFTER
    (trouble,) = notes.troubles
    assert (trouble.kind, "real servers" in trouble.what) == ("world", True)
    assert "the host says no" in trouble.what
    assert world.schedule.worlds == ["sim"]
    assert sum(run.outcome == "valid" for run in notes.runs) > 20


def test_refusals_that_are_not_in_a_row_close_nothing(world):
    answers = iter([*[REFUSED] * SET_UPS, shown(), *[REFUSED] * SET_UPS])
    notes = world.perform(
        lambda _: next(answers), cases=[kept("a"), kept("b"), kept("c")], budget=1000.0
    )
    assert [each.state for each in notes.cases.values()] == ["unperformed", "mended", "unperformed"]
    assert notes.troubles == []
    assert world.schedule.worlds == ["sim"]


def test_a_case_that_had_no_further_try_has_no_turn(world):
    notes = world.perform(lambda _: REFUSED, cases=[kept("a")], budget=RUN_S)
    assert notes.cases == {}
    assert world.schedule.cases_left == 1


def test_a_usage_error_drops_the_subject_and_the_others_go_on(world):
    wrong = Attempt(error="no such option", exit_code=USAGE)
    notes = world.perform(
        lambda piece: wrong if "/ x" in piece.subject else shown(), subjects=[on("x"), on("y")]
    )
    assert sum("/ x" in piece.subject for piece in world.performed) == 1
    (trouble,) = notes.troubles
    assert (trouble.kind, trouble.what) == ("usage", "lock / x, sim: no such option")
    assert sum(run.outcome == "valid" for run in notes.runs) == 200 / RUN_S - 1


def test_many_runs_of_one_piece_are_one_trouble(world):
    wrong = Attempt(error="no such option", exit_code=USAGE)
    notes = world.perform(lambda _: [wrong] * 30, subjects=[on()])
    assert len(notes.runs) == 30
    assert kinds_of(notes) == ["usage"]
    assert sum(run.seconds for run in notes.runs) == pytest.approx(RUN_S, abs=0.1)


def test_defects_are_told_and_end_a_subject(world):
    broken = Attempt(error="ValueError: x", exit_code=DEFECT)
    notes = world.perform(lambda _: broken, subjects=[on()])
    assert len(world.performed) == DEFECTS
    assert kinds_of(notes) == ["defect", "defect"]
    assert all("ValueError: x" in each.what for each in notes.troubles)


def test_a_run_that_ends_its_process_is_a_failure_and_no_trouble(world):
    dead = Attempt(error="the run ends its process", exit_code=DEFECT, death="SIGSEGV")
    notes = world.perform(lambda _: dead, subjects=[on()])
    (failure,) = world.book.tonight
    assert world.book.failures[failure].fingerprint.kind == "ended-process"
    assert {run.failures for run in notes.runs} == {(failure,)}
    assert notes.troubles == []
    assert len(notes.runs) == 200 / RUN_S


def test_a_canary_that_stays_green_is_blind(world):
    canary = canary_of("c", rate=0.9)
    notes = world.perform(lambda _: shown(), canaries=[canary])
    note = notes.canaries["c"]
    assert (note.runs, note.found, note.given_up) == (canary.tries, False, True)
    assert [run.found for run in notes.runs] == ["missed"] * canary.tries


def test_a_canary_is_found_by_what_is_expected_alone(world):
    answers = iter([shown(seen_of("deadlock")), shown(GRANT, blamed="servers"), shown(GRANT)])
    notes = world.perform(lambda _: next(answers), canaries=[canary_of("c", rate=0.5)])
    assert [run.found for run in notes.runs] == ["missed", "missed", "found"]
    assert (notes.canaries["c"].found, notes.canaries["c"].given_up) == (True, False)


def test_a_canary_that_cannot_be_performed_is_told(world):
    wrong = Attempt(error="ImportError: x", exit_code=DEFECT)
    notes = world.perform(lambda _: wrong, canaries=[canary_of("c")])
    assert (notes.canaries["c"].runs, notes.canaries["c"].why) == (0, "ImportError: x")
    assert kinds_of(notes) == ["defect"]


def test_a_run_that_differs_when_performed_again_is_unstable(world, monkeypatch):
    monkeypatch.setattr(Schedule, "is_twice", lambda _: True)
    notes = world.perform(
        lambda piece: shown(digest="e" if piece.role == "again" else "d"), subjects=[on()]
    )
    assert set(kinds_of(notes)) == {"unstable"}
    first, again = notes.runs[:2]
    assert (again.role, again.found, again.seed) == ("again", "another", first.seed)
    assert world.performed[1].task == world.performed[0].task


def test_a_run_that_is_the_same_again_is_well(world, monkeypatch):
    monkeypatch.setattr(Schedule, "is_twice", lambda _: True)
    notes = world.perform(lambda _: shown(), subjects=[on()])
    assert [run.found for run in notes.runs] == ["", "same"] * (len(notes.runs) // 2)
    assert notes.troubles == []


def stale_case():
    return kept("a", known=True, plan=plan_of("kill"), expects=GRANT.fingerprint.after(["kill"]))


def test_a_stale_case_is_found_near_its_plan(world):
    def shows(_):
        tried = sum(each.kind == "near" for each in world.performed)
        return shown(GRANT, faults=("kill",), seed=5) if tried == 4 else shown()

    notes = world.perform(shows, cases=[stale_case()], budget=1000.0)
    note = notes.cases["a"]
    assert (note.state, note.near, note.why) == ("shown", 4, "by another run, near its plan")
    assert (note.moved.expects, note.moved.known) == (stale_case().case.expects, True)
    assert note.moved.seed == 5
    assert len(world.performed) == 5, "it is looked for no further"
    assert notes.runs[-1].found == "shown"


def test_a_case_that_is_found_nowhere_stays_stale(world):
    notes = world.perform(lambda _: shown(), cases=[stale_case()])
    note = notes.cases["a"]
    assert (note.state, note.near, note.moved) == ("stale", 10, None), "a tenth of the budget"


def test_a_case_that_does_not_exist_any_more_is_trouble(world):
    wrong = Attempt(error="no such recipe", exit_code=USAGE)
    notes = world.perform(lambda _: wrong, cases=[kept("a")])
    assert (notes.cases["a"].state, kinds_of(notes)) == ("unperformed", ["usage"])


def test_ctrl_c_ends_the_night_and_loses_nothing(world):
    world.stop_at = 3 * RUN_S
    notes = world.perform(lambda _: shown(), subjects=[on()])
    assert notes.interrupted
    assert len(notes.runs) == len(world.kept_runs) == 3, "the fourth was under way"


def failing(piece):
    return shown(GRANT, faults=("kill", "pause"), seed=piece.seed)


def test_a_failure_is_made_small_once_and_its_runs_name_it(world):
    world.shrunk = case_of_kind(plan=plan_of("kill"), expects=GRANT.fingerprint.after(["kill"]))
    notes = world.perform(failing, subjects=[on()])
    (id_,) = world.book.tonight
    row = world.book.failures[id_]
    assert (row.shrunk, row.case) == (True, world.shrunk)
    assert world.book.tonight[id_] == sum(run.role == "run" for run in notes.runs)
    assert {run.failures for run in notes.runs if run.role == "run"} == {(id_,)}


def test_shrinking_that_is_cut_off_leaves_the_failure_unshrunk(world):
    world.cut_off = True
    world.shrunk = case_of_kind(plan=plan_of("kill"), expects=GRANT.fingerprint)
    notes = world.perform(failing, subjects=[on()])
    (id_,) = world.book.tonight
    row = world.book.failures[id_]
    assert (row.shrunk, row.case) == (False, world.shrunk)
    assert {run.failures for run in notes.runs if run.role == "run"} == {(id_,)}


def test_shrinking_that_does_not_end_before_ctrl_c_loses_no_failure(world):
    world.stop_at = RUN_S
    world.make(failing, subjects=[on()], shrinker=Never())
    world.night.perform()
    (id_,) = world.book.tonight
    assert world.book.failures[id_].case is not None
    assert world.book.unshrunk


def test_runs_of_a_subject_that_is_not_on_trial_any_more_are_left_out(world):
    world.make(lambda _: shown(), subjects=[on("x")])
    other = Schedule(budget=1.0, threads={"sim": 1}, random=Random(0), subjects=[(on("y"), 1)])
    world.schedule.soon(other.next("sim", 1.0))
    world.night.perform()
    assert {run.subject for run in world.night.notes.runs} == {"lock / x, sim"}


def test_every_change_is_shown(world):
    states = []
    world.perform(
        lambda _: shown(),
        subjects=[on()],
        notify=lambda night: states.append(len(night.notes.runs)),
    )
    assert states == list(range(1, 21))


def test_a_row_says_what_its_run_was(world):
    outcome = outcome_of(GRANT, faults=("kill",), figures={"calls": 2.0}, seed=3)
    world.shrunk = case_of_kind(plan=plan_of("kill"), expects=GRANT.fingerprint)
    notes = world.perform(lambda _: Attempt(outcome=outcome), subjects=[on()], budget=RUN_S)
    row = notes.runs[0]
    assert (row.outcome, row.exit_code, row.why) == ("violation", 1, "a promise is broken")
    assert (row.faults, row.figures, row.digest) == (("kill",), {"calls": 2.0}, "d")
    assert (row.operations, row.virtual_seconds, row.at) == (50, 20.0, RUN_S)


def test_only_runs_on_real_servers_keep_their_files(tmp_path):
    """Those of the simulation are performed again by their seeds."""

    class Tasks(Executor):
        def submit(self, _, task, *__, **___):
            given.append(task.keep)
            return Future()

    given = []
    for world in ("sim", "docker"):
        piece = trial_piece(on(world=world), "usual", 1)
        for role in ("run", "canary"):
            submit_piece(Tasks(), replace(piece, role=role), tmp_path)
    assert given == [None, None, tmp_path, None]


OVER = Attempt(error="ended after 9 s", exit_code=UNDECIDED, bound="time")


def test_what_does_not_end_with_the_budget_is_ended_and_a_case_has_half_of_it(world):
    world.perform(lambda _: shown(), subjects=[on()], cases=[kept()])
    roles_ = [piece.role for piece in world.performed]
    bounds = dict(zip(roles_, world.bounds, strict=True))
    assert bounds["case"] == CASES * 200
    assert bounds["run"] == RUN_S + GRACE_S, "the last one"
    assert max(world.bounds) <= 200 + GRACE_S


def test_a_case_that_was_ended_is_told_and_the_night_is_not_green(world):
    notes = world.perform(lambda p: OVER if p.role == "case" else shown(),
                          subjects=[on()], cases=[kept("long")])  # fmt: skip
    assert notes.cases["long"].state == "unperformed"
    assert notes.cases["long"].why == OVER.error
    assert [(each.kind, each.what) for each in notes.troubles] == [
        ("unfinished", "case long: ended after 9 s")
    ]
    document = NightDocument(
        night=NightRow(name="2026-11-01", began=0.0, troubles=tuple(notes.troubles)),
        runs=tuple(notes.runs),
    )
    assert document.exit_code == UNDECIDED


def test_runs_that_were_ended_are_no_defects(world):
    notes = world.perform(lambda _: OVER, subjects=[on()])
    assert len(notes.runs) == 200 / RUN_S
    assert notes.troubles == []


def test_a_run_without_enough_memory_is_not_tried_again_and_no_world_is_lost(world):
    short = Attempt(error="there is not enough memory", exit_code=ENVIRONMENT, bound="memory")
    notes = world.perform(lambda p: short if p.role == "case" else shown(),
                          subjects=[on()], cases=[kept("large"), kept("larger")])  # fmt: skip
    assert [piece.name for piece in world.performed if piece.role == "case"] == ["large", "larger"]
    assert [(each.kind, each.what) for each in notes.troubles] == [
        ("world", f"case {name}: there is not enough memory") for name in ("large", "larger")
    ]
    assert sum(run.role == "run" for run in notes.runs) > 5
