import pytest

from rumpus.recipes.read_write.catalogue import READ_WRITE_LOCKS
from rumpus.workloads.contests.read_write import BUSY_S, LEARNING_S, READ_WRITE
from tests.harness.generators.dry_run import perfect
from tests.workloads.dry_runs import DryRuns

CLIENTS = 3


def dry_runs(recipe):
    return DryRuns(READ_WRITE, CLIENTS, 2 * 10**9, READ_WRITE_LOCKS[recipe].recipe)


def in_vain(what, seed):
    """Nobody is ever granted."""
    outcome = perfect(what, seed)
    return outcome._replace(type="fail") if what.f == "acquire" else outcome


def operations_of(run, client):
    return [what for _, what, _ in run.dispatches if what.thread == client]


def test_both_modes_are_asked_for_in_the_end_too():
    asked = {
        what.value["mode"]
        for _, what, _ in dry_runs("fair").load().dispatches
        if what.f == "acquire"
    }
    assert asked == set(READ_WRITE.modes)
    last = dry_runs("fair").final()
    modes = {}
    for _, what, _ in last.dispatches:
        if what.f == "acquire":
            modes.setdefault(what.thread, what.value["mode"])
    assert modes == {0: "read", 1: "write", 2: "read"}


def test_who_holds_works_until_asked_and_who_waits_in_vain_asks():
    names = [what.f for what in operations_of(dry_runs("revocable").load(), 1)]
    assert names == ["acquire", "work", "release"] * (len(names) // 3)
    names = [what.f for what in operations_of(dry_runs("revocable").load(in_vain), 1)]
    assert names[:4] == ["acquire", "revoke", "acquire", "revoke"]


def test_somebody_only_ever_writes_so_that_somebody_is_left_to_ask():
    run = dry_runs("revocable").load()
    modes = [
        {w.value["mode"] for w in operations_of(run, client) if w.f == "acquire"}
        for client in range(CLIENTS)
    ]
    assert modes == [{"write"}, set(READ_WRITE.modes), set(READ_WRITE.modes)]
    heeds = {w.value["heeds"] for w in operations_of(run, 1) if w.f == "work"}
    assert heeds == {True, False}


def test_some_holders_are_busy_before_they_look_whether_they_were_asked():
    works = [w.value for w in operations_of(dry_runs("revocable").load(), 1) if w.f == "work"]
    assert {work["busy"] for work in works} == {0.0, BUSY_S}
    assert all(work["bound"] > BUSY_S + LEARNING_S for work in works)


@pytest.mark.parametrize(("name", "seconds"), [("fair", 5.0), ("revocable", 12.0)])
def test_ours_keep_their_promises(simulate, name, seconds):
    _, _, verdict = simulate(
        1, workload="read-write", recipe=name, seconds=seconds, kinds=["client-partition"]
    )
    assert verdict.outcome == "valid", verdict.reasons
