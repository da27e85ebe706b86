import pytest

from rumpus.harness.generators.combinators import on_clients
from rumpus.harness.generators.dry_run import perfect, rehearse
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.read_write.catalogue import READ_WRITE_LOCKS
from rumpus.workloads.contests.read_write import BUSY_S, LEARNING_S, READ_WRITE
from tests.harness.simulated_runs import SimulatedRuns

CLIENTS = 3


def rehearse_load(recipe, behaviour=perfect):
    setting = WorkloadContext(
        seed=Seed(1),
        recipe=READ_WRITE_LOCKS[recipe].recipe,
        clients=CLIENTS,
        session_timeout=2.0,
        until=2_000_000_000,
    )
    return rehearse(
        on_clients(READ_WRITE.load_of(setting)), clients=CLIENTS, nemesis=False, behaviour=behaviour
    )


def in_vain(what, seed):
    """Nobody is ever granted."""
    outcome = perfect(what, seed)
    return outcome._replace(type="fail") if what.f == "acquire" else outcome


def operations_of(rehearsal, client):
    return [what for _, what, _ in rehearsal.dispatches if what.thread == client]


def test_both_modes_are_asked_for_in_the_end_too():
    asked = {
        what.value["mode"] for _, what, _ in rehearse_load("fair").dispatches if what.f == "acquire"
    }
    assert asked == set(READ_WRITE.modes)
    setting = WorkloadContext(
        seed=Seed(1), recipe=READ_WRITE_LOCKS["fair"].recipe, clients=CLIENTS, session_timeout=2.0
    )
    last = rehearse(on_clients(READ_WRITE.final_of(setting)), clients=CLIENTS, nemesis=False)
    modes = {}
    for _, what, _ in last.dispatches:
        if what.f == "acquire":
            modes.setdefault(what.thread, what.value["mode"])
    assert modes == {0: "read", 1: "write", 2: "read"}


def test_who_holds_works_until_asked_and_who_waits_in_vain_asks():
    names = [what.f for what in operations_of(rehearse_load("revocable"), 1)]
    assert names == ["acquire", "work", "release"] * (len(names) // 3)
    names = [what.f for what in operations_of(rehearse_load("revocable", in_vain), 1)]
    assert names[:4] == ["acquire", "revoke", "acquire", "revoke"]


def test_somebody_only_ever_writes_so_that_somebody_is_left_to_ask():
    rehearsal = rehearse_load("revocable")
    modes = [
        {w.value["mode"] for w in operations_of(rehearsal, client) if w.f == "acquire"}
        for client in range(CLIENTS)
    ]
    assert modes == [{"write"}, set(READ_WRITE.modes), set(READ_WRITE.modes)]
    heeds = {w.value["heeds"] for w in operations_of(rehearsal, 1) if w.f == "work"}
    assert heeds == {True, False}


def test_some_holders_are_busy_before_they_look_whether_they_were_asked():
    works = [w.value for w in operations_of(rehearse_load("revocable"), 1) if w.f == "work"]
    assert {work["busy"] for work in works} == {0.0, BUSY_S}
    assert all(work["bound"] > BUSY_S + LEARNING_S for work in works)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return SimulatedRuns(tmp_path_factory.mktemp("read-write"))


@pytest.mark.parametrize(("name", "seconds"), [("fair", 5.0), ("revocable", 12.0)])
def test_ours_keep_their_promises(simulated, name, seconds):
    _, _, verdict = simulated(
        1, workload="read-write", recipe=name, seconds=seconds, kinds=["client-partition"]
    )
    assert verdict.outcome == "valid", verdict.reasons


@pytest.mark.parametrize(
    ("name", "seed", "seconds"),
    [
        ("barging-readers", 0, 1.0),
        ("mislabelled-writer", 0, 1.0),
        ("writer-among-readers", 0, 1.0),
        ("hasty-writer", 0, 3.0),
        ("notified-only", 0, 15.0),
    ],
)
def test_mutants_are_found_without_any_fault(simulated, name, seed, seconds):
    _, _, verdict = simulated(seed, workload="read-write", recipe=name, seconds=seconds, kinds=())
    assert verdict.outcome == "violation"
    found = {anomaly.kind for anomaly in verdict.anomalies if anomaly.promised}
    assert found & READ_WRITE_LOCKS[name].expected
