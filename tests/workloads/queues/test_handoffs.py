"""When one client puts and another takes, and nobody else does anything."""

from contextlib import suppress
from itertools import pairwise

from rumpus.checker.history import Op
from rumpus.harness.generators.generator import SECOND
from rumpus.harness.generators.script import Client, each_client
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.queue.fifo_queue import FifoQueue
from rumpus.workloads.queues.handoffs import TRICKLE_NS, Handoffs
from rumpus.workloads.queues.priority_queue import PRIORITY_QUEUE
from rumpus.workloads.queues.queue import QUEUE
from tests.harness.generators.dry_run import MILLISECOND, Ending, dry_run

BEGIN, END = 3 * SECOND, 5 * SECOND
"""When there are handoffs."""


CONTEXT = WorkloadContext(Seed(3), FifoQueue, clients=3, session_timeout=2.0, until=END)


def handed(traffic, *, workload=QUEUE, slow=()):
    """Operations of the time of the handoffs: (time, thread, f). Nothing comes out of a queue."""

    def behaviour(dispatch, seed):  # noqa: ARG001 - a behaviour's
        waits = dispatch.f == "dequeue" and dispatch.value["timeout"] > 1.0
        took = 4000 if waits else 300 if dispatch.thread in slow else 10
        return Ending(0, took * MILLISECOND, "ok")

    def script(client):
        while client.time < END:
            if client.time < BEGIN:
                yield from traffic(client)
            else:
                yield from client.shared.turn(client, workload, 0)

    load = each_client(
        lambda client: client.shared.noting(client, script(client)),
        CONTEXT,
        shared=workload.shared(),
        renew=False,
    )
    done = dry_run(load, clients=3, nemesis=False, behaviour=behaviour).dispatches
    return [(time, what.thread, what.f) for time, what, _ in done if time >= BEGIN]


def takes(_):
    yield QUEUE.dequeue(timeout=0.1)


def waits(client):
    """One client waits until a second after the beginning."""
    yield QUEUE.dequeue(timeout=30.0) if client.number == 2 else client.rest(3.0)


def test_one_puts_then_one_takes_when_the_queue_has_been_seen_to_be_empty():
    ours = handed(takes)
    assert all(later[0] - earlier[0] >= 10 * MILLISECOND for earlier, later in pairwise(ours))
    assert [f for _, _, f in ours[:5]] == ["dequeue", "enqueue", "dequeue", "enqueue", "dequeue"]
    assert {thread for _, thread, f in ours if f == "dequeue"} == {0, 1, 2}
    assert len(ours) > 80


def test_who_was_answered_soon_takes_out_what_was_left_and_puts_then():
    handoffs = Handoffs(urgent=False)

    def does(number, came=None):
        """What a client does when it looks, and is answered with an element or none."""
        client = Client(number, CONTEXT, Seed(1))
        steps = handoffs.noting(client, handoffs.turn(client, QUEUE, 0))
        step = next(steps)
        f = getattr(step, "f", "")
        with suppress(StopIteration):
            steps.send(Op(time=1, process=number, type="ok", f=f, value={"value": came}))
        return f

    soon = next(number for number in range(3) if does(number, "old"))
    late = [number for number in range(3) if number != soon]
    assert [does(number) for number in (*late, soon)] == ["", "", "dequeue"]
    assert [does(number) for number in (*late, soon)] == ["", "", "enqueue"]
    assert does(soon) == ""
    assert sorted(does(number, "handed.1") for number in late) == ["", "dequeue"]
    assert [does(number) for number in (*late, soon)] == ["", "", "enqueue"]


def test_with_priorities_nothing_has_to_be_taken_out_before():
    ours = handed(takes, workload=PRIORITY_QUEUE)
    assert [f for _, _, f in ours[:2]] == ["enqueue", "dequeue"]


def test_who_waits_is_fed_first_and_waited_for():
    ours = handed(waits)
    assert [f for time, _, f in ours if time < 4 * SECOND] == ["enqueue", "enqueue"]
    assert TRICKLE_NS <= ours[1][0] - ours[0][0] < TRICKLE_NS + 30 * MILLISECOND
    assert len(ours) > 40


def test_who_is_answered_late_does_not_go_on_putting_but_takes():
    ours = handed(takes, slow={0})
    puts = [thread for _, thread, f in ours if f == "enqueue"]
    assert 0 not in puts[1:]
    assert sum(thread == 0 for _, thread, f in ours if f == "dequeue") >= 2
