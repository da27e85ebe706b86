"""Runs in a simulated world, from start to verdict."""

import gc
import re
import time
import weakref

import pytest

from rumpus.checker.history import History
from rumpus.harness.clients.workers import WorkerCrash
from rumpus.harness.simulated import run as sim_run
from rumpus.harness.simulated import workers as sim_workers
from rumpus.nemesis.registry import EVERYWHERE
from rumpus.results.history_file import read_history
from rumpus.simulation.kernel.errors import SimulationError
from rumpus.simulation.kernel.simulator import SECOND
from rumpus.simulation.loader.space import Space
from tests.harness.simulated_runs import CLIENTS
from tests.sampling import sampled


def history_of(directory) -> History:
    return read_history(directory.history, clients=CLIENTS)


def test_a_fair_lock_under_every_fault_that_docker_has_is_valid(simulate):
    simulated, directory, verdict = simulate(2)
    assert verdict.outcome == "valid", verdict.reasons
    assert 20 < simulated.virtual_seconds < 60
    struck = {op.value["kind"] for op in history_of(directory).events("nemesis", "start")}
    assert struck == set(EVERYWHERE)
    assert all((directory.nodes / node / "version-2").is_dir() for node in ("n1", "n2", "n3"))
    assert all((directory.clients / f"c{client}.log").stat().st_size for client in range(CLIENTS))


def test_a_fair_election_is_valid_and_a_single_server_will_do(simulate):
    _, _, verdict = simulate(
        3, workload="election", nodes=1, seconds=10.0, kinds=("client-pause", "client-partition")
    )
    assert verdict.outcome == "valid", verdict.reasons


@sampled(
    ("workload", "recipe", "kinds"),
    [
        ("lock", "no-recheck", EVERYWHERE),
        ("lock", "persistent-node", EVERYWHERE),
        ("election", "believes-after-lost", ("client-partition",)),  # long enough to expire
    ],
    of=3,
)
def test_recipes_with_mistakes_are_found_out(simulate, workload, recipe, kinds):
    outcomes = []
    for seed in range(8):
        _, _, verdict = simulate(seed, workload=workload, recipe=recipe, kinds=kinds)
        outcomes.append(verdict.outcome)
        if verdict.outcome == "violation":
            return
    pytest.fail(f"never found: {outcomes}")


def test_the_same_seed_gives_the_same_history_to_the_last_byte_and_another_does_not(simulate):
    (first, one, _), (again, two, _), (other, three, _) = (
        simulate(seed, seconds=8.0) for seed in (5, 5, 6)
    )
    assert (first.digest, first.virtual_seconds) == (again.digest, again.virtual_seconds)
    assert one.history.read_bytes() == two.history.read_bytes()
    assert (one.clients / "c0.log").read_bytes() == (two.clients / "c0.log").read_bytes()
    assert other.digest != first.digest
    assert three.history.read_bytes() != one.history.read_bytes()


def test_a_run_that_is_told_to_stop_heals_and_ends(simulate):
    asked = []

    def stop_requested():
        asked.append(None)
        return len(asked) > 600

    simulated, directory, _ = simulate(1, stop_requested=stop_requested)
    history = history_of(directory)
    assert simulated.virtual_seconds < 20
    assert [op.value["healed"] for op in history.events("control", "phase")] == [True]
    assert history.events("control", "end")
    assert not history.events("control", "phase-end")


def test_a_client_whose_module_cannot_be_loaded_ends_the_run_and_its_log_says_why(
    simulate, tmp_path
):
    with pytest.raises(WorkerCrash) as crash:
        simulate(1, build="tests.harness.no_such_module:build")
    (log,) = re.findall(r"clients/c\d\.log", str(crash.value))
    assert "no_such_module" in (tmp_path / "0" / log).read_text()


def test_worlds_leave_nothing_behind(simulate):
    def objects_after_a_run():
        simulate(2, seconds=1.0, kinds=())
        gc.collect()
        return len(gc.get_objects())

    objects_after_a_run()  # caches fill
    before = objects_after_a_run()
    for _ in range(2):
        after = objects_after_a_run()
    assert after - before < 200  # one world has twenty thousand


def test_garbage_is_collected_as_the_world_goes_on_and_nobody_in_it_notices(simulate, monkeypatch):
    collections = []

    def digest(period):
        monkeypatch.setattr(sim_run, "GARBAGE_PERIOD", period)
        simulated, _, _ = simulate(3, seconds=6.0, kinds=("kill", "client-kill"))
        return simulated.digest

    seldom = digest(1000 * SECOND)
    gc.callbacks.append(lambda phase, _: collections.append(phase))
    try:
        assert digest(SECOND // 2) == seldom
    finally:
        gc.callbacks.pop()
    assert len(collections) > 10


def test_a_process_that_has_died_holds_none_of_its_modules(simulate, monkeypatch):
    spaces = []

    class Watched(Space):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            spaces.append((self.process, weakref.ref(self)))

    kept = []
    collect = sim_run._collect

    def look():
        collect()
        kept.append([ref() is not None for process, ref in spaces if process.dead])

    monkeypatch.setattr(sim_workers, "Space", Watched)
    monkeypatch.setattr(sim_run, "_collect", look)
    monkeypatch.setattr(sim_run, "GARBAGE_PERIOD", SECOND)
    simulate(3, seconds=12.0, kinds=("client-kill",))
    assert kept[-2]  # the last time is after the end of the world
    assert not any(kept[-2])


def test_the_collector_is_left_as_it_was(simulate):
    assert gc.isenabled()
    simulate(2, seconds=0.5, kinds=())
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("leaks_are_shared")
def test_ctrl_c_that_strikes_in_a_client_ends_the_run_at_once_and_the_guards_with_it(simulate):
    clock = time.time
    with pytest.raises(KeyboardInterrupt):
        simulate(1, build="tests.harness.leaky_client:from_keyboard")
    assert time.time is clock
    assert gc.isenabled()


def test_a_client_that_never_waits_ends_the_run_with_the_place(simulate, monkeypatch):
    monkeypatch.setattr(sim_run, "HANG_PATIENCE_S", 1.0)
    with pytest.raises(SimulationError, match=r"invoke computes for ever .*leaky_client.py:\d+"):
        simulate(1, build="tests.harness.leaky_client:busy", kinds=())
