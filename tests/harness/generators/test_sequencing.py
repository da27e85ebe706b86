"""Each combinator by itself; what holds for all of them together is in test_combinators."""

from rumpus.harness.generators import combinators as gen
from rumpus.harness.generators.generator import NEMESIS, NOTHING, Invocation
from tests.harness.generators.dry_run import MILLISECOND, Ending, Kill, dry_run

READ, WRITE, CAS = Invocation("read"), Invocation("write"), Invocation("cas")


def dispatched(generator, **options):
    options.setdefault("clients", 1)
    options.setdefault("nemesis", False)
    return [each.what.f for each in dry_run(generator, **options).dispatches]


def test_a_sequence_is_gone_through_in_order():
    assert dispatched(gen.sequence(READ, gen.limit(2, gen.repeat(WRITE)), READ)) == [
        "read",
        "write",
        "write",
        "read",
    ]
    assert dispatched(gen.sequence()) == []
    assert dispatched(gen.sequence(NOTHING, NOTHING, READ)) == ["read"]


def test_a_sequence_does_not_wait_for_completions():
    run = dry_run(gen.sequence(READ, WRITE), clients=2)
    assert [each.time for each in run.dispatches] == [0, 0]


def test_synchronized_generators_wait_for_completions():
    run = dry_run(gen.sequence(READ, gen.synchronize(WRITE)), clients=2)
    assert [each.time for each in run.dispatches] == [0, 10 * MILLISECOND]


def test_synchronizing_clients_does_not_wait_for_the_nemesis():
    generator = gen.any_of(
        gen.on_nemesis(Invocation("start")), gen.on_clients(gen.phases(READ, WRITE))
    )

    def slow_nemesis(dispatch, seed):  # noqa: ARG001 - a behaviour's
        return Ending(0, (100 if dispatch.thread == NEMESIS else 1) * MILLISECOND, "info")

    run = dry_run(generator, clients=2, behaviour=slow_nemesis)
    assert [(each.what.f, each.time) for each in run.dispatches] == [
        ("start", 0),
        ("read", 0),
        ("write", MILLISECOND),
    ]


def test_synchronizing_does_not_wait_for_a_client_that_is_away():
    run = dry_run(
        gen.phases(gen.limit(2, gen.repeat(READ)), WRITE),
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
    assert dispatched(gen.limit(3, gen.repeat(READ))) == ["read"] * 3
    assert dispatched(gen.limit(3, READ)) == ["read"]
    assert dispatched(gen.limit(0, READ)) == []
    assert dispatched(gen.limit(1, gen.sequence(READ, WRITE))) == ["read"]


def test_repeating_never_moves_on():
    assert dispatched(gen.repeat(gen.sequence(READ, WRITE), 3)) == ["read"] * 3
    assert dispatched(gen.repeat(NOTHING)) == []


def test_a_cycle_begins_again():
    assert dispatched(gen.cycle(gen.sequence(READ, WRITE), 2)) == ["read", "write"] * 2
    assert dispatched(gen.limit(5, gen.cycle(gen.sequence(READ, WRITE)))) == [
        "read",
        "write",
        "read",
        "write",
        "read",
    ]
    assert dispatched(gen.cycle(READ, 0)) == []


def test_a_cycle_without_operations_ends():
    assert dispatched(gen.cycle(NOTHING)) == []
    assert dispatched(gen.cycle(lambda number: READ if number < 2 else NOTHING)) == ["read"] * 2


def test_a_cycle_can_make_each_round():
    run = dry_run(gen.cycle(lambda number: Invocation("write", number), 3), clients=1)
    assert [each.what.value for each in run.dispatches] == [0, 1, 2]


def test_any_of_several_is_the_soonest():
    generator = gen.any_of(
        gen.sequence(gen.sleep(0.5), READ), gen.sequence(gen.sleep(0.2), WRITE), CAS
    )
    run = dry_run(generator, clients=1)
    assert [(each.what.f, each.time // MILLISECOND) for each in run.dispatches] == [
        ("cas", 0),
        ("write", 200),
        ("read", 500),
    ]
    assert dispatched(gen.any_of()) == []


def test_any_of_several_take_turns():
    generator = gen.limit(90, gen.any_of(gen.repeat(READ), gen.repeat(WRITE), gen.repeat(CAS)))
    assert dispatched(generator) == ["read", "write", "cas"] * 30
