from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.history import Op
from rumpus.harness.generators import combinators as gen
from rumpus.harness.generators.generator import NEMESIS, NOTHING, PENDING, Invocation, Pending
from rumpus.harness.generators.interpreter import (
    Dispatch,
    Done,
    GeneratorError,
    Interpreter,
    UnexpectedRecord,
    Wait,
)
from rumpus.harness.generators.seed import Seed
from tests.harness.generators.dry_run import MILLISECOND, dry_run, imperfect
from tests.harness.generators.kills import kills

READ = Invocation("read", 1)
ACQUIRE, RELEASE = Invocation("acquire", "the lock"), Invocation("release", "the lock")
LOCKING = gen.cycle(gen.sequence(ACQUIRE, RELEASE))
CLEANUP = {"acquire": "undo"}


def interpreter(generator, clients=2, **options):
    return Interpreter(generator, clients=clients, **options)


def observe(running, time, process, type_, f):
    running.observe(Op(time=time, process=process, type=type_, f=f))


def complete(running, time, process, type_, f):
    observe(running, time, process, "invoke", f)
    observe(running, time, process, type_, f)


def test_an_operation_from_dispatch_to_completion():
    running = interpreter(READ)
    assert running.poll(5) == Dispatch(0, 0, "read", 1)
    (opened,) = running.open.values()
    assert (opened.thread, opened.process, opened.f, opened.value) == (0, 0, "read", 1)
    assert (opened.since, opened.invoked, opened.cleanup) == (5, False, False)
    assert running.poll(6) == Wait(None)
    observe(running, 7, 0, "invoke", "read")
    assert running.open[0].invoked
    assert running.outstanding == 1
    observe(running, 8, 0, "ok", "read")
    assert running.outstanding == 0
    assert running.poll(9) == Done()
    assert running.poll(9) == Done()


def test_a_thread_is_busy_until_its_completion():
    running = interpreter(gen.repeat(READ), nemesis=False)
    assert [running.poll(1).thread, running.poll(1).thread] == [0, 1]
    assert running.poll(1) == Wait(None)
    observe(running, 2, 1, "invoke", "read")
    assert running.poll(2) == Wait(None)
    observe(running, 3, 1, "fail", "read")
    assert running.poll(3) == Dispatch(1, 1, "read", 1)


def test_time_does_not_go_back():
    running = interpreter(gen.sequence(gen.delay(1e-9 * 10, gen.repeat(READ, 2))))
    running.poll(5)
    observe(running, 30, 0, "invoke", "read")
    assert running.poll(10) == Dispatch(1, 1, "read", 1)
    assert running.context.time == 30


def test_a_wait_says_until_when():
    running = interpreter(gen.sequence(gen.sleep(1), READ))
    assert running.poll(5) == Wait(1_000_000_005)
    assert running.poll(500) == Wait(1_000_000_005)
    assert running.poll(1_000_000_005) == Dispatch(0, 0, "read", 1)


def test_unknown_outcomes_retire_the_process():
    running = interpreter(gen.on_clients(gen.repeat(READ)), clients=1)
    for process in range(3):
        assert running.poll(1) == Dispatch(0, process, "read", 1)
        complete(running, 1, process, "info", "read")


def test_the_nemesis_is_never_retired():
    running = interpreter(
        gen.on_nemesis(gen.repeat(Invocation("start"), 2)), cleanup={"start": "stop"}
    )
    for _ in range(2):
        assert running.poll(1) == Dispatch(NEMESIS, NEMESIS, "start", None)
        complete(running, 1, NEMESIS, "info", "start")
    assert running.poll(1) == Done()


@pytest.mark.parametrize("outcome", ["ok", "fail", "info"])
def test_a_clean_up_comes_before_retirement(outcome):
    running = interpreter(gen.on_clients(LOCKING), clients=1, cleanup=CLEANUP)
    running.poll(1)
    complete(running, 1, 0, "info", "acquire")
    assert (running.outstanding, dict(running.open)) == (1, {})
    assert running.poll(2) == Dispatch(0, 0, "undo", "the lock")
    assert running.open[0].cleanup
    assert running.poll(2) == Wait(None)
    complete(running, 3, 0, outcome, "undo")
    assert running.poll(3) == Dispatch(0, 1, "release", "the lock")


def test_a_clean_up_whose_f_has_a_clean_up_gets_none():
    cleanup = {"acquire": "release", "release": "release"}
    running = interpreter(gen.on_clients(LOCKING), clients=1, cleanup=cleanup)
    running.poll(1)
    complete(running, 1, 0, "info", "acquire")
    assert running.poll(2) == Dispatch(0, 0, "release", "the lock")
    complete(running, 3, 0, "info", "release")
    assert running.poll(3).process == 1


def test_stopping_ends_what_is_open_and_cleans_up():
    running = interpreter(gen.on_clients(gen.repeat(ACQUIRE)), clients=2, cleanup=CLEANUP)
    running.poll(1)
    running.poll(1)
    assert not running.stopped
    running.stop()
    assert running.stopped
    assert running.poll(2) == Wait(None)
    complete(running, 3, 0, "ok", "acquire")
    assert running.poll(3) == Wait(None)
    complete(running, 4, 1, "info", "acquire")
    assert running.poll(5) == Dispatch(1, 1, "undo", "the lock")
    complete(running, 6, 1, "ok", "undo")
    running.stop()
    assert running.poll(7) == Done()


def test_clean_ups_come_after_the_last_operation_too():
    running = interpreter(ACQUIRE, clients=1, cleanup=CLEANUP)
    running.poll(1)
    assert running.poll(1) == Wait(None)
    complete(running, 1, 0, "info", "acquire")
    assert running.poll(2) == Dispatch(0, 0, "undo", "the lock")
    complete(running, 2, 0, "ok", "undo")
    assert running.poll(3) == Done()


def test_a_suspended_client_gets_nothing_until_restored():
    running = interpreter(gen.on_clients(gen.repeat(READ)), clients=1)
    running.suspend(0)
    assert running.poll(1) == Wait(None)
    running.restore(0)
    assert running.poll(2) == Dispatch(0, 0, "read", 1)


def test_suspending_and_restoring_a_busy_client_leaves_it_busy():
    running = interpreter(gen.on_clients(gen.repeat(READ)), clients=1)
    running.poll(1)
    running.suspend(0)
    running.restore(0)
    assert running.poll(2) == Wait(None)
    complete(running, 3, 0, "ok", "read")
    assert running.poll(4) == Dispatch(0, 0, "read", 1)


@pytest.mark.parametrize("killed", ["in its operation", "before its clean-up"])
def test_a_killed_client_is_retired_without_a_clean_up(killed):
    running = interpreter(gen.on_clients(LOCKING), clients=1, cleanup=CLEANUP)
    running.poll(1)
    if killed == "in its operation":
        running.suspend(0)
    complete(running, 2, 0, "info", "acquire")
    if killed == "before its clean-up":
        running.suspend(0)
    assert running.outstanding == 0
    assert running.poll(3) == Wait(None)
    running.restore(0)
    assert running.poll(4) == Dispatch(0, 1, "release", "the lock")


def test_a_client_killed_in_its_clean_up_is_retired_once():
    running = interpreter(gen.on_clients(LOCKING), clients=1, cleanup=CLEANUP)
    running.poll(1)
    complete(running, 2, 0, "info", "acquire")
    running.poll(2)
    running.suspend(0)
    complete(running, 2, 0, "info", "undo")
    running.restore(0)
    assert running.poll(4) == Dispatch(0, 1, "release", "the lock")


def test_a_client_killed_with_nothing_open_is_retired():
    running = interpreter(gen.on_clients(gen.repeat(READ)), clients=2)
    running.suspend(0)
    running.retire(0)
    assert running.context.process_of(0) == 2
    assert running.poll(1).process == 1
    running.restore(0)
    assert running.poll(1).process == 2


def test_only_idle_clients_are_retired():
    running = interpreter(gen.repeat(READ), cleanup={"read": "undo"})
    running.poll(1)
    with pytest.raises(ValueError, match="client 0 cannot be retired with an operation open"):
        running.retire(0)
    complete(running, 2, 0, "info", "read")
    with pytest.raises(ValueError, match="client 0 cannot be retired with an operation open"):
        running.retire(0)


@pytest.mark.parametrize("thread", [NEMESIS, 2, -1])
@pytest.mark.parametrize("what", [Interpreter.suspend, Interpreter.restore, Interpreter.retire])
def test_only_clients_are_taken_away(thread, what):
    with pytest.raises(ValueError, match=f"{thread!r} is not a client; only .* 0 to 1"):
        what(interpreter(READ), thread)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([(1, "invoke", "read")], "process 1, whose thread 1 has nothing open"),
        ([(2, "invoke", "read")], "process 2, whose thread 0 has read of process 0 open"),
        ([(0, "invoke", "write")], "invoke of write .* has read of process 0 open"),
        ([(0, "ok", "read")], "was not invoked yet"),
        ([(0, "invoke", "read")] * 2, "was already invoked"),
        ([(0, "invoke", "read"), (0, "ok", "read"), (0, "ok", "read")], "has nothing open"),
        ([("session", "info", "lost")], "thread session has nothing open"),
    ],
)
def test_records_that_do_not_fit_are_refused(records, message):
    running = interpreter(READ)
    running.poll(1)
    *before, last = records
    for record in before:
        observe(running, 1, *record)
    with pytest.raises(UnexpectedRecord, match=message):
        observe(running, 1, *last)


class Answering:
    def __init__(self, operation):
        self.operation = operation

    def op(self, ctx):  # noqa: ARG002 - the protocol's
        return self.operation, self

    def update(self, ctx, event):  # noqa: ARG002 - the protocol's
        return self


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (Invocation("read"), "gave read to process None, which is not free"),
        (Invocation("read", process=5), "gave read to process 5, which is not free"),
        (Pending(9), "pending until 9 ns, but it is 9 ns already"),
        (PENDING, "waits for an event, but nothing is open"),
    ],
)
def test_generators_that_make_no_sense_are_refused(operation, message):
    with pytest.raises(GeneratorError, match=message):
        interpreter(Answering(operation)).poll(9)


def test_an_operation_for_a_busy_process_is_refused():
    running = interpreter(Answering(Invocation("read", process=0)))
    running.poll(1)
    with pytest.raises(GeneratorError, match="gave read to process 0, which is not free"):
        running.poll(1)


def test_a_run_needs_a_client():
    with pytest.raises(ValueError, match="at least 1 client, not 0"):
        Interpreter(NOTHING, clients=0)


class Told:
    """Gives one operation, and notes what it is told of, beside what it is then to know."""

    def __init__(self, told, generator):
        self.told = told
        self.generator = generator

    def op(self, ctx):
        answer = self.generator.op(ctx)
        return answer and (answer[0], Told(self.told, answer[1]))

    def update(self, ctx, event):
        known = (ctx.time, ctx.processes[0], list(ctx.in_turn(ctx.free)))
        self.told.append((event.type, event.f, event.process, *known))
        return self


def test_generators_are_told_of_events_with_the_context_after_them():
    told = []
    running = interpreter(
        Told(told, gen.repeat(ACQUIRE, 2)), clients=1, nemesis=False, cleanup=CLEANUP
    )
    running.poll(1)
    observe(running, 2, 0, "invoke", "acquire")
    observe(running, 3, 0, "fail", "acquire")
    running.poll(4)
    observe(running, 5, 0, "invoke", "acquire")
    observe(running, 6, 0, "info", "acquire")
    running.poll(7)
    complete(running, 8, 0, "ok", "undo")
    assert told == [
        ("invoke", "acquire", 0, 2, 0, []),
        ("fail", "acquire", 0, 3, 0, [0]),
        ("invoke", "acquire", 0, 5, 0, []),
        ("info", "acquire", 0, 6, 0, []),
    ]
    assert running.context.processes[0] == 1


def workload():
    """What a lock's run does, in short: load under faults, then everybody once more."""
    fault = gen.sequence(gen.sleep(0.02), Invocation("start"), gen.sleep(0.01), Invocation("stop"))
    return gen.phases(
        gen.time_limit(
            0.3,
            gen.any_of(gen.on_clients(gen.each_process(LOCKING)), gen.on_nemesis(gen.cycle(fault))),
        ),
        gen.on_clients(gen.limit(5, gen.repeat(ACQUIRE))),
    )


@st.composite
def runs(draw):
    clients = draw(st.integers(1, 5))
    stop_at = draw(st.none() | st.integers(0, 400 * MILLISECOND))
    killed = draw(st.lists(kills(clients, until=400 * MILLISECOND), max_size=6))
    run = dry_run(
        workload(),
        clients=clients,
        cleanup=CLEANUP,
        behaviour=imperfect,
        seed=Seed(draw(st.integers(0, 999))),
        kills=killed,
        stop_at=stop_at,
    )
    return run, killed, stop_at


@given(runs())
def test_no_process_has_two_operations_open(run):
    run, _, _ = run
    # ``operations`` raises when a process calls while another operation of it is open.
    pairs = run.history.operations() + run.history.operations(nemesis=True)
    assert len(pairs) == len(run.dispatches)
    assert all(pair.completion is not None for pair in pairs)
    open_threads = set()
    dispatches = {(each.what.process, each.time): each.what for each in run.dispatches}
    assert len(dispatches) == len(run.dispatches)
    for op in run.history:
        thread = op.process if op.process == NEMESIS else run.history.client_of(op.process)
        if op.type == "invoke":
            assert thread not in open_threads
            open_threads.add(thread)
        else:
            open_threads.remove(thread)


@given(runs())
def test_an_unknown_outcome_retires_its_process_after_one_clean_up(run):
    run, killed, _ = run
    processes = defaultdict(list)
    for pair in run.history.operations():
        processes[pair.invoke.process].append(pair)
    kills = {(kill.time, kill.client) for kill in killed}
    for process, pairs in processes.items():
        assert all(pair.outcome != "info" for pair in pairs[:-2])
        client = run.history.client_of(process)
        if len(pairs) > 1 and pairs[-2].outcome == "info":
            assert (pairs[-2].invoke.f, pairs[-1].invoke.f) == ("acquire", "undo")
        elif pairs[-1].outcome == "info" and pairs[-1].invoke.f == "acquire":
            # No clean-up: then it was killed, in the operation or before the clean-up began.
            assert any(who == client and when >= pairs[-1].invoke.time for when, who in kills), (
                f"process {process} was not cleaned up"
            )
        assert [pair.invoke.f for pair in pairs[:-1]].count("undo") == 0


@given(runs())
def test_without_kills_every_unknown_acquire_is_cleaned_up(run):
    run, killed, _ = run
    counts = Counter(
        pair.invoke.f
        for pair in run.history.operations()
        if pair.invoke.f == "undo" or (pair.invoke.f, pair.outcome) == ("acquire", "info")
    )
    assert counts["undo"] <= counts["acquire"] <= counts["undo"] + len(killed)


@given(runs())
def test_threads_run_ever_higher_processes(run):
    run, _, _ = run
    latest = {}
    for each in run.dispatches:
        thread, process = each.what.thread, each.what.process
        if thread == NEMESIS:
            assert process == NEMESIS
        else:
            assert process % run.history.clients == thread
            assert latest.get(thread, -1) <= process
            latest[thread] = process


@given(runs())
def test_nothing_but_clean_ups_is_dispatched_after_a_stop(run):
    run, _, stop_at = run
    if stop_at is not None:
        assert all(each.time <= stop_at or each.cleanup for each in run.dispatches)
    else:
        final = [each for each in run.dispatches if each.time >= 300 * MILLISECOND]
        assert sum(not each.cleanup for each in final) == 5


@given(runs())
def test_clean_ups_are_the_only_undoing(run):
    run, _, _ = run
    assert all(each.cleanup is (each.what.f == "undo") for each in run.dispatches)
