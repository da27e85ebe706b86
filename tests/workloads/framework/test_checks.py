"""What workloads declare as their needs."""

import pytest

from rumpus.checker.history import History
from rumpus.checker.verdict import CheckResult, Requirement
from rumpus.workloads.framework.checks import at_least, counted, everybody_at_the_end
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


def reads_at_the_end(*calls):
    """Two clients; each call is (client, its value, the value of its answer), all ok."""
    recorded = Recorded(clients=2)
    recorded.add(1, 0, "invoke", "read").add(2, 0, "ok", "read")
    recorded.add(5, "control", "info", "phase", {"phase": "final"})
    for number, (client, asked, answer) in enumerate(calls, 1):
        recorded.add(10 * number, client, "invoke", "read", asked)
        recorded.add(10 * number + 5, client, "ok", "read", answer)
    return recorded.history()


@pytest.mark.parametrize("asked", [None, {"timeout": 3.0}, 7])
def test_operations_without_a_key_are_asked_of_everybody(asked):
    need = everybody_at_the_end("read", 1, "final reads")
    assert need(reads_at_the_end((0, asked, 5), (0, asked, None)), []).observed == 1
    both = need(reads_at_the_end((0, asked, 5), (1, asked, None)), [])
    assert both == Requirement("final reads", needed=2, observed=2)


def test_the_key_is_that_of_the_call_whatever_the_answer():
    need = everybody_at_the_end("read", 2, "final reads")
    one = [(0, {"key": key}, answer) for key, answer in [(0, None), (1, {"value": 3})]]
    assert need(reads_at_the_end(*one), []) == Requirement("final reads", needed=4, observed=2)
    two = [(1, asked, answer) for _, asked, answer in one]
    assert need(reads_at_the_end(*one, *two), []).met


def test_several_keys_that_no_call_gives_are_refused():
    need = everybody_at_the_end("read", 2, "final reads")
    with pytest.raises(ValueError, match="calls of read have no `key`; say keys=1"):
        need(reads_at_the_end((0, None, 5)), [])
    with pytest.raises(ValueError, match="at least 1 key"):
        everybody_at_the_end("read", 0, "final reads")
