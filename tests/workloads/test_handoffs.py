"""When one client puts and another takes, and nobody else does anything."""

from itertools import pairwise

from rumpus.harness.generators.combinators import (
    on_threads,
    once,
    repeat,
    sequence,
    sleep,
    time_limit,
)
from rumpus.harness.generators.dry_run import MILLISECOND, Outcome, rehearse
from rumpus.harness.generators.generator import SECOND, Invocation
from rumpus.harness.generators.seed import Seed
from rumpus.workloads.queues.handoffs import TRICKLE_NS, Handoffs, Schedule

SCHEDULE = Schedule(seconds=2.0, every=5.0, since=10 * SECOND, until=8 * SECOND)
BEGIN, END = 3 * SECOND, 5 * SECOND
"""The only handoffs before ``until``."""


def handed(traffic, *, priorities=False, slow=()):
    """Operations of the time of the handoffs: (time, thread, f). Nothing comes out of a queue."""

    def behaviour(dispatch, seed):  # noqa: ARG001 - a behaviour's
        waits = dispatch.f == "dequeue" and dispatch.value["timeout"] > 1.0
        took = 4000 if waits else 300 if dispatch.thread in slow else 10
        return Outcome(0, took * MILLISECOND, "ok")

    load = Handoffs(time_limit(10.0, traffic), SCHEDULE, priorities, Seed(3))
    done = rehearse(load, clients=3, nemesis=False, behaviour=behaviour).dispatches
    ours = [(time, what.thread, what.f) for time, what, _ in done if BEGIN <= time < END]
    rest = [what.f for time, what, _ in done if not BEGIN <= time < END]
    assert not rest or set(rest) == {"dequeue"}
    return ours


TAKES = repeat(Invocation("dequeue", {"timeout": 0.1}))


def test_one_puts_then_one_takes_when_the_queue_has_been_seen_to_be_empty():
    ours = handed(TAKES)
    assert all(later[0] - earlier[0] >= 10 * MILLISECOND for earlier, later in pairwise(ours))
    assert [f for _, _, f in ours[:5]] == ["dequeue", "enqueue", "dequeue", "enqueue", "dequeue"]
    assert {thread for _, thread, f in ours if f == "dequeue"} == {0, 1, 2}
    assert len(ours) > 150


def test_with_priorities_nothing_has_to_be_taken_out_before():
    assert [f for _, _, f in handed(TAKES, priorities=True)[:3]] == [
        "enqueue",
        "dequeue",
        "enqueue",
    ]


def test_who_waits_is_fed_first_and_waited_for():
    waits = Invocation("dequeue", {"timeout": 30.0})
    ours = handed(on_threads({2}, sequence(once(waits), sleep(10.0))))
    assert [f for time, _, f in ours if time < 4 * SECOND] == ["enqueue", "enqueue"]
    assert ours[1][0] - ours[0][0] == TRICKLE_NS
    assert len(ours) > 80


def test_who_is_answered_late_does_not_go_on_putting_but_takes():
    ours = handed(TAKES, slow={0})
    puts = [thread for _, thread, f in ours if f == "enqueue"]
    assert 0 not in puts[1:]
    assert sum(thread == 0 for _, thread, f in ours if f == "dequeue") >= 2
