"""Queues: verdicts on histories written by hand, the load, and whole runs in the simulation."""

from contextlib import suppress

import pytest

from rumpus.checker.history import Op
from rumpus.checker.servers.server_truth import SessionLife, ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.timeline import Timeline
from rumpus.harness.generators.combinators import on_clients
from rumpus.harness.generators.generator import SECOND
from rumpus.harness.generators.script import Client
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.nemesis.registry import EVERYWHERE
from rumpus.recipes.queue.acknowledged_queue import AcknowledgedQueue
from rumpus.recipes.queue.fifo_queue import FifoQueue
from rumpus.recipes.queue.priority_queue import PriorityQueue
from rumpus.workloads.queues.queue import MOST_TRIES, VIGIL_END_S, VIGIL_SHARE
from rumpus.workloads.registry import WORKLOADS
from tests.checker.recorded import Recorded
from tests.harness.generators.dry_run import Ending, dry_run, imperfect, perfect
from tests.sampling import sampled


class Queue(Recorded):
    """A history of a queue; times in milliseconds."""

    def put(self, called, returned, process, value, outcome="ok", **more):
        self.add(called, process, "invoke", "enqueue", {"value": value, **more})
        return self.add(returned, process, outcome, "enqueue")

    def put_all(self, called, returned, process, values, outcome="ok", **more):
        self.add(called, process, "invoke", "enqueue-all", {"values": values, **more})
        return self.add(returned, process, outcome, "enqueue-all")

    def take(self, called, returned, process, value, outcome="ok"):
        self.add(called, process, "invoke", "dequeue", {"timeout": 5.0})
        told = {"value": value} if value is not None or outcome == "ok" else None
        return self.add(returned, process, outcome, "dequeue", told)

    def finish(self, called, returned, process, value, outcome="ok", way="acknowledge"):
        self.add(called, process, "invoke", way, {"value": value})
        return self.add(returned, process, outcome, way)


def busy(*, claims=False, clients=3, elements=60):
    """Everybody takes what the next client puts while the taker waits."""
    queue = Queue(clients)
    for client in range(clients):
        queue.session(0, client, "connected", session=f"0x{client + 1}")
    for number in range(elements):
        taker, giver, ms = number % clients, (number + 1) % clients, 10 + 10 * number
        queue.add(ms, taker, "invoke", "dequeue", {"timeout": 5.0})
        queue.put(ms + 1, ms + 2, giver, f"e{number}", priority=3)
        queue.add(ms + 3, taker, "ok", "dequeue", {"value": f"e{number}"})
        if claims:
            queue.finish(ms + 4, ms + 5, taker, f"e{number}")
    return queue


def final(queue, ms=5000, *, stuck=(), elements=(), nodes=(), claims=False):
    queue.add(ms, "control", "info", "phase", {"phase": "final", "healed": True})
    for process in range(queue.clients):
        queue.put(ms + 1, ms + 2, process, f"f{process}", priority=0)
        if process in stuck:
            queue.take(ms + 3, ms + 4, process, None, "fail")
            queue.take(ms + 4, ms + 5, (process + 1) % queue.clients, f"f{process}")
        else:
            queue.take(ms + 3, ms + 4, process, f"f{process}")
        if claims:
            queue.finish(ms + 5, ms + 6, process, f"f{process}")
        ms += 10
    queue.add(ms, 0, "invoke", "inspect")
    left = {"elements": list(elements), "nodes": list(nodes)}
    queue.add(ms + 1, 0, "ok", "inspect", left)
    return queue.add(ms + 2, "control", "info", "phase-end").end(ms + 3)


def judge(queue, recipe=FifoQueue, workload="queue", **more):
    evidence = {"promises": recipe.promises, "history": queue.history()} | more
    return WORKLOADS[workload].judge(Timeline(**evidence))


def kinds(verdict):
    return {anomaly.kind for anomaly in verdict.anomalies}


@pytest.mark.parametrize(
    ("workload", "recipe", "claims"),
    [
        ("queue", FifoQueue, False),
        ("queue", AcknowledgedQueue, True),
        ("priority-queue", PriorityQueue, False),
    ],
)
def test_a_queue_that_works_is_valid(workload, recipe, claims):
    verdict = judge(final(busy(claims=claims), claims=claims), recipe, workload)
    assert (verdict.outcome, verdict.reasons) == ("valid", [])


def test_a_run_in_which_little_happened_is_inconclusive():
    assert judge(final(busy(elements=3))).outcome == "inconclusive"


def test_an_element_that_never_comes_out_is_lost():
    assert kinds(judge(final(busy().put(1000, 1001, 0, "x")))) == {"lost-element"}


def test_an_element_that_is_still_there_is_not_lost():
    queue = busy().put(1000, 1001, 0, "x")
    assert "lost-element" not in kinds(judge(final(queue, elements=["x"])))


def test_an_element_that_somebody_may_have_taken_is_not_lost():
    queue = busy().put(1000, 1001, 0, "x").take(1002, 1003, 1, "x", "info")
    assert judge(final(queue)).outcome == "valid"


class Truth:
    """The servers say that c2's session removed the element x."""

    committed = uncertain = forked = reasons = ()

    def sessions(self):
        return {f"0x{number}": SessionLife(f"0x{number}", 1, 0, 2000) for number in (1, 2, 3)}

    def znodes(self, path):
        return [ZnodeLife(f"{path}/q-queue-1", 1, 1000, "0x1", None, b"x", 2, 1002, "0x3", "multi")]

    def epochs(self):
        return {1: None}


@pytest.mark.parametrize(("killed", "found"), [(1, {"lost-element"}), (2, set())])
def test_whose_client_was_killed_may_have_taken_what_its_session_removed(killed, found):
    queue = final(busy().put(1000, 1001, 0, "x").take(1001, 1003, killed, None, "info"))
    assert kinds(judge(queue)) == set(), "without logs it may have been any of the killed"
    truth = {"truth": Truth(), "clock": WallClock([(0, 0)]), "path": "/rumpus/queue"}
    assert kinds(judge(queue, **truth)) == found


def some(*left, outcome="ok", out=()):
    """The verdict's kinds where x, y and z were put at once, and some came out or are left."""
    queue = busy().put_all(1000, 1001, 0, ["x", "y", "z"], outcome)
    for number, value in enumerate(out):
        queue.take(1002 + 2 * number, 1003 + 2 * number, 1, value)
    return kinds(judge(final(queue, elements=left)))


def test_elements_that_are_put_at_once_come_out_like_others():
    assert some(out="xyz") == set()
    assert some(out="zxy") == set(), "nobody says in which order they were put"
    assert some("z", out="xy") == {"out-of-order"}, "later ones came out before it"
    assert some(out="xy") == {"lost-element"}
    assert some(out="xyzx") == {"duplicate-element"}
    assert some(out="xyz", outcome="fail") == {"phantom-element"}


def test_of_elements_that_may_have_been_put_at_once_all_were_or_none():
    assert some(outcome="info") == set()
    assert some(out="xyz", outcome="info") == set()
    assert some(out="xy", outcome="info") == {"lost-element"}
    assert some("z", outcome="info") == {"lost-element"}


def test_elements_that_are_put_at_once_are_put_before_later_ones():
    queue = busy().put_all(1000, 1001, 0, ["x", "y"]).put(1002, 1003, 0, "z")
    queue.take(1004, 1005, 1, "x").take(1006, 1007, 1, "z").take(1008, 1009, 1, "y")
    assert kinds(judge(final(queue))) == {"out-of-order"}


def test_an_element_comes_out_once():
    queue = busy().put(1000, 1001, 0, "x").take(1002, 1003, 1, "x").take(1004, 1005, 2, "x")
    assert kinds(judge(final(queue))) == {"duplicate-element"}


@pytest.mark.parametrize("outcome", ["fail", None])
def test_what_nobody_put_does_not_come_out(outcome):
    queue = busy()
    if outcome:
        queue.put(1000, 1001, 0, "x", outcome)
    assert kinds(judge(final(queue.take(1002, 1003, 1, "x")))) == {"phantom-element"}


def test_what_was_put_first_comes_out_first():
    queue = busy().put(1000, 1001, 0, "x").put(1002, 1003, 0, "y")
    queue.take(1004, 1005, 1, "y").take(1006, 1007, 1, "x")
    assert kinds(judge(final(queue))) == {"out-of-order"}


def test_who_finds_nothing_must_have_been_able_to():
    queue = busy().put(1000, 1001, 0, "x").take(1002, 1003, 1, None).take(1004, 1005, 1, "x")
    assert kinds(judge(final(queue))) == {"out-of-order"}


def test_the_most_urgent_comes_out_first():
    queue = busy().put(1000, 1001, 0, "x", priority=7).put(1002, 1003, 0, "y", priority=3)
    late = queue.take(1004, 1005, 1, "x").take(1006, 1007, 1, "y")
    assert kinds(judge(final(late), PriorityQueue, "priority-queue")) == {"out-of-order"}


def claimed(*steps):
    queue = busy(claims=True).put(1000, 1001, 0, "x").put(1002, 1003, 0, "y")
    for ms, (process, f, value, *outcome) in enumerate(steps, start=1010):
        if f == "take":
            queue.take(ms, ms + 0.5, process, value, *outcome)
        else:
            queue.finish(ms, ms + 0.5, process, value, *outcome, way=f)
    return judge(final(queue, claims=True), AcknowledgedQueue)


def test_a_claim_that_ended_lets_the_element_come_out_again():
    assert not kinds(
        claimed(
            (1, "take", "x"),
            (1, "release", "x"),
            (2, "take", "y"),
            (0, "take", "x"),
            (2, "acknowledge", "y", "fail"),
            (0, "acknowledge", "x"),
            (1, "take", "y"),
            (1, "acknowledge", "y"),
        )
    )


def test_who_may_have_claimed_first_explains_the_order():
    done = [(0, "acknowledge", "x"), (2, "acknowledge", "y")]
    late = [(2, "take", "y"), (0, "take", "x"), *done]
    assert kinds(claimed(*late)) == {"out-of-order"}
    assert not kinds(claimed((1, "take", "x", "info"), *late))
    assert not kinds(claimed((1, "take", None, "info"), *late))


def test_what_was_acknowledged_has_not_come_out_to_others_since():
    others = [(2, "take", "x"), (1, "acknowledge", "x"), (2, "acknowledge", "x", "fail")]
    rest = [(0, "take", "y"), (0, "acknowledge", "y")]
    assert kinds(claimed((1, "take", "x"), *others, *rest)) == {"duplicate-element"}


def test_an_element_that_nobody_acknowledged_is_lost_though_it_came_out():
    rest = [(0, "take", "y"), (0, "acknowledge", "y")]
    assert kinds(claimed((1, "take", "x"), (1, "acknowledge", "x", "fail"), *rest)) == {
        "lost-element"
    }
    assert not kinds(claimed((1, "take", "x"), (1, "acknowledge", "x", "info"), *rest))


def test_a_claim_that_nobody_will_end_is_an_orphan():
    node = {"path": "/rumpus/queue/claims/x", "owner": "0x1", "czxid": 7}
    left = final(busy(claims=True), claims=True, nodes=[node])
    assert kinds(judge(left, AcknowledgedQueue)) == {"orphan-node"}


def test_who_gets_nothing_in_the_final_phase_is_stuck():
    assert kinds(judge(final(busy(), stuck={1}))) == {"stuck-waiter"}


def asleep(*, fault_until=0, connected=0, taken_at=6500, doubt=False):
    """c1 waits from 1 s to 6 s; an element is put at 2 s. Who doubts may have had it meanwhile."""
    queue = busy().add(1000, 1, "invoke", "dequeue", {"timeout": 5.0}).put(2000, 2001, 0, "x")
    if fault_until:
        queue.add(1500, "nemesis", "invoke", "start", {"id": 1, "kind": "pause"})
        queue.add(1501, "nemesis", "info", "start", {"id": 1, "targets": [], "verified": True})
        queue.add(fault_until - 1, "nemesis", "invoke", "stop", {"id": 1})
        queue.add(fault_until, "nemesis", "info", "stop", {"id": 1, "verified": True})
    if connected:
        queue.session(1500, 1, "suspended").session(connected, 1, "connected", session="0x2")
    if doubt:
        queue.add(2200, 0, "invoke", "dequeue", {"timeout": 5.0})
        queue.add(2300, 0, "info", "dequeue", error="the client was killed")
    if taken_at < 6000:
        queue.take(taken_at, taken_at + 1, 2, "x")
    queue.add(6000, 1, "fail", "dequeue", error="found nothing")
    return queue if taken_at < 6000 else queue.take(taken_at, taken_at + 1, 2, "x")


def test_a_waiter_beside_whom_an_element_lies_sleeps():
    assert kinds(judge(final(asleep(), 7000))) == {"stuck-waiter"}
    assert kinds(judge(final(asleep(fault_until=3000, connected=3000), 7000))) == {"stuck-waiter"}
    assert kinds(judge(final(asleep(taken_at=4500), 7000))) == {"stuck-waiter"}


@pytest.mark.parametrize(
    "excuse",
    [{"fault_until": 5000}, {"connected": 5000}, {"taken_at": 4001}, {"doubt": True}],
    ids=str,
)
def test_a_waiter_in_whose_way_something_was_does_not_sleep(excuse):
    queue = asleep(**excuse)
    assert "stuck-waiter" not in kinds(judge(final(queue, 7000)))


def empty(dispatch, seed):
    """Dequeues time out, and never find anything."""
    if dispatch.f != "dequeue":
        return perfect(dispatch, seed)
    return Ending(0, int(dispatch.value["timeout"] * SECOND) + 1, "fail")


def called(recipe=FifoQueue, workload="queue", phase="load_of", behaviour=perfect, clients=4):
    setting = WorkloadContext(
        seed=Seed(4), recipe=recipe, clients=clients, session_timeout=2.0, until=20 * SECOND
    )
    generator = getattr(WORKLOADS[workload], phase)(setting)
    return dry_run(
        on_clients(generator), clients=clients, nemesis=False, behaviour=behaviour, seed=Seed(7)
    )


@pytest.mark.parametrize("behaviour", [perfect, imperfect, empty])
def test_the_load_puts_distinct_values_and_ends(behaviour):
    run = called(behaviour=behaviour)
    puts = [what.value["value"] for _, what, _ in run.dispatches if what.f == "enqueue"]
    assert len(puts) == len(set(puts)) > 20
    assert run.end < (20 + VIGIL_END_S + 3) * SECOND


def test_priorities_are_put_where_there_are_some():
    first = next(what.value for _, what, _ in called().dispatches if what.f == "enqueue")
    assert "priority" not in first
    run = called(PriorityQueue, "priority-queue")
    puts = [what.value for _, what, _ in run.dispatches if what.f == "enqueue"]
    assert {put["priority"] for put in puts} == set(range(12))


def test_in_the_vigil_all_but_the_feeders_wait_across_the_end_of_the_load():
    run = called(behaviour=empty)
    late = [d for d in run.dispatches if d.time > 20 * (1 - VIGIL_SHARE) * SECOND]
    anew = [what for _, what, _ in late if what.value.get("timeout") != 0.0]
    assert {(what.f, what.thread) for what in anew} == {("enqueue", 0), ("enqueue", 1)}
    ends = [op for op in run.history if op.f == "dequeue" and op.time > 21 * SECOND]
    assert {op.process % 4 for op in ends} == {2, 3}


@pytest.mark.parametrize(
    ("recipe", "clients", "feeders"),
    [
        (AcknowledgedQueue, 2, {0}),
        (AcknowledgedQueue, 3, {0}),
        (AcknowledgedQueue, 4, {0, 1}),
        (AcknowledgedQueue, 6, {0, 1}),
        (FifoQueue, 3, {0, 1}),
    ],
)
def test_of_those_who_claim_at_least_half_wait_in_the_vigil(recipe, clients, feeders):
    run = called(recipe, behaviour=empty, clients=clients)
    late = [d.what for d in run.dispatches if d.time > 20 * (1 - VIGIL_SHARE) * SECOND]
    assert {what.thread for what in late if what.f == "enqueue"} == feeders


def test_an_error_that_comes_at_once_does_not_make_the_final_phase_busy():
    def broken(_step, _seed):
        return Ending(0, 1000, "info")

    assert len(called(phase="final_of", behaviour=broken).dispatches) < 2000


@pytest.mark.parametrize(
    ("recipe", "parents"),
    [
        ("fifo", ["/rumpus/queue/elements"]),
        ("acknowledged", ["/rumpus/queue/elements", "/rumpus/queue/claims"]),
        ("kazoo", ["/rumpus/queue"]),
        ("kazoo.recipe.queue:Queue", ["/rumpus/queue"]),
        ("kazoo.recipe.queue:LockingQueue", ["/rumpus/queue/entries", "/rumpus/queue/taken"]),
        ("tests.workloads.queues.test_queue:Foreign", []),
    ],
)
def test_the_folders_that_may_be_deleted_are_known(recipe, parents):
    queue = WORKLOADS["queue"]
    assert queue.parents(queue.recipe_of(recipe)) == parents


class Foreign:
    """A queue of which nobody says where its elements are."""

    def __init__(self, client, path):
        pass

    def put(self, element):
        pass

    def take(self, timeout):
        pass


def test_everybody_puts_and_takes_in_the_final_phase():
    run = called(phase="final_of", recipe=AcknowledgedQueue)
    asked = {(what.thread, what.f) for _, what, _ in run.dispatches}
    assert asked >= {(thread, f) for thread in range(4) for f in ("enqueue", "dequeue")}
    assert run.dispatches[-1].what.f == "inspect"


@pytest.mark.parametrize(
    ("outcomes", "until", "called"),
    [
        (["ok"], 0, ["acknowledge"]),
        (["info", "info", "fail"], 0, ["acknowledge"] * 3),
        (["info"] * 9, 0, ["acknowledge"] * MOST_TRIES),
        (["ok", "info", "ok"], SECOND, ["work", "acknowledge", "acknowledge"]),
    ],
)
def test_what_is_claimed_is_acknowledged_and_again_if_that_is_unknown(outcomes, until, called):
    context = WorkloadContext(Seed(4), AcknowledgedQueue, 3, session_timeout=2.0, until=until)
    steps = WORKLOADS["queue"].consume(Client(1, context, Seed(1)), 5.0)
    next(steps)
    step = steps.send(Op(time=0, process=1, type="ok", f="dequeue", value={"value": "x"}))
    asked = []
    with suppress(StopIteration):
        for outcome in outcomes:
            asked.append(step.f)
            assert step.f == "work" or step.value == {"value": "x"}
            step = steps.send(Op(time=0, process=1, type=outcome, f=step.f))
    assert asked == called


def judged(simulate, recipe, seed, *, workload="queue", seconds=18.0, faults=EVERYWHERE):
    _, _, verdict = simulate(seed, workload=workload, recipe=recipe, seconds=seconds, kinds=faults)
    return verdict


def test_a_sound_queue_is_valid_whatever_breaks(simulate):
    verdict = judged(simulate, "acknowledged", 1)
    assert (verdict.outcome, verdict.reasons) == ("valid", [])


@sampled(
    ("workload", "recipe"),
    [
        ("queue", "get-then-delete"),
        ("queue", "sorts-by-name"),
        ("priority-queue", "cached-list"),
        ("priority-queue", "text-priority"),
    ],
    of=4,
)
def test_some_mistakes_need_no_faults_to_be_seen(simulate, workload, recipe):
    verdict = judged(simulate, recipe, 1, workload=workload, seconds=19.0, faults=())
    assert verdict.outcome == "violation"
    promised = {anomaly.kind for anomaly in verdict.anomalies if anomaly.promised}
    assert promised & WORKLOADS[workload].catalogue[recipe].expected
