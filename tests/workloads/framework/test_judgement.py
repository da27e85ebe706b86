"""What every verdict has in common."""

from rumpus.checker.verdict import Anomaly, CheckResult
from rumpus.recipes.promises import Promises
from rumpus.workloads.framework.judgement import Evidence, judge_exercised
from tests.checker.recorded import Recorded


def judged(error):
    recorded = Recorded()
    recorded.add(0, 0, "invoke", "acquire").add(1, 0, "info", "acquire", error=error)
    found = CheckResult(name="liveness", anomalies=[Anomaly(kind="deadlock", description="")])
    evidence = Evidence(
        history=recorded.history(),
        promises=Promises(prevents=frozenset({"deadlock"})),
        strict=True,
    )
    return judge_exercised(evidence, [found], happened=[], expiries=0)


def test_a_recipe_that_makes_requests_that_the_servers_do_not_know_is_not_judged():
    verdict = judged("UnimplementedError: ")
    assert (verdict.outcome, verdict.exit_code) == ("unknown", 3)
    assert "needs a newer ZooKeeper" in verdict.reasons[0]
    assert not any(anomaly.promised for anomaly in verdict.anomalies)


def test_any_other_error_leaves_a_violation_as_it_is():
    assert judged("ConnectionLoss: ").outcome == "violation"
