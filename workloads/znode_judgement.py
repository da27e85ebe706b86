"""What the verdicts on workloads on plain znodes have in common."""

from collections.abc import Sequence

from checker.exercise import check_exercise
from checker.final_answers import check_final_answers
from checker.verdict import CheckResult, Requirement, Verdict, judge
from workloads.judgement import Evidence
from workloads.znode_load import TRIES


def judge_znodes(
    evidence: Evidence, checks: Sequence[CheckResult], *, answered: int, least: int
) -> Verdict:
    """Join a workload's own checks with what is asked of every one.

    Args:
        evidence: what the run left.
        checks: the workload's own.
        answered: how many operations were acknowledged of those that say something.
        least: how many there must be for a verdict to mean anything.
    """
    found = list(checks)
    found.append(check_final_answers(evidence.history, TRIES))
    found.append(
        check_exercise(
            evidence.history,
            happened=[Requirement(name="operations answered", needed=least, observed=answered)],
            expiries=evidence.expiries,
            expired="sessions that expired",
            leader_changes=evidence.leader_changes,
            kinds=evidence.kinds,
            directed=evidence.directed,
        )
    )
    return judge(found, evidence.promises.prevents, strict=evidence.strict)
