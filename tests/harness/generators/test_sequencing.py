"""Each combinator by itself; what holds for all of them together is in test_combinators."""

from rumpus.harness.generators.combinators import (
    any_of,
    cycle,
    limit,
    on_clients,
    on_nemesis,
    phases,
    repeat,
    sequence,
    sleep,
    synchronize,
)
from rumpus.harness.generators.dry_run import MILLISECOND, Kill, Outcome, dry_run
from rumpus.harness.generators.generator import NEMESIS, NOTHING, Invocation

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
    assert dispatched(limit(1, sequence(READ, WRITE))) == ["read"]


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
