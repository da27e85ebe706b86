from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.harness.generators import combinators as gen
from rumpus.harness.generators.generator import SECOND, Context, Invocation, Pending
from rumpus.harness.generators.script import each_client
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from tests.harness.generators.dry_run import MILLISECOND, Ending, dry_run, imperfect

READ, WRITE = Invocation("read"), Invocation("write")


def times(generator, **options):
    options.setdefault("clients", 1)
    return [each.time for each in dry_run(generator, **options).dispatches]


def test_a_time_limit_runs_from_the_first_asking():
    generator = gen.sequence(gen.sleep(2), gen.time_limit(0.035, gen.on_clients(gen.repeat(READ))))
    assert times(generator) == [2 * SECOND + at * MILLISECOND for at in (0, 10, 20, 30)]
    assert times(gen.time_limit(0, READ)) == []


def test_the_end_of_a_time_limit_needs_no_event():
    run = dry_run(gen.sequence(gen.time_limit(1, gen.sleep(100)), READ), clients=1)
    assert [each.time for each in run.dispatches] == [SECOND]


def test_operations_open_at_the_end_of_a_time_limit_complete():
    run = dry_run(gen.time_limit(0.005, gen.on_clients(gen.repeat(READ))), clients=2)
    assert [op.type for op in run.history] == ["invoke", "invoke", "ok", "ok"]


@pytest.mark.parametrize("clients", [1, 2, 5])
def test_staggering_keeps_its_mean_rate(clients):
    def quick(dispatch, seed):  # noqa: ARG001 - a behaviour's
        return Ending(0, 1, "ok")

    at = times(
        gen.limit(2000, gen.stagger(0.05, gen.on_clients(gen.repeat(READ)), seed=Seed(1))),
        clients=clients,
        behaviour=quick,
    )
    gaps = [later - earlier for earlier, later in pairwise(at)]
    assert sum(gaps) / len(gaps) == pytest.approx(50 * MILLISECOND, rel=0.03)
    assert 0 <= min(gaps) < 2 * MILLISECOND
    assert 98 * MILLISECOND < max(gaps) <= 100 * MILLISECOND


@pytest.mark.parametrize("early", [True, False])
def test_what_is_staggered_is_asked_early_or_when_it_is_due(early):
    """Of several scripts, too, the one whose turn it is draws with what is known by then."""
    drawn = []

    def script(client):
        while not client.is_over:
            drawn.append(client.time)
            yield READ

    context = WorkloadContext(Seed(1), None, clients=3, session_timeout=2.0, until=SECOND)
    at = times(
        gen.stagger(0.05, each_client(script, context), seed=Seed(1), early=early), clients=3
    )
    assert len(at) > 10
    if early:
        assert all(due <= later for due, later in zip(drawn, at, strict=False))
        assert drawn[: len(at)] != at
    else:
        assert drawn == at


def test_staggering_does_not_catch_up():
    def slow_first(dispatch, seed):  # noqa: ARG001 - a behaviour's
        return Ending(0, SECOND if dispatch.process == 0 else 1, "info")

    at = times(
        gen.limit(40, gen.stagger(0.05, gen.on_clients(gen.repeat(READ)), seed=Seed(1))),
        behaviour=slow_first,
    )
    assert at[1] == SECOND
    assert 1 * SECOND < at[-1] - at[1] < 3 * SECOND


def test_other_seeds_stagger_otherwise():
    def at(number):
        return times(gen.limit(20, gen.stagger(0.05, gen.repeat(READ), seed=Seed(number))))

    assert at(1) == at(1) != at(2)


def test_the_end_of_what_is_paced_is_not_waited_for():
    run = dry_run(gen.sequence(gen.delay(10, READ), WRITE), clients=2)
    assert [(each.what.f, each.time) for each in run.dispatches] == [
        ("read", 0),
        ("write", 0),
    ]


@given(st.integers(0, 50), st.integers(1, 3), st.integers(0, 100))
def test_a_delay_is_kept_between_operations(milliseconds, clients, number):
    at = times(
        gen.limit(20, gen.delay(milliseconds / 1000, gen.on_clients(gen.repeat(READ)))),
        clients=clients,
        behaviour=imperfect,
        seed=Seed(number),
    )
    assert len(at) == 20
    assert all(later - earlier >= milliseconds * MILLISECOND for earlier, later in pairwise(at))


def test_a_delay_is_no_longer_than_asked_for():
    assert times(gen.limit(3, gen.delay(0.025, gen.repeat(READ)))) == [
        0,
        25 * MILLISECOND,
        50 * MILLISECOND,
    ]


def test_sleeping_gives_nothing_for_a_while():
    assert times(gen.sequence(gen.sleep(0.5), READ, gen.sleep(0.5), WRITE)) == [SECOND // 2, SECOND]
    assert times(gen.sequence(gen.sleep(0), READ)) == [0]


def test_each_process_sleeps_by_itself():
    generator = gen.on_clients(gen.each_process(gen.sequence(gen.sleep(0.5), READ)))
    assert times(generator, clients=3) == [SECOND // 2] * 3


def test_what_is_paced_may_itself_be_pending():
    ctx = Context.start(clients=1, time=5)
    _, paced = gen.delay(1, gen.sequence(READ, gen.sleep(2))).op(ctx)
    pending, paced = paced.op(Context.start(clients=1, time=6))
    assert pending == Pending(6 + 2 * SECOND)
    pending, _ = gen.delay(3, gen.sequence(READ, gen.sleep(2))).op(ctx)[1].op(ctx)
    assert pending == Pending(5 + 3 * SECOND)


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_impossible_durations_are_refused(seconds):
    for make in (gen.sleep, lambda duration: gen.time_limit(duration, READ)):
        with pytest.raises(ValueError, match="is impossible; give 0 or more"):
            make(seconds)
