"""Faults with a kazoo client of their own, in runs on simulated servers."""

from unittest.mock import patch

import pytest
from kazoo.exceptions import NoNodeError
from msgspec.structs import replace

from rumpus.checker.history import History
from rumpus.checker.timeline.coherence import contradictions
from rumpus.nemesis.client_fault import ClientFault
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.registry import FAULTS
from rumpus.results.history_file import read_history
from rumpus.results.record_values import check_records
from rumpus.runs.run_files import server_truth
from tests.harness.simulated_runs import CLIENTS, SimulatedRuns

NODES = 3


class Scribble(ClientFault):
    """Creates a znode beside those of the recipe, and sees that it cannot be deleted twice."""

    kind = "scribble"
    summary = "a znode is created and deleted"
    works_on = "znodes"

    def inject(self):
        zookeeper = self.context.kazoo
        zookeeper.create("/scribble", b"1")
        zookeeper.delete("/scribble")
        try:
            zookeeper.delete("/scribble")
        except NoNodeError:
            self.refused = True

    def in_force(self):
        return Finding(self.refused, "created and deleted")

    def heal(self):
        pass


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same run twice."""
    simulate = SimulatedRuns(tmp_path_factory.mktemp("runs"))
    with patch.dict(FAULTS, {Scribble.kind: Scribble}):
        yield [simulate(3, kinds=("scribble",), seconds=5.0) for _ in range(2)]


def record_of(run):
    history = read_history(run[1].history, clients=CLIENTS)
    truth, _ = server_truth(run[1], NODES)
    return history, truth


def test_a_fault_changes_znodes_and_the_run_is_judged(runs):
    _, _, verdict = runs[0]
    assert verdict.outcome == "valid", verdict.reasons
    history, truth = record_of(runs[0])
    check_records(history)
    assert list(contradictions(history, truth=truth)) == []
    [session] = {
        session for op in history.events("nemesis") for session in op.value.get("sessions", ())
    }
    assert session not in history.clients_of_sessions()
    assert truth.sessions()[session].closed_ms is not None


def test_the_seed_decides_what_it_does(runs):
    first, second = (simulated.digest for simulated, _, _ in runs)
    assert first == second


def test_a_session_that_no_record_names_is_a_contradiction(runs):
    history, truth = record_of(runs[0])
    silent = [
        replace(op, value={k: v for k, v in op.value.items() if k != "sessions"})
        if op.process == "nemesis"
        else op
        for op in history
    ]
    [told] = contradictions(History(silent, clients=CLIENTS), truth=truth)
    assert "made changes by the servers' logs, but is not in the history" in told
