"""What the verdicts on workloads on plain znodes have in common."""

from collections.abc import Sequence

from rumpus.checker.every_run.final_answers import check_final_answers
from rumpus.checker.verdict import CheckResult, Requirement, Verdict
from rumpus.workloads.framework.judgement import Evidence, judge_exercised
from rumpus.workloads.znodes.znode_load import TRIES


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
    return judge_exercised(
        evidence,
        [*checks, check_final_answers(evidence.history, TRIES)],
        happened=[Requirement("operations answered", least, answered)],
        expiries=evidence.expiries,
        expired="sessions that expired",
    )
