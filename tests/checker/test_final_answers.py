import pytest

from checker.final_answers import check_final_answers
from tests.checker.recorded import Recorded


def run(*answers, healed=True, ended=True):
    recorded = Recorded(2)
    recorded.add(1, 0, "invoke", "read").add(2, 0, "info", "read")
    recorded.add(10, "control", "info", "phase", {"phase": "final", "healed": healed})
    for number, (process, outcome, error) in enumerate(answers):
        recorded.add(20 + 2 * number, process, "invoke", "read")
        recorded.add(21 + 2 * number, process, outcome, "read", error=error)
    if ended:
        recorded.add(90, "control", "info", "phase-end")
    return check_final_answers(recorded.end(99).history())


OK = "ok", None
NO = "fail", "no connection"


def test_one_answer_of_several_tries_is_enough():
    result = run((0, *NO), (0, *OK), (1, *OK))
    assert (result.anomalies, result.unknown) == ([], [])
    assert all(need.met for need in result.requirements)


@pytest.mark.parametrize("last", [NO, ("info", "no answer")])
def test_a_client_that_gets_no_answer_is_stuck(last):
    (anomaly,) = run((0, *OK), (1, *NO), (1, *last)).anomalies
    assert (anomaly.kind, anomaly.clients) == ("stuck-waiter", [1])
    assert "2 tries" in anomaly.description


def test_a_refusal_is_an_answer():
    assert run((0, "fail", None), (1, *OK)).anomalies == []


def test_without_a_final_phase_too_little_was_asked():
    recorded = Recorded(2).add(1, 0, "invoke", "read").add(2, 0, "info", "read")
    result = check_final_answers(recorded.end(9).history())
    assert not all(need.met for need in result.requirements)


def test_what_was_not_healed_or_cut_short_is_not_known():
    assert run((0, *NO), (1, *OK), healed=False).unknown
    cut = run((0, *NO), (1, *OK), ended=False)
    assert (cut.anomalies, len(cut.unknown)) == ([], 1)
