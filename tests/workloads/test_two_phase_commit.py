"""Verdicts on transactions: hand-written histories, the load, and whole simulated runs."""

import pytest

from rumpus.checker.families.commitments import check_commitments
from rumpus.checker.timeline.timeline import Timeline
from rumpus.recipes.two_phase_commit.catalogue import TWO_PHASE_COMMITS
from rumpus.recipes.two_phase_commit.transaction_nodes import PeerCommit
from rumpus.workloads.two_phase_commit import PARTICIPANTS, TWO_PHASE_COMMIT
from tests.checker.families.transactions import Transactions
from tests.checker.laid_out import laid_out
from tests.harness.generators.dry_run import MILLISECOND, perfect
from tests.sampling import sampled
from tests.workloads.dry_runs import DryRuns

SECOND = 1000 * MILLISECOND
DRY = DryRuns(TWO_PHASE_COMMIT, clients=5, until=3 * SECOND, recipe=PeerCommit)
NAMES = [f"c{client}" for client in range(5)]


def kinds(recorded, **more):
    evidence = Timeline(recorded.history(), promises=PeerCommit.promises, path="/p", **more)
    return {anomaly.kind for anomaly in TWO_PHASE_COMMIT.judge(evidence).anomalies}


def test_a_commit_by_all_is_right():
    assert kinds(Transactions().begun().vote(10, 0).vote(20, 1).decide(30, 2, "commit")) == set()


def test_a_vote_of_unknown_outcome_may_have_been_cast():
    recorded = Transactions().begun().vote(10, 0).vote(20, 1, outcome="info")
    assert kinds(recorded.decide(30, 2, "commit")) == set()


@pytest.mark.parametrize(
    "second", [None, ("yes", "fail", 20), ("no", "ok", 20), ("yes", "ok", 50)], ids=str
)
def test_a_commit_without_everybodys_yes(second):
    recorded = Transactions().begun().vote(10, 0)
    if second is not None and second[2] < 30:
        recorded.vote(second[2], 1, *second[:2])
    recorded.decide(30, 2, "commit")
    if second is not None and second[2] > 30:
        recorded.vote(second[2], 1, *second[:2])
    assert kinds(recorded) == {"invalid-commit"}


def test_two_decisions():
    recorded = Transactions().begun().vote(10, 0).vote(20, 1)
    assert kinds(recorded.decide(30, 2, "commit").decide(40, 1, "abort")) == {"two-decisions"}


def test_two_decisions_of_which_the_second_is_told_in_the_end():
    recorded = Transactions().begun().vote(10, 0).vote(20, 1).decide(30, 2, "commit")
    assert kinds(recorded.outcomes(50, 0, {"t": "abort"})) == {"two-decisions"}


def test_a_coordinator_that_died_stays_dead():
    def dead(recorded):
        stats = check_commitments(laid_out(recorded.history())).stats
        return stats["coordinators dead to the end"]

    assert (dead(Transactions().begun()), dead(Transactions().begun(site="c0-t"))) == (0, 1)
    calls = [operation.invoke for operation in DRY.load().history.operations()]
    begun = [call.value for call in calls if call.f == "begin"]
    doomed = {value["key"]: value["site"] for value in begun if value["site"] not in NAMES}
    assert {value["key"] for value in begun if value["writes"] is not None} < set(doomed)
    abandoned = {call.value["key"]: call.value["site"] for call in calls if call.f == "abandon"}
    assert abandoned.items() < doomed.items()


def test_some_decisions_are_asked_for_only_once_every_vote_was_answered():
    recorded = DRY.load().history
    votes, decides = {}, {}
    for operation in recorded.operations():
        if operation.invoke.f == "vote":
            votes.setdefault(operation.invoke.value["key"], []).append(operation.completion.time)
        elif operation.invoke.f == "decide":
            decides.setdefault(operation.invoke.value["key"], operation.invoke.time)
    late = [key for key, at in decides.items() if at >= max(votes[key])]
    assert len(late) > 3


def test_an_abort_although_all_had_voted_yes():
    recorded = Transactions().begun().vote(10, 0).vote(20, 1).decide(30, 2, "abort")
    assert kinds(recorded) == {"not-linearizable"}


def test_the_load_asks_every_participant_for_its_vote_and_for_the_decision():
    calls = [operation.invoke for operation in DRY.load().history.operations()]
    begun = {call.value["key"]: call for call in calls if call.f == "begin"}
    assert len(begun) > 20
    for f in ("vote", "decide"):
        asked = [call for call in calls if call.f == f and call.value["key"] == "t00003"]
        participants = begun["t00003"].value["participants"]
        assert len(participants) == PARTICIPANTS
        assert {f"c{call.process % 5}" for call in asked} >= set(participants)
    assert {call.value["value"] for call in calls if call.f == "vote"} == {"yes", "no"}
    assert any(call.f == "abandon" for call in calls)
    assert any(call.value["writes"] is not None for call in begun.values())


def test_a_coordinator_that_is_lost_while_it_begins_is_voted_on_all_the_same():
    def lost(what, seed):
        outcome = perfect(what, seed)
        return outcome._replace(type="info") if what.f == "begin" else outcome

    calls = [operation.invoke for operation in DRY.load(lost).history.operations()]
    assert sum(call.f == "vote" for call in calls) > 20


@sampled("name", ["peer", "coordinated"], of=2)
def test_sound_recipes_keep_their_promises_under_faults(simulate, name):
    _, _, verdict = simulate(3, workload="two-phase-commit", recipe=name, seconds=15.0)
    assert not verdict.anomalies
    assert verdict.outcome != "unknown", verdict.reasons


@sampled(
    ("name", "seed", "seconds"),
    [
        ("piecemeal", 1, 12.0),
        ("one-by-one", 1, 12.0),
        ("aborts-alone", 1, 4.0),
        ("exists-is-mine", 1, 6.0),
        ("waits-for-coordinator", 1, 4.0),
        ("needs-presence", 1, 4.0),
        ("overwrites", 2, 12.0),
    ],
    of=6,
)
def test_mistakes_are_found(simulate, name, seed, seconds):
    _, _, verdict = simulate(
        seed, workload="two-phase-commit", recipe=name, seconds=seconds, kinds=()
    )
    assert verdict.outcome == "violation"
    found = {anomaly.kind for anomaly in verdict.anomalies if anomaly.promised}
    assert found & TWO_PHASE_COMMITS[name].expected


class LivingSites:
    """Sites that do not die."""

    def named(self, name, writes):
        del name, writes
        return self

    def decide(self, key, timeout, patience):
        del key, timeout, patience
        return "commit"


def test_a_site_that_lives_to_the_end_has_answered_and_told_nothing():
    abandon = TWO_PHASE_COMMIT.operations["abandon"]
    outcome = abandon.perform(LivingSites(), {"key": "t0", "site": "c0-t0", "writes": 1})
    assert (outcome.type, outcome.value) == ("ok", None)
