"""Elections: who observes, and whole runs in the simulation."""

from rumpus.checker.timeline.timeline import Timeline
from rumpus.recipes.election.contest_election import FairElection
from rumpus.workloads.contests.election import ELECTION, LEAST_OBSERVATIONS
from tests.checker.recorded import Recorded
from tests.workloads.dry_runs import DryRuns


def test_one_client_observes_and_the_others_campaign():
    load = DryRuns(ELECTION, clients=4, until=10**9, recipe=FairElection).load()
    done = {(what.thread, what.f) for _, what, _ in load.dispatches}
    assert {thread for thread, f in done if f in ("observe", "reconnect")} == {3}
    assert {thread for thread, f in done if f == "campaign"} == {0, 1, 2}


def observed(epoch, count):
    recorded = Recorded()
    recorded.add(1, 0, "invoke", "campaign").add(2, 0, "ok", "campaign", {"token": 7})
    recorded.add(3, 0, "invoke", "lead")
    for number in range(count):
        recorded.add(10 + 2 * number, 2, "invoke", "observe")
        seen = {"epoch": epoch, "name": "c0", "acknowledged": True}
        recorded.add(11 + 2 * number, 2, "ok", "observe", seen)
    history = recorded.end(900).history()
    return ELECTION.judge(Timeline(history=history, promises=FairElection.promises))


def test_observations_take_part_in_the_verdict():
    assert {a.kind for a in observed(8, 1).anomalies} == {"false-acknowledgement"}
    for count in (LEAST_OBSERVATIONS - 1, LEAST_OBSERVATIONS):
        (need,) = (
            need
            for check in observed(7, count).checks
            for need in check.requirements
            if "observed" in need.name
        )
        assert need.met == (count == LEAST_OBSERVATIONS)


def test_a_sound_election_in_the_simulation(simulate):
    _, _, verdict = simulate(2, workload="election", kinds=("client-partition",), seconds=8.0)
    assert verdict.outcome == "valid", verdict.reasons
