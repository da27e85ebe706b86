import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.history import Op
from rumpus.harness.generators import combinators as gen
from rumpus.harness.generators.generator import (
    NEMESIS,
    NOTHING,
    PENDING,
    Context,
    Invocation,
    Pending,
)
from tests.harness.generators.dry_run import MILLISECOND, Ending, dry_run

START = Context.start(clients=3)


def context(**changes):
    return msgspec.structs.replace(START, **changes)


def test_at_the_start_everybody_is_free():
    assert START.members == START.free == 0b1111
    assert START.busy == 0
    assert Context.start(clients=2, nemesis=False).members == 0b11


def test_processes_are_traced_to_threads():
    ctx = context(processes=(3, 7, 2, NEMESIS))
    assert [ctx.thread_of(process) for process in (3, 7, 2, NEMESIS)] == [0, 1, 2, NEMESIS]
    assert [ctx.process_of(thread) for thread in (0, 1, 2, NEMESIS)] == [3, 7, 2, NEMESIS]
    assert [ctx.position_of(process) for process in (3, 7, 2, NEMESIS)] == [0, 1, 2, 3]


@pytest.mark.parametrize("thread", [3, -1, "nobody"])
def test_an_unknown_thread_is_named(thread):
    with pytest.raises(ValueError, match=f"no thread {thread!r}.*0 to 2 and 'nemesis'"):
        START.bit(thread)


def test_narrowing_covers_fewer_threads():
    narrowed = context(free=0b1011, busy=0b0100).narrow(0b0110)
    assert narrowed.members == 0b0110
    assert narrowed.free == 0b0010
    assert narrowed.busy == 0b0100


@given(st.integers(0, 2**9 - 1), st.integers(0, 8))
def test_turns_start_anywhere_and_reach_everybody_once(bits, turn):
    ctx = Context.start(clients=8)
    ctx = msgspec.structs.replace(ctx, free=bits, turn=turn)
    positions = [position for position in range(9) if bits >> position & 1]
    later = [position for position in positions if position >= turn]
    expected = later + [position for position in positions if position < turn]
    assert list(ctx.in_turn(bits)) == expected
    assert ctx.next_free() == (ctx.processes[expected[0]] if expected else None)


def test_the_sooner_of_two_pendings():
    assert Pending(5).sooner(Pending(3)) == Pending(3)
    assert Pending(3).sooner(Pending(5)) == Pending(3)
    assert PENDING.sooner(Pending(5)) == Pending(5).sooner(PENDING) == Pending(5)
    assert PENDING.sooner(None) == PENDING.sooner(PENDING) == PENDING


def test_an_invocation_is_itself_once():
    ctx = context(time=7, turn=1)
    assert Invocation("read", 5).op(ctx) == (Invocation("read", 5, 1, 7), NOTHING)
    assert NOTHING.op(ctx) is None
    event = Op(time=7, process=1, type="invoke", f="read")
    assert NOTHING.update(ctx, event) is NOTHING


def test_an_invocation_waits_for_somebody_free():
    read = Invocation("read")
    assert read.op(context(free=0)) == (PENDING, read)


def test_an_invocation_waits_for_its_time():
    read = Invocation("read", time=10)
    assert read.op(context(time=9)) == (Pending(10), read)
    assert read.op(context(time=10)) == (Invocation("read", None, 0, 10), NOTHING)
    assert read.op(context(time=12)) == (Invocation("read", None, 0, 12), NOTHING)


def test_an_invocation_waits_for_its_process():
    read = Invocation("read", process=4)
    before = context()
    assert read.op(before) == (PENDING, read)
    now = context(processes=(0, 4, 2, NEMESIS))
    assert read.op(now) == (Invocation("read", None, 4, 0), NOTHING)
    assert read.op(msgspec.structs.replace(now, free=0b1101)) == (PENDING, read)


def test_an_invocation_for_a_process_that_cannot_be_is_exhausted():
    retired = Invocation("read", process=1)
    assert retired.op(context(processes=(0, 4, 2, NEMESIS))) is None
    assert Invocation("start", process=NEMESIS).op(START.narrow(0b0111)) is None
    assert Invocation("start", process=NEMESIS).op(START) is not None


class Acquire(msgspec.Struct, frozen=True):
    """A workload's own generator: works only while it holds, as one that knows would.

    Until ``acquire`` is ok, it is tried again; then so many times ``work``, then ``release``.
    """

    work: int
    stage: str = "acquire"
    done: int = 0

    def op(self, ctx):
        f = {"acquire": "acquire", "held": "work", "leave": "release"}.get(self.stage)
        if f is None:
            return PENDING, self
        answer = Invocation(f).op(ctx)
        if isinstance(answer[0], Pending):
            return PENDING, self
        return answer[0], Acquire(self.work, f"{f} open", self.done)

    def update(self, ctx, event):  # noqa: ARG002 - the protocol's
        if event.type == "invoke":
            return self
        if event.f == "acquire":
            return Acquire(self.work, "held" if event.type == "ok" else "acquire")
        if event.f == "work":
            done = self.done + 1
            return Acquire(self.work, "leave" if done == self.work else "held", done)
        return Acquire(self.work)


def test_a_workload_can_react_to_what_came_of_its_operations():
    def every_third_acquire_succeeds(dispatch, seed):
        number, _ = seed.below(3)
        refused = dispatch.f == "acquire" and number > 0
        return Ending(0, 5 * MILLISECOND, "fail" if refused else "ok")

    run = dry_run(
        gen.time_limit(1, gen.on_clients(gen.each_thread(Acquire(work=2)))),
        clients=3,
        behaviour=every_third_acquire_succeeds,
    )
    fs = {
        process: [
            (pair.invoke.f, pair.outcome)
            for pair in run.history.operations()
            if pair.invoke.process == process
        ]
        for process in range(3)
    }
    for done in fs.values():
        assert len(done) == 200
        text = " ".join(f"{f}:{outcome}" for f, outcome in done)
        held = text.count("acquire:ok")
        assert held > 10
        assert text.count("acquire:fail") > held
        cycle = "acquire:ok work:ok work:ok release:ok"
        assert text.replace("acquire:fail ", "").count(cycle) >= held - 1
