"""Each combinator by itself; what holds for all of them together is in test_combinators."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rumpus.harness.generators.combinators import (
    any_of,
    cycle,
    limit,
    mix,
    on_clients,
    on_nemesis,
    on_threads,
    once,
    phases,
    repeat,
    sequence,
    sleep,
    synchronize,
    unfold,
    until_ok,
)
from rumpus.harness.generators.dry_run import MILLISECOND, Kill, Outcome, dry_run, imperfect
from rumpus.harness.generators.generator import NEMESIS, NOTHING, Invocation
from rumpus.harness.generators.seed import Seed

READ, WRITE, CAS = Invocation("read"), Invocation("write"), Invocation("cas")


def dispatched(generator, **options):
    options.setdefault("clients", 1)
    options.setdefault("nemesis", False)
    return [each.what.f for each in dry_run(generator, **options).dispatches]


def test_a_sequence_is_gone_through_in_order():
    assert dispatched(sequence(READ, limit(2, repeat(WRITE)), READ)) == [
        "read",
        "write",
        "write",
        "read",
    ]
    assert dispatched(sequence()) == []
    assert dispatched(sequence(NOTHING, NOTHING, READ)) == ["read"]


def test_a_sequence_does_not_wait_for_completions():
    run = dry_run(sequence(READ, WRITE), clients=2)
    assert [each.time for each in run.dispatches] == [0, 0]


def test_synchronized_generators_wait_for_completions():
    run = dry_run(sequence(READ, synchronize(WRITE)), clients=2)
    assert [each.time for each in run.dispatches] == [0, 10 * MILLISECOND]


def test_synchronizing_clients_does_not_wait_for_the_nemesis():
    generator = any_of(on_nemesis(Invocation("start")), on_clients(phases(READ, WRITE)))

    def slow_nemesis(dispatch, seed):  # noqa: ARG001 - a behaviour's
        return Outcome(0, (100 if dispatch.thread == NEMESIS else 1) * MILLISECOND, "info")

    run = dry_run(generator, clients=2, behaviour=slow_nemesis)
    assert [(each.what.f, each.time) for each in run.dispatches] == [
        ("start", 0),
        ("read", 0),
        ("write", MILLISECOND),
    ]


def test_synchronizing_does_not_wait_for_a_client_that_is_away():
    run = dry_run(
        phases(limit(2, repeat(READ)), WRITE),
        clients=2,
        nemesis=False,
        kills=[Kill(5 * MILLISECOND, 0, None)],
    )
    assert [(each.what.f, each.what.thread, each.time) for each in run.dispatches] == [
        ("read", 0, 0),
        ("read", 1, 0),
        ("write", 1, 10 * MILLISECOND),
    ]


def test_limits():
    assert dispatched(limit(3, repeat(READ))) == ["read"] * 3
    assert dispatched(limit(3, READ)) == ["read"]
    assert dispatched(limit(0, READ)) == []
    assert dispatched(once(sequence(READ, WRITE))) == ["read"]


def test_repeating_never_moves_on():
    assert dispatched(repeat(sequence(READ, WRITE), 3)) == ["read"] * 3
    assert dispatched(repeat(NOTHING)) == []


def test_a_cycle_begins_again():
    assert dispatched(cycle(sequence(READ, WRITE), 2)) == ["read", "write"] * 2
    assert dispatched(limit(5, cycle(sequence(READ, WRITE)))) == [
        "read",
        "write",
        "read",
        "write",
        "read",
    ]
    assert dispatched(cycle(READ, 0)) == []


def test_a_cycle_without_operations_ends():
    assert dispatched(cycle(NOTHING)) == []
    assert dispatched(cycle(lambda number: READ if number < 2 else NOTHING)) == ["read"] * 2


def test_a_cycle_can_make_each_round():
    run = dry_run(cycle(lambda number: Invocation("write", number), 3), clients=1)
    assert [each.what.value for each in run.dispatches] == [0, 1, 2]


def test_a_mix_draws_all_alike():
    generator = limit(3000, mix(repeat(READ), repeat(WRITE), repeat(CAS), seed=Seed(1)))
    counts = Counter(dispatched(generator))
    assert set(counts) == {"read", "write", "cas"}
    assert all(900 < count < 1100 for count in counts.values())


def test_a_mix_ends_when_all_of_it_has_ended():
    generator = mix(limit(5, repeat(READ)), WRITE, NOTHING, seed=Seed(1))
    assert Counter(dispatched(generator)) == {"read": 5, "write": 1}
    assert dispatched(mix(seed=Seed(1))) == []


def test_a_mix_draws_the_same_whoever_is_ready():
    def behaviour(slow):
        return lambda dispatch, seed: Outcome(  # noqa: ARG005 - a behaviour's
            0, 100 if dispatch.f == slow else 1, "ok"
        )

    reads, writes = on_threads({0}, repeat(READ)), on_threads({1}, repeat(WRITE))
    generator = limit(100, mix(reads, writes, seed=Seed(4)))
    one = dispatched(generator, clients=2, behaviour=behaviour("read"))
    other = dispatched(generator, clients=2, behaviour=behaviour("write"))
    assert one == other
    assert 30 < one.count("read") < 70


def test_any_of_several_is_the_soonest():
    generator = any_of(sequence(sleep(0.5), READ), sequence(sleep(0.2), WRITE), CAS)
    run = dry_run(generator, clients=1)
    assert [(each.what.f, each.time // MILLISECOND) for each in run.dispatches] == [
        ("cas", 0),
        ("write", 200),
        ("read", 500),
    ]
    assert dispatched(any_of()) == []


def test_any_of_several_take_turns():
    generator = limit(90, any_of(repeat(READ), repeat(WRITE), repeat(CAS)))
    assert dispatched(generator) == ["read", "write", "cas"] * 30


@given(st.integers(1, 4), st.integers(0, 1000))
def test_until_ok_ends_with_the_first_ok(clients, number):
    run = dry_run(until_ok(repeat(READ)), clients=clients, behaviour=imperfect, seed=Seed(number))
    first = min(op.time for op in run.history if op.type == "ok")
    assert all(each.time <= first for each in run.dispatches)
    assert [op.type for op in run.history if op.time < first].count("ok") == 0


def test_until_ok_minds_its_own_operations_only():
    def reads_succeed(dispatch, seed):  # noqa: ARG001 - a behaviour's
        return Outcome(0, 1, "ok" if dispatch.f == "read" else "fail")

    generator = any_of(limit(20, repeat(READ)), until_ok(limit(10, repeat(WRITE))))
    counts = Counter(dispatched(generator, behaviour=reads_succeed))
    assert counts == {"read": 20, "write": 10}


def test_until_ok_does_not_take_a_clean_up_for_success():
    def acquires_end_unknown(dispatch, seed):  # noqa: ARG001 - a behaviour's
        return Outcome(0, 1, "info" if dispatch.f == "acquire" else "ok")

    generator = until_ok(limit(3, repeat(Invocation("acquire"))))
    assert (
        dispatched(generator, cleanup={"acquire": "release"}, behaviour=acquires_end_unknown)
        == ["acquire", "release"] * 3
    )


def test_unfolding_draws_values_from_a_seed():
    def write(seed, ctx):
        value, seed = seed.below(10)
        return Invocation("write", (value, ctx.time)), seed

    run = dry_run(limit(50, unfold(write, Seed(2))), clients=1)
    values = [each.what.value[0] for each in run.dispatches]
    assert set(values) == set(range(10))
    assert [each.what.value[1] for each in run.dispatches] == [each.time for each in run.dispatches]


def test_unfolding_goes_through_generators_and_ends():
    def countdown(left, ctx):  # noqa: ARG001 - a step's
        return (sequence(Invocation("a", left), Invocation("b", left)), left - 1) if left else None

    run = dry_run(unfold(countdown, 2), clients=1)
    assert [(each.what.f, each.what.value) for each in run.dispatches] == [
        ("a", 2),
        ("b", 2),
        ("a", 1),
        ("b", 1),
    ]
    assert dispatched(unfold(lambda state, ctx: (NOTHING, state), 0)) == []  # noqa: ARG005 - a step's
