import pytest

from rumpus.harness.generators import combinators as gen
from rumpus.harness.generators.generator import NEMESIS, Invocation
from rumpus.harness.generators.seed import Seed
from tests.harness.generators.dry_run import MILLISECOND, Kill, dry_run, imperfect


def test_perfect_workers_take_10_ms_and_succeed():
    run = dry_run(
        gen.sequence(
            gen.on_clients(gen.limit(3, gen.repeat(Invocation("read")))),
            gen.on_nemesis(Invocation("start")),
        ),
        clients=2,
    )
    assert [(at, what.f, what.thread) for at, what, _ in run.dispatches] == [
        (0, "read", 0),
        (0, "read", 1),
        (10 * MILLISECOND, "read", 0),
        (10 * MILLISECOND, "start", NEMESIS),
    ]
    assert [op.type for op in run.history if op.process == NEMESIS] == ["invoke", "info"]
    assert {pair.outcome for pair in run.history.operations()} == {"ok"}
    assert run.end == 20 * MILLISECOND


def test_imperfect_workers_end_in_every_way():
    run = dry_run(
        gen.on_clients(gen.limit(60, gen.repeat(Invocation("read")))),
        clients=3,
        behaviour=imperfect,
    )
    outcomes = [pair.outcome for pair in run.history.operations()]
    assert {outcome: outcomes.count(outcome) > 10 for outcome in outcomes} == {
        "ok": True,
        "fail": True,
        "info": True,
    }


def test_the_seed_decides_how_they_end():
    def outcomes(seed):
        generator = gen.limit(20, gen.repeat(Invocation("read")))
        return list(dry_run(generator, clients=2, behaviour=imperfect, seed=seed).history)

    assert outcomes(Seed(1)) == outcomes(Seed(1)) != outcomes(Seed(2))


def test_a_killed_client_is_away_for_a_while():
    run = dry_run(
        gen.on_threads({0}, gen.limit(2, gen.repeat(Invocation("read")))),
        clients=2,
        kills=[Kill(5 * MILLISECOND, 0, 30 * MILLISECOND), Kill(6 * MILLISECOND, 0, 1)],
    )
    assert [(op.time // MILLISECOND, op.process, op.type) for op in run.history] == [
        (0, 0, "invoke"),
        (5, 0, "info"),
        (35, 2, "invoke"),
        (45, 2, "ok"),
    ]


def test_it_stops_at_a_time_or_after_so_many_operations():
    forever = gen.on_clients(gen.repeat(Invocation("read")))
    assert dry_run(forever, clients=2, stop_at=25 * MILLISECOND).end == 30 * MILLISECOND
    assert len(dry_run(forever, clients=2, most=7).dispatches) == 7


def test_waiting_for_nothing_is_an_error():
    with pytest.raises(RuntimeError, match=r"none is to come; open: \[\], away: \['0'\]"):
        dry_run(
            gen.on_threads({0}, gen.limit(2, gen.repeat(Invocation("read")))),
            clients=1,
            kills=[Kill(5 * MILLISECOND, 0, None)],
        )
