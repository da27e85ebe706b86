"""The load and the final phase, run on virtual time without clients."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.every_run.timeouts import MARGIN_NS, USUAL_GRACE_S
from rumpus.checker.timeline.holds import Words
from rumpus.harness.generators.combinators import on_clients
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import Action, WorkloadContext
from rumpus.recipes.promises import EXCLUSION, Promises
from rumpus.workloads.contests.contention import LONG_PATIENCE_S, PART_PAUSE_S, STAY_S
from rumpus.workloads.contests.lock import LOCK, LockWorkload
from rumpus.workloads.framework.workload import FINAL_BOUND_S
from tests.harness.generators.dry_run import (
    MILLISECOND,
    Ending,
    dry_run,
    imperfect,
    perfect,
)
from tests.harness.generators.kills import kills
from tests.workloads.dry_runs import invocations

WORDS = Words()
SECOND = 1000 * MILLISECOND
UNTIL = SECOND
CLIENTS = 3

SEEDS = st.integers(0, 2**32).map(Seed)
KILLS = st.lists(kills(CLIENTS, until=2 * SECOND, away=SECOND), max_size=4)


class Reentrant:
    promises = Promises(prevents=EXCLUSION, reentrant=True)


class NotReentrant:
    promises = Promises(prevents=EXCLUSION)


def setting(seed, recipe=NotReentrant):
    return WorkloadContext(
        seed=seed, recipe=recipe, clients=CLIENTS, session_timeout=2.0, until=UNTIL
    )


def dry_run_load(seed, *, reentrant=False, behaviour=imperfect, kills=(), **options):
    return dry_run(
        on_clients(LOCK.load_of(setting(seed, Reentrant if reentrant else NotReentrant))),
        clients=CLIENTS,
        nemesis=False,
        cleanup={WORDS.acquire: WORDS.release},
        behaviour=behaviour,
        seed=seed.child("behaviour"),
        kills=kills,
        **options,
    )


def dry_run_final(behaviour, permits=1):
    class Contest(LockWorkload):
        pass

    Contest.permits = permits
    return dry_run(
        Contest().final_of(setting(Seed(1))),
        clients=CLIENTS,
        nemesis=False,
        cleanup={WORDS.acquire: WORDS.release},
        behaviour=behaviour,
    )


def lives(run):
    """Each process's own operations (no clean-ups) in order, with when they were dispatched."""
    pairs = {}
    for pair in operations(run):
        pairs.setdefault(pair.invoke.process, []).append(pair)
    following = {process: iter(own) for process, own in pairs.items()}
    found = {}
    for at, what, cleanup in run.dispatches:
        pair = next(following[what.process])
        if not cleanup:
            found.setdefault(what.process, []).append((at, pair))
    return found


def operations(run):
    return run.history.operations()


def depth_after(depth, pair):
    """How often a process holds after an operation; None when nobody can say."""
    f, outcome = pair.invoke.f, pair.outcome
    if outcome == "info":
        return None
    if f == WORDS.acquire and outcome == "ok":
        return depth + 1
    if f == WORDS.release:
        return depth - 1 if outcome == "ok" else 0
    return depth


@given(SEEDS, st.booleans(), KILLS)
def test_who_holds_lets_go_and_nobody_begins_when_the_time_is_up(seed, reentrant, kills):
    for life in lives(dry_run_load(seed, reentrant=reentrant, kills=kills)).values():
        depth = 0
        for at, pair in life:
            if depth == 0:
                assert pair.invoke.f == WORDS.acquire
                assert at < UNTIL
            depth = depth_after(depth, pair)
        assert depth in (0, None)


@given(SEEDS, KILLS)
def test_a_new_process_begins_by_acquiring_and_an_old_one_is_done_with_its_first_info(seed, kills):
    for life in lives(dry_run_load(seed, reentrant=True, kills=kills)).values():
        assert life[0][1].invoke.f == WORDS.acquire
        assert "info" not in [pair.outcome for _, pair in life[:-1]]


@given(SEEDS)
def test_what_a_holder_does_is_work_then_release(seed):
    for life in lives(dry_run_load(seed, behaviour=perfect)).values():
        names = [pair.invoke.f for _, pair in life]
        assert names == [WORDS.acquire, WORDS.work, WORDS.release] * (len(names) // 3)
        assert len(names) > 50


def test_work_that_failed_is_followed_by_the_release():
    def refused(what, seed):
        outcome = perfect(what, seed)
        return outcome._replace(type="fail") if what.f == WORDS.work else outcome

    (_, *after), *_ = lives(dry_run_load(Seed(1), behaviour=refused)).values()
    assert [pair.invoke.f for _, pair in after[:2]] == [WORDS.work, WORDS.release]


@given(SEEDS)
def test_a_reentrant_recipe_is_entered_twice_at_most_and_now_and_then(seed):
    deepest = set()
    for life in lives(dry_run_load(seed, reentrant=True, behaviour=perfect)).values():
        depth = 0
        for _, pair in life:
            depth = depth_after(depth, pair)
            deepest.add(depth)
    assert deepest == {0, 1, 2}


def test_a_failed_reentry_is_followed_by_the_release():
    held = set()

    def no_reentry(what, seed):
        outcome = perfect(what, seed)
        if what.f == WORDS.acquire:
            if what.process in held:
                return outcome._replace(type="fail")
            held.add(what.process)
        elif what.f == WORDS.release:
            held.discard(what.process)
        return outcome

    reentries = 0
    for life in lives(dry_run_load(Seed(2), reentrant=True, behaviour=no_reentry)).values():
        pairs = [pair for _, pair in life]
        for earlier, later in pairwise(pairs):
            if earlier.invoke.f == WORDS.acquire and earlier.outcome == "fail":
                reentries += 1
                assert later.invoke.f == WORDS.release
    assert reentries > 0


def test_most_are_patient_and_some_are_not():
    waits = [
        pair.invoke.value["timeout"]
        for pair in operations(dry_run_load(Seed(3), behaviour=perfect))
        if pair.invoke.f == WORDS.acquire
    ]
    impatient = [wait for wait in waits if wait < LONG_PATIENCE_S]
    assert 0.05 < len(impatient) / len(waits) < 0.3
    assert all(0.02 <= wait <= 0.32 for wait in impatient)


def test_clients_draw_differently():
    run = dry_run_load(Seed(4), behaviour=perfect)
    pauses = {}
    for pair in operations(run):
        if pair.invoke.f == WORDS.work:
            pauses.setdefault(pair.invoke.process, []).append(pair.invoke.value["pause"])
    assert len({tuple(each) for each in pauses.values()}) == CLIENTS


def test_in_the_end_each_is_granted_once_and_client_0_looks_what_is_left():
    run = dry_run_final(perfect)
    done = [(what.thread, what.f) for _, what, _ in run.dispatches]
    assert sorted(done[: 2 * CLIENTS]) == sorted(
        (client, f) for client in range(CLIENTS) for f in (WORDS.acquire, WORDS.release)
    )
    assert done[-1] == (0, "inspect")


def test_in_the_end_one_holds_it_until_all_others_must_have_lost_patience():
    """As many as may hold it at once do."""
    for permits in (1, 2):
        asked = [what for _, what, _ in dry_run_final(perfect, permits).dispatches]
        last = asked[2 * CLIENTS : -1]
        assert [(what.thread, what.f) for what in last[:permits]] == [
            (thread, WORDS.acquire) for thread in range(permits)
        ]
        works = [what for what in last if what.f == WORDS.work]
        assert {what.thread for what in works} == set(range(permits))
        held = works[0].value["acts"] * works[0].value["pause"]
        impatient = [what for what in last[permits:] if what.f == WORDS.acquire]
        assert {what.thread for what in impatient} == set(range(permits, CLIENTS))
        assert all(
            what.value["timeout"] + USUAL_GRACE_S + MARGIN_NS / SECOND < held for what in impatient
        )
        assert sum(what.f == WORDS.release for what in last) == CLIENTS, "perfect: all are granted"


def test_in_the_end_nobody_looks_before_all_are_done():
    def one_is_slow(what, seed):
        outcome = perfect(what, seed)
        return outcome._replace(returned=9 * SECOND) if what.thread == 2 else outcome

    run = dry_run_final(one_is_slow)
    looked = next(at for at, what, _ in run.dispatches if what.f == "inspect")
    before = [pair.completion.time for pair in operations(run) if pair.invoke.f != "inspect"]
    assert looked >= max(before) > 18 * SECOND


@pytest.mark.parametrize("outcome", ["fail", "info"])
def test_in_the_end_who_is_not_granted_gives_up_after_the_bound(outcome):
    def never(what, _seed):
        if what.f == WORDS.acquire and what.thread == 1:
            return Ending(0, int(what.value["timeout"] * 1e9), outcome)
        return Ending(0, 10 * MILLISECOND, "ok")

    run = dry_run_final(never)
    tries = [
        (at, what.value["timeout"])
        for at, what, _ in run.dispatches
        if what.thread == 1 and what.f == WORDS.acquire
    ][:-1]  # the last is impatient
    assert len(tries) == FINAL_BOUND_S // LONG_PATIENCE_S
    at, timeout = tries[-1]
    assert at + timeout * SECOND <= FINAL_BOUND_S * SECOND
    releases = [
        cleanup
        for _, what, cleanup in run.dispatches
        if what.thread == 1 and what.f == WORDS.release
    ]
    assert releases == ([True] * (len(tries) + 1) if outcome == "info" else [])


def test_in_the_end_a_second_try_counts():
    tried = set()

    def at_the_second(what, seed):
        outcome = perfect(what, seed)
        if what.f == WORDS.acquire and what.thread not in tried:
            tried.add(what.thread)
            return outcome._replace(type="fail")
        return outcome

    granted = [
        pair.invoke.process
        for pair in operations(dry_run_final(at_the_second))
        if pair.invoke.f == WORDS.acquire and pair.outcome == "ok"
    ]
    assert set(granted) == set(range(CLIENTS))


def test_in_the_end_looking_is_tried_five_times_at_most():
    def blind(what, seed):
        outcome = perfect(what, seed)
        return outcome._replace(type="fail") if what.f == "inspect" else outcome

    looks = [what for _, what, _ in dry_run_final(blind).dispatches if what.f == "inspect"]
    assert len(looks) == 5


def test_half_of_the_actions_are_slow_where_their_time_was_chosen():
    chosen = replace(setting(Seed(3)), action=Action(seconds=0.05, guard=0.02))
    run = dry_run(
        on_clients(LOCK.load_of(chosen)), clients=CLIENTS, nemesis=False, behaviour=perfect
    )
    work = [pair.invoke.value for pair in operations(run) if pair.invoke.f == WORDS.work]
    assert all((value["acts"], value["guard"]) == (1, 0.02) for value in work)
    slow = sum(value["seconds"] == 0.05 for value in work)
    assert slow + sum(value["seconds"] == 0.0 for value in work) == len(work)
    assert 0.3 < slow / len(work) < 0.7


def stays(call):
    return call.f == "work" and call.value["pause"] == PART_PAUSE_S


def lost(dispatch, _seed):
    """A holder that has lost it meanwhile."""
    return Ending(0, 10 * MILLISECOND, "fail" if stays(dispatch) else "ok")


def test_a_holder_whose_links_are_cut_goes_on_acting_but_not_for_ever():
    calls = invocations(dry_run_load(Seed(1), behaviour=perfect, cut=lambda _now: 1))
    own = [each for each in calls if each.process == 0]
    first = next(place for place, each in enumerate(own) if stays(each))
    left = next(each for each in own[first:] if each.f != "work")
    assert left.f == "release"
    assert (left.time - own[first].time) / SECOND == pytest.approx(STAY_S, abs=0.02)
    assert not any(stays(each) for each in calls if each.process != 0)


def test_a_holder_that_holds_no_more_stays_no_longer():
    calls = invocations(dry_run_load(Seed(1), behaviour=lost, cut=lambda _now: 7))
    assert any(map(stays, calls))
    own = [each for each in calls if each.process == 0]
    assert not any(stays(one) and stays(other) for one, other in pairwise(own))
