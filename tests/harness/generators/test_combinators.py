"""Laws that hold for whatever tree of combinators, however workers behave."""

from collections import Counter, defaultdict
from functools import partial
from typing import NamedTuple

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rumpus.harness.generators import combinators as gen
from rumpus.harness.generators import pacing, sequencing
from rumpus.harness.generators import thread_assignment as allotment
from rumpus.harness.generators.generator import NEMESIS, Generator, Invocation
from rumpus.harness.generators.seed import Seed
from tests.harness.generators.dry_run import MILLISECOND, dry_run, imperfect
from tests.harness.generators.kills import kills

SECONDS = st.integers(0, 50).map(lambda milliseconds: milliseconds / 1000)
SEEDS = st.integers(0, 99).map(Seed)
COUNTS = st.integers(0, 8)


def leaves(fs):
    invocation = st.sampled_from(fs).map(Invocation)
    return st.one_of(
        st.builds(gen.repeat, invocation, COUNTS),
        st.builds(gen.repeat, invocation),
        st.builds(lambda pause, leaf: gen.sequence(gen.sleep(pause), leaf), SECONDS, invocation),
    )


def combined(inner):
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        several.map(lambda parts: gen.sequence(*parts)),
        several.map(lambda parts: gen.phases(*parts)),
        several.map(lambda parts: gen.any_of(*parts)),
        st.builds(gen.synchronize, inner),
        st.builds(gen.limit, COUNTS, inner),
        st.builds(gen.time_limit, SECONDS, inner),
        st.builds(gen.repeat, inner),
        st.builds(gen.cycle, inner),
        st.builds(lambda part: gen.cycle(lambda _: part, 2), inner),
        st.builds(
            lambda mean, part, seed: gen.stagger(mean, part, seed=seed), SECONDS, inner, SEEDS
        ),
        st.builds(gen.delay, SECONDS, inner),
        st.builds(gen.on_clients, inner),
        st.builds(gen.on_nemesis, inner),
        st.builds(gen.on_threads, st.lists(st.sampled_from([0, 1, 2, NEMESIS])), inner),
        st.builds(gen.each_thread, inner),
        st.builds(gen.each_process, inner),
        st.builds(lambda part: gen.each_process(lambda _: part), inner),
    )


def trees(fs=("acquire", "release", "work")):
    """Any generator at all, up to four levels deep, which need not have an end."""
    depths = [leaves(fs)]
    for _ in range(3):
        depths.append(combined(depths[-1]))
    return st.one_of(*depths[::-1])


class Rehearsed(NamedTuple):
    """All that decides how a run goes, but for the generator."""

    clients: int
    seed: Seed
    kills: list

    def run(self, generator, **options):
        return dry_run(
            generator,
            clients=self.clients,
            behaviour=imperfect,
            seed=self.seed,
            kills=self.kills,
            most=200,
            **options,
        )


@st.composite
def circumstances(draw):
    clients = draw(st.integers(1, 4))
    killed = st.lists(kills(clients, until=300 * MILLISECOND, away=50 * MILLISECOND), max_size=4)
    return Rehearsed(clients, draw(SEEDS), draw(killed))


class AskedTwice(msgspec.Struct, frozen=True):
    """Asks and tells everything twice, and compares."""

    generator: Generator

    def op(self, ctx):
        answer = self.generator.op(ctx)
        assert self.generator.op(ctx) == answer
        return answer and (answer[0], AskedTwice(answer[1]))

    def update(self, ctx, event):
        after = self.generator.update(ctx, event)
        assert self.generator.update(ctx, event) == after
        return AskedTwice(after)


@given(trees(), circumstances())
def test_asked_twice_a_generator_answers_the_same(generator, circumstance):
    once_asked = circumstance.run(gen.time_limit(1, generator))
    twice_asked = circumstance.run(AskedTwice(gen.time_limit(1, generator)))
    assert once_asked.dispatches == twice_asked.dispatches


@given(trees(), circumstances())
def test_the_same_seed_gives_the_same_schedule(generator, circumstance):
    one, other = (circumstance.run(gen.time_limit(1, generator)) for _ in range(2))
    assert one.dispatches == other.dispatches
    assert list(one.history) == list(other.history)


@given(trees(), circumstances(), st.integers(0, 10))
def test_limits_hold(generator, circumstance, count):
    run = circumstance.run(gen.time_limit(1, gen.limit(count, generator)))
    assert len(run.dispatches) <= count


@given(trees(), circumstances(), st.integers(0, 200))
def test_time_limits_hold(generator, circumstance, milliseconds):
    run = circumstance.run(
        gen.sequence(gen.sleep(0.1), gen.time_limit(milliseconds / 1000, generator))
    )
    end = (100 + milliseconds) * MILLISECOND
    assert all(100 * MILLISECOND <= each.time < end for each in run.dispatches)
    assert run.end <= max(end + 21 * MILLISECOND, latest_event(circumstance))


def latest_event(circumstance):
    return max((kill.time + kill.away for kill in circumstance.kills), default=0)


@given(st.tuples(trees(["first"]), trees(["second"]), trees(["third"])), circumstances())
def test_phases_do_not_overlap(generators, circumstance):
    run = circumstance.run(gen.phases(*(gen.time_limit(0.2, each) for each in generators)))
    begun, completed = defaultdict(list), defaultdict(list)
    for each in run.dispatches:
        begun[each.what.f].append(each.time)
    for pair in run.history.operations() + run.history.operations(nemesis=True):
        completed[pair.invoke.f].append(pair.completion.time)
    assert all(len(begun[f]) == len(completed[f]) for f in begun)
    order = [f for f in ("first", "second", "third") if begun[f]]
    for position, f in enumerate(order):
        for later in order[position + 1 :]:
            assert max(completed[f]) <= min(begun[later])


@given(trees(), circumstances())
def test_each_process_has_its_own(generator, circumstance):
    """What is limited to one operation a copy is one a process, and every process has one."""
    run = circumstance.run(
        gen.time_limit(
            0.5, gen.on_clients(gen.each_process(gen.sequence(Invocation("hello"), generator)))
        )
    )
    done = defaultdict(list)
    for each in run.dispatches:
        done[each.what.process].append(each.what.f)
    assert done
    for fs in done.values():
        assert fs[0] == "hello"
        assert "hello" not in fs[1:]


class Sized(NamedTuple):
    """A generator with an end, and the operations that it has, for clients at least."""

    generator: Generator
    operations: Counter

    def by(self, combine):
        """Another generator of the same operations."""
        return Sized(combine(self.generator), self.operations)

    def times(self, count):
        operations = Counter({f: number * count for f, number in self.operations.items()})
        return Sized(gen.cycle(self.generator, count), operations)


def joined(combine):
    def join(parts, *arguments):
        generators = (part.generator for part in parts)
        return Sized(
            combine(*generators, *arguments), sum((part.operations for part in parts), Counter())
        )

    return join


def sized(inner):
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        several.map(joined(gen.sequence)),
        several.map(joined(gen.phases)),
        several.map(joined(gen.any_of)),
        st.builds(Sized.times, inner, st.integers(1, 3)),
        st.builds(lambda part, pause: part.by(partial(gen.delay, pause)), inner, SECONDS),
        st.builds(
            lambda part, mean, seed: part.by(partial(gen.stagger, mean, seed=seed)),
            inner,
            SECONDS,
            SEEDS,
        ),
        st.builds(
            lambda part, pause: part.by(partial(gen.sequence, gen.sleep(pause))), inner, SECONDS
        ),
        inner.map(lambda part: part.by(gen.synchronize)),
        inner.map(lambda part: part.by(gen.on_clients)),
        inner.map(lambda part: part.by(partial(gen.on_threads, {0}))),
        inner.map(lambda part: part.by(partial(gen.limit, 1000))),
        inner.map(lambda part: part.by(partial(gen.time_limit, 1000))),
    )


def finite():
    depths = [
        st.builds(
            lambda f, count: Sized(gen.repeat(Invocation(f), count), Counter({f: count})),
            st.sampled_from("abc"),
            st.integers(1, 4),
        )
    ]
    for _ in range(3):
        depths.append(sized(depths[-1]))
    return st.one_of(*depths[::-1])


@given(finite(), circumstances())
def test_nothing_is_lost(part, circumstance):
    generator, operations = part
    run = circumstance.run(generator, nemesis=False, cleanup={"a": "undo"})
    done = Counter(each.what.f for each in run.dispatches if not each.cleanup)
    assert done == operations


def test_the_module_of_combinators_offers_every_one():
    parts = (sequencing, pacing, allotment)
    functions = {
        name
        for part in parts
        for name, thing in vars(part).items()
        if getattr(thing, "__module__", None) == part.__name__ and not name.startswith("_")
    }
    assert functions == set(gen.__all__)
