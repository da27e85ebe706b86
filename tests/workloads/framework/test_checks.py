"""What workloads declare as their needs."""

from rumpus.checker.history import History
from rumpus.checker.verdict import CheckResult, Requirement
from rumpus.workloads.framework.checks import at_least, counted
from tests.checker.recorded import Recorded


def history(*outcomes) -> History:
    recorded = Recorded()
    for place, outcome in enumerate(outcomes):
        recorded.add(10 * place, 0, "invoke", "read").add(10 * place + 5, 0, outcome, "read")
    return recorded.history()


def test_operations_that_ended_ok_count_or_what_a_function_counts():
    read = history("ok", "fail", "ok")
    assert at_least(3, "read", "reads")(read, []) == Requirement("reads", 3, 2)
    assert at_least(3, lambda found: len(list(found)), "records")(read, []).observed == 6


def test_what_a_check_could_not_count_is_not_needed():
    results = [CheckResult(name="totals", stats={"adds": 4, "writers": None})]
    assert counted(3, "adds", "totals", "additions")(history(), results).observed == 4
    assert counted(3, "writers", "totals", "writers")(history(), results) is None
