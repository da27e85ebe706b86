from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.history import Op
from rumpus.harness.generators import combinators as gen
from rumpus.harness.generators.generator import NEMESIS, Context, Invocation
from rumpus.harness.generators.seed import Seed
from tests.harness.generators.dry_run import MILLISECOND, Ending, Kill, dry_run, imperfect

READ, WRITE, CAS = Invocation("read"), Invocation("write"), Invocation("cas")


def by(key, run):
    """What was dispatched, by thread or process, in order."""
    done = defaultdict(list)
    for each in run.dispatches:
        done[getattr(each.what, key)].append(each.what.f)
    return dict(done)


def test_clients_and_nemesis_keep_to_themselves():
    generator = gen.limit(
        40,
        gen.any_of(
            gen.on_clients(gen.repeat(READ)), gen.on_nemesis(gen.repeat(Invocation("start")))
        ),
    )
    threads = by("thread", dry_run(generator, clients=3))
    assert set(threads) == {0, 1, 2, NEMESIS}
    for thread, fs in threads.items():
        assert set(fs) == ({"start"} if thread == NEMESIS else {"read"})


def test_without_a_nemesis_it_does_nothing():
    generator = gen.sequence(gen.on_nemesis(Invocation("start")), READ)
    assert by("thread", dry_run(generator, clients=1, nemesis=False)) == {0: ["read"]}


@pytest.mark.parametrize("threads", [[1, NEMESIS], lambda thread: thread in {1, NEMESIS}])
def test_any_threads_can_be_chosen(threads):
    generator = gen.limit(10, gen.on_threads(threads, gen.repeat(READ)))
    assert set(by("thread", dry_run(generator, clients=3))) == {1, NEMESIS}


def test_threads_that_are_not_there_do_nothing():
    assert dry_run(gen.on_threads({7}, READ), clients=3).dispatches == []
    assert dry_run(gen.on_clients(gen.on_nemesis(READ)), clients=3).dispatches == []


class Told:
    """A generator that remembers of whom it was told, and what the context covered."""

    def __init__(self, told=()):
        self.told = told

    def op(self, ctx):  # noqa: ARG002 - the protocol's
        return None

    def update(self, ctx, event):
        return Told((*self.told, (event.process, ctx.members)))


def test_only_events_of_the_chosen_threads_are_passed_on():
    ctx = Context.start(clients=2)
    generator = gen.on_threads({1}, Told())
    for process in (0, 3, NEMESIS, 1):
        generator = generator.update(ctx, Op(time=0, process=process, type="invoke", f="read"))
    assert generator.generator.told == ((3, 0b10), (1, 0b10))


def nemesis_says_ok(dispatch, seed):  # noqa: ARG001 - a behaviour's
    return Ending(0, MILLISECOND, "ok")


def test_each_thread_has_its_own():
    run = dry_run(gen.each_thread(gen.sequence(READ, WRITE)), clients=3, behaviour=nemesis_says_ok)
    assert by("thread", run) == {thread: ["read", "write"] for thread in (0, 1, 2, NEMESIS)}


def test_a_thread_goes_on_under_its_next_process():
    def unknown(dispatch, seed):  # noqa: ARG001 - a behaviour's
        return Ending(0, MILLISECOND, "info")

    run = dry_run(
        gen.on_clients(gen.each_thread(gen.sequence(READ, WRITE, CAS))),
        clients=2,
        behaviour=unknown,
    )
    assert by("process", run) == {
        0: ["read"],
        1: ["read"],
        2: ["write"],
        3: ["write"],
        4: ["cas"],
        5: ["cas"],
    }


@given(st.integers(1, 4), st.integers(0, 1000))
def test_every_process_begins_with_its_own(clients, number):
    generator = gen.on_clients(gen.each_process(gen.sequence(*(Invocation(f) for f in "abcdef"))))
    run = dry_run(
        generator,
        clients=clients,
        behaviour=imperfect,
        seed=Seed(number),
        kills=[Kill(30 * MILLISECOND, 0, 20 * MILLISECOND)],
    )
    processes = by("process", run)
    for fs in processes.values():
        assert fs == list("abcdef")[: len(fs)]
    last = {process % clients: fs for process, fs in sorted(processes.items())}
    assert all(fs == list("abcdef") or thread == 0 for thread, fs in last.items())


def test_a_process_killed_between_operations_is_followed_by_a_new_one():
    run = dry_run(
        gen.on_clients(
            gen.each_process(gen.sequence(READ, Invocation("write", time=20 * MILLISECOND)))
        ),
        clients=1,
        kills=[Kill(15 * MILLISECOND, 0, 10 * MILLISECOND)],
    )
    assert by("process", run) == {0: ["read"], 1: ["read", "write"]}


def test_copies_can_be_made_for_their_owner():
    def of_process(process):
        reads, writes = (
            gen.repeat(Invocation("read", process)),
            gen.repeat(Invocation("write", process)),
        )
        return gen.limit(30, gen.sequence(gen.limit(process, reads), writes))

    run = dry_run(gen.on_clients(gen.each_process(of_process)), clients=3)
    assert all(each.what.value == each.what.process for each in run.dispatches)
    drawn = by("process", run)
    assert {process: len(fs) for process, fs in drawn.items()} == {0: 30, 1: 30, 2: 30}
    assert len({tuple(fs) for fs in drawn.values()}) == 3

    of_thread = gen.each_thread(lambda thread: Invocation("read", thread))
    run = dry_run(of_thread, clients=2)
    assert {(each.what.thread, each.what.value) for each in run.dispatches} == {
        (0, 0),
        (1, 1),
        (NEMESIS, NEMESIS),
    }


def test_everybody_gets_their_share():
    run = dry_run(gen.on_clients(gen.limit(300, gen.each_process(gen.cycle(READ)))), clients=3)
    assert Counter(each.what.thread for each in run.dispatches) == {0: 100, 1: 100, 2: 100}


@pytest.mark.parametrize("share", [gen.repeat(READ), gen.each_process(gen.repeat(READ))])
def test_clients_take_turns_although_one_could_do_it_all(share):
    generator = gen.any_of(
        gen.on_clients(gen.delay(0.02, gen.limit(7, share))),
        gen.on_nemesis(gen.delay(0.02, gen.repeat(Invocation("start"), 7))),
    )
    run = dry_run(generator, clients=3)
    threads = [each.what.thread for each in run.dispatches if each.what.f == "read"]
    assert threads == [0, 1, 2, 0, 1, 2, 0]
