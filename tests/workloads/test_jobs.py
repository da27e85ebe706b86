"""Verdicts on jobs: hand-written histories, the load, and whole simulated runs."""

import pytest

from rumpus.checker.families.job_effects import check_job_effects, effect_makers
from rumpus.recipes.jobs.catalogue import BOARDS
from rumpus.recipes.jobs.job_queue import Jobs
from rumpus.workloads.jobs import JOBS
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded
from tests.harness.generators.dry_run import MILLISECOND
from tests.sampling import sampled
from tests.workloads.dry_runs import DryRuns

SECOND = 1000 * MILLISECOND


class Board(Recorded):
    """Jobs of c0."""

    def operation(self, ms, process, outcome, f, answer):
        return self.add(ms, process, "invoke", f, answer).add(ms + 5, process, outcome, f, answer)

    def submit(self, ms, key="j", outcome="ok"):
        return self.operation(ms, 0, outcome, "submit", {"key": key, "timeout": 1})

    def final(self, *, healed=True):
        return self.add(50, "control", "info", "phase", {"phase": "final", "healed": healed})

    def collect(self, *, told=(), untold=()):
        answer = {"told": list(told), "untold": list(untold)}
        return self.operation(60, 0, "ok", "collect", answer)

    def audit(self, effects, left=()):
        return self.operation(70, 0, "ok", "audit", {"effects": effects, "left": list(left)})

    def did(self, ms, process, f, **answer):
        """An acknowledged operation of any client."""
        return self.add(ms, process, "invoke", f, {}).add(ms + 5, process, "ok", f, answer)


def kinds(recorded, effects=None):
    makers = {key: [None] * count for key, count in effects.items()} if effects else None
    return [
        each.kind
        for each in check_job_effects(
            laid_out(recorded.history(), parts=[(effect_makers, makers)])
        ).anomalies
    ]


def test_an_effect_for_each_job():
    recorded = Board().submit(10).final().collect(told=["j"]).audit({"j": 1})
    assert kinds(recorded, {"j": 1}) == []


@pytest.mark.parametrize("left", [["j"], []], ids=["on the board", "gone"])
def test_a_job_without_effect_is_lost(left):
    assert kinds(Board().submit(10).final().audit({}, left)) == ["lost-job"]


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_a_job_that_was_not_acknowledged_need_not_be_done(outcome):
    assert kinds(Board().submit(10, outcome=outcome).final().audit({})) == []


def test_an_effect_that_only_the_servers_know_of_counts():
    assert kinds(Board().submit(10).final().audit({}), {"j": 1}) == []


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_an_effect_that_comes_twice(outcome):
    recorded = Board().submit(10, outcome=outcome).final()
    assert kinds(recorded.audit({"j": 2})) == ["repeated-effect"]
    assert kinds(Board().submit(10, outcome=outcome), {"j": 2}) == ["repeated-effect"]


def test_a_submitter_that_never_learned_that_it_was_done():
    recorded = Board().submit(10).final().collect(untold=["j"]).audit({"j": 1})
    assert kinds(recorded) == ["unnotified-submitter"]


def test_a_submitter_of_a_lost_job_has_nothing_to_learn():
    recorded = Board().submit(10).final().collect(untold=["j"]).audit({}, ["j"])
    assert kinds(recorded) == ["lost-job"]


def test_a_submitter_that_is_told_of_the_end_of_a_job_that_never_had_its_effect():
    board = Board().submit(10).operation(40, 0, "ok", "await", {"key": "j"})
    assert kinds(board.final().collect(told=["j"]).audit({})) == ["lost-job", "false-completion"]


def test_a_job_of_unknown_outcome_that_was_never_done_is_not_done():
    board = Board().submit(10, outcome="info").operation(40, 0, "ok", "await", {"key": "j"})
    assert kinds(board, {}) == [], "nobody has looked"
    assert kinds(board.audit({}), {}) == ["false-completion"]


def test_a_submitter_may_be_told_of_what_only_the_servers_know():
    board = Board().submit(10).operation(40, 0, "ok", "await", {"key": "j"})
    assert kinds(board.audit({}), {"j": 1}) == []


def told_by(worker, *, f, **answer):
    """What one is told of ``j``, whose effect is that of session 0x2: c1's."""
    board = (
        Board().session(1, 1, "connected", session="0x2").session(1, 0, "connected", session="0x1")
    )
    board.did(40, worker, f, key="j", **answer)
    makers = {"j": ["0x2"]}
    return [
        each.kind
        for each in check_job_effects(
            laid_out(board.history(), parts=[(effect_makers, makers)])
        ).anomalies
    ]


def test_a_worker_is_told_that_it_is_done_only_if_it_was():
    assert told_by(1, f="complete", token=1, undone=False) == []
    assert told_by(0, f="complete", token=1, undone=False) == ["false-completion"]
    assert told_by(0, f="complete", token=1, undone=True) == []


def test_a_submitter_is_told_the_result_of_its_own_job():
    assert told_by(0, f="await", result="c1") == []
    assert told_by(0, f="await", result="c0") == ["false-completion"]


def test_whose_effect_it_was_has_to_be_known():
    board = Board().did(40, 0, "complete", key="j", token=1, undone=False)
    assert kinds(board, {"j": 1}) == []


@pytest.mark.parametrize(
    ("tokens", "wrong"),
    [
        ([(0, 1), (1, 2)], False),
        ([(0, 1), (0, 1)], False),  # in hand still
        ([(0, 1), (1, 1)], True),
        ([(0, 2), (1, 1)], True),
        ([(0, 2), (1, 3), (0, 2)], True),
    ],
)
def test_tokens_of_one_job_grow(tokens, wrong):
    board = Board()
    for at, (process, token) in enumerate(tokens):
        board.did(20 * at, process, "claim", key="j", token=token)
        board.did(20 * at + 10, process, "claim", key=f"other{at}", token=1)
    assert kinds(board) == (["token-regression"] if wrong else [])


def test_claims_that_overlap_may_come_in_any_order():
    board = Board().add(0, 0, "invoke", "claim", {}).did(10, 1, "claim", key="j", token=2)
    board.add(20, 0, "ok", "claim", {"key": "j", "token": 1})
    assert kinds(board) == []


@pytest.mark.parametrize(
    ("known", "outcome", "ms", "found"),
    [
        pytest.param(False, "ok", 20, ["denied-job"], id="denied"),
        pytest.param(True, "ok", 20, [], id="known"),
        pytest.param(False, "info", 20, [], id="perhaps not handed in"),
        pytest.param(False, "ok", 12, [], id="asked before the answer"),
    ],
)
def test_a_job_that_was_handed_in_is_known_to_all(known, outcome, ms, found):
    board = Board().submit(10, outcome=outcome)
    board.did(ms, 1, "ask", key="j", known=known)
    assert kinds(board) == found


def forgotten(outcome, ms, effects=1, asked=(20, 25)):
    """A job that is forgotten, and asked about."""
    board = Board().submit(10).add(ms, 0, "invoke", "forget", {"key": "j"})
    board.add(ms + 1, 0, outcome, "forget", {"key": "j"} if outcome == "ok" else None)
    board.add(asked[0], 1, "invoke", "ask", {"key": "j"})
    board.add(asked[1], 1, "ok", "ask", {"key": "j", "known": False})
    return kinds(board.final().audit({"j": effects} if effects else {}))


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_a_job_that_was_forgotten_need_not_be_known_any_more(outcome):
    assert forgotten(outcome, 15) == []
    assert forgotten(outcome, 22) == [], "forgotten while somebody asks"
    assert forgotten(outcome, 30) == ["denied-job"]


def test_a_job_that_was_not_forgotten_is_known():
    assert forgotten("fail", 15) == ["denied-job"]


def test_only_a_job_that_is_done_may_be_forgotten():
    assert forgotten("ok", 15, effects=0) == ["lost-job", "false-completion"]
    assert forgotten("info", 15, effects=0) == ["lost-job"]


def test_nothing_is_lost_before_everything_was_healed_or_if_nobody_looked():
    for recorded in (Board().submit(10).final(healed=False).audit({}), Board().submit(10).final()):
        result = check_job_effects(laid_out(recorded.history()))
        assert result.unknown
        assert not result.anomalies


def test_the_load_completes_what_it_has_claimed_and_names_jobs_once():
    run = DryRuns(JOBS, clients=3, until=2 * SECOND, recipe=Jobs).load()
    calls = [operation.invoke for operation in run.history.operations()]
    for client in range(3):
        own = [call.f for call in calls if call.process % 3 == client]
        claimed = [own[at : at + 3] for at, f in enumerate(own) if f == "claim"]
        assert len(claimed) > 5
        assert all(steps == ["claim", "work", "complete"] for steps in claimed)
    keys = [call.value["key"] for call in calls if call.f == "submit"]
    assert len(keys) == len(set(keys)) > 10
    assert {call.f for call in calls} == {
        "submit",
        "claim",
        "work",
        "complete",
        "await",
        "ask",
        "forget",
    }
    asked = {(call.process % 3, call.value["key"]) for call in calls if call.f == "ask"}
    assert {key for _, key in asked} <= set(keys)
    assert any(not key.startswith(f"p{client}-") for client, key in asked)


def test_the_sound_recipe_keeps_its_promises_under_faults(simulate):
    _, _, verdict = simulate(3, workload="jobs", recipe="fenced", seconds=15.0)
    assert not verdict.anomalies
    assert verdict.outcome != "unknown", verdict.reasons


@sampled(
    ("name", "seed", "kinds"),
    [
        ("persistent-claim", 3, ("client-kill",)),
        ("unchecked-completion", 2, ("client-pause",)),
        ("effect-first", 4, ("client-partition",)),
        ("watch-only", 1, ("kill",)),
        ("submits-again", 0, ("client-partition",)),
        ("evicting", 0, ()),
        ("unsynced", 2, ("follower-lag",)),
        ("ephemeral-job", 0, ("client-kill",)),
        ("ephemeral-work", 0, ("client-kill",)),
    ],
    of=5,
)
def test_mistakes_are_found(simulate, name, seed, kinds):
    _, _, verdict = simulate(seed, workload="jobs", recipe=name, seconds=12.0, kinds=kinds)
    assert verdict.outcome == "violation"
    found = {anomaly.kind for anomaly in verdict.anomalies if anomaly.promised}
    assert found & BOARDS[name].expected
