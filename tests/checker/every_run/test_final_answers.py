import pytest

from rumpus.checker.every_run.final_answers import check_final_answers
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

TRIES = 3


def run(*answers, healed=True, ended=True, **options):
    """A final phase; an answer: process, outcome, error[, value of the call]."""
    recorded = Recorded(2)
    recorded.add(1, 0, "invoke", "read").add(2, 0, "info", "read")
    recorded.add(10, "control", "info", "phase", {"phase": "final", "healed": healed})
    for number, (process, outcome, error, *value) in enumerate(answers):
        recorded.add(20 + 2 * number, process, "invoke", "read", *value)
        if outcome:
            recorded.add(21 + 2 * number, process, outcome, "read", *value, error=error)
    if ended:
        recorded.add(90, "control", "info", "phase-end")
    return check_final_answers(laid_out(recorded.end(99).history()), most_tries=TRIES, **options)


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
    result = check_final_answers(laid_out(recorded.end(9).history()), most_tries=TRIES)
    assert not all(need.met for need in result.requirements)


def test_every_question_has_to_be_answered():
    (anomaly,) = run((0, *OK, "x"), (1, *OK, "x"), (0, *OK, "y"), (1, *NO, "y")).anomalies
    assert anomaly.clients == [1]


def test_the_last_operation_of_the_load_is_no_question():
    def is_y(f, value):
        return f == "read" and value == {"key": "y"}

    late = (1, "fail", "no authority", {"key": "x"})
    asked = (0, *OK, {"key": "y"}), (1, *OK, {"key": "y"})
    (anomaly,) = run(late, *asked).anomalies
    assert anomaly.clients == [1]
    assert run(late, *asked, asked=is_y).anomalies == []
    missing = (0, *OK, {"key": "y"}), (1, *NO, {"key": "y"})
    (anomaly,) = run(*missing, asked=is_y).anomalies
    assert anomaly.clients == [1]


def test_of_what_was_not_healed_nothing_is_known():
    result = run((0, *NO), (1, *OK), healed=False)
    assert (result.anomalies, len(result.unknown)) == ([], 1)


@pytest.mark.parametrize(
    ("answers", "stuck"),
    [
        ([(0, *NO), (1, *OK)], []),  # might have asked again
        ([(0, *NO), (0, *NO), (0, *NO), (1, *OK)], [0]),  # had no try left
        ([(0, *NO), (0, *NO), (0, None, None), (1, *OK)], []),  # dead, or was still asking
        ([(0, *NO, "x"), (1, *OK, "x"), (1, *OK, "y")], [0]),  # all had gone on
        ([(0, *NO, "x"), (1, *OK, "x"), (1, *NO, "y")], [0]),
    ],
)
def test_a_phase_that_was_cut_short_leaves_open_only_what_cannot_be_known(answers, stuck):
    cut = run(*answers, ended=False)
    assert [client for each in cut.anomalies for client in each.clients] == stuck
    assert cut.unknown == ["the final phase was cut short"]
