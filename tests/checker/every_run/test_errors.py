import pytest

from rumpus.checker.every_run.errors import MOST_SHOWN, check_errors, unimplemented
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def ended(error, times=1, type_="info"):
    recorded = Recorded()
    for number in range(times):
        process = 3 * number
        recorded.add(10 * number, process, "invoke", "acquire")
        text = error and error.format(number)
        recorded.add(10 * number + 1, process, type_, "acquire", error=text)
    return check_errors(laid_out(recorded.history()))


@pytest.mark.parametrize("name", ["IndexError", "AttributeError", "TypeError", "AssertionError"])
def test_a_mistake_of_the_program_is_reported(name):
    (anomaly,) = ended(f"{name}: list index out of range").anomalies
    assert (anomaly.kind, anomaly.ops, anomaly.clients) == ("unexpected-error", [0, 1], [0])
    assert f"c0's acquire raised {name}: list index" in anomaly.description


@pytest.mark.parametrize(
    "error",
    [
        "ConnectionLoss: ",
        "SessionExpiredError: ",
        "TimeoutError: ",
        "OSError: x",
        "LockBusy: x",
        None,
    ],
)
def test_errors_that_a_caller_must_expect_are_not(error):
    assert ended(error).anomalies == []


@pytest.mark.parametrize("type_", ["info", "fail"])
@pytest.mark.parametrize("name", ["NoNodeError", "NodeExistsError", "CancelledError"])
def test_a_servers_answer_to_a_request_is_none_to_the_call(name, type_):
    (anomaly,) = ended(f"{name}: ", type_=type_).anomalies
    assert anomaly.kind == "unexpected-error"


def test_an_operation_that_failed_for_certain_is_not():
    assert ended("IndexError: x", type_="fail").anomalies == []


def test_one_error_is_shown_a_few_times_and_counted_always():
    result = ended("KeyError: 'x'", times=3 * MOST_SHOWN)
    assert len(result.anomalies) == MOST_SHOWN
    assert result.stats == {
        "acquire: KeyError": {"count": 3 * MOST_SHOWN, "example": "KeyError: 'x'"}
    }


def test_texts_that_vary_make_one_error():
    result = ended("KeyError: '/locks/{}'", times=3 * MOST_SHOWN)
    assert len(result.anomalies) == MOST_SHOWN
    assert result.stats == {
        "acquire: KeyError": {"count": 3 * MOST_SHOWN, "example": "KeyError: '/locks/0'"}
    }


def test_errors_of_different_types_are_counted_apart():
    recorded = Recorded()
    for process, error in enumerate(["KeyError: 'x'", "IndexError: x", "KeyError: 'y'"]):
        recorded.add(10 * process, process, "invoke", "acquire")
        recorded.add(10 * process + 1, process, "info", "acquire", error=error)
    counts = {
        kind: told["count"]
        for kind, told in check_errors(laid_out(recorded.history())).stats.items()
    }
    assert counts == {"acquire: KeyError": 2, "acquire: IndexError": 1}


def test_a_request_that_the_servers_do_not_know_is_told():
    recorded = Recorded()
    recorded.add(0, 1, "invoke", "acquire")
    assert unimplemented(recorded.history()) is None
    recorded.add(1, 1, "info", "acquire", error="UnimplementedError: ")
    assert "c1's acquire made a request that the servers do not know" in unimplemented(
        recorded.history()
    )


def test_a_refusal_that_the_recipe_keeps_to_itself_is_told_by_the_links():
    recorded = Recorded()
    recorded.add(0, 1, "invoke", "acquire").add(1, 1, "info", "acquire", error="Gone: x")
    counts = {"client": 1, "requests": {}, "shown": 0, "unimplemented": True}
    recorded.add(2, "link", "info", "requests", counts)
    assert unimplemented(recorded.history()).startswith("c1 made a request")


def test_a_client_whose_library_failed_is_told():
    recorded = Recorded().session(1, 0, "lost").session(4, 2, "lost", dead=True)
    (anomaly,) = check_errors(laid_out(recorded.history())).anomalies
    assert (anomaly.kind, anomaly.clients) == ("dead-client", [2])
    assert "c2's kazoo closed its connection for good at" in anomaly.description


def of_threads(*errors):
    recorded = Recorded()
    for number, error in enumerate(errors):
        where = {"thread": "Thread-7", "error": error, "of": "shop.py:41 in go_on"}
        recorded.session(number, 1, "thread-ended", **where)
    return check_errors(laid_out(recorded.history()))


def test_a_thread_that_a_mistake_has_ended_is_reported():
    (anomaly,) = of_threads("ValueError: not in list").anomalies
    assert (anomaly.kind, anomaly.clients) == ("unexpected-error", [1])
    assert "ValueError: not in list has ended a thread of c1" in anomaly.description
    assert "shop.py:41 in go_on" in anomaly.description


def test_a_thread_that_ends_with_the_connection_is_none():
    assert of_threads("ConnectionClosedError: ", "SessionExpiredError: ").anomalies == []


def test_of_many_threads_some_are_shown_and_all_are_counted():
    result = of_threads(*["ValueError: x"] * (MOST_SHOWN + 2))
    assert len(result.anomalies) == MOST_SHOWN
    assert result.stats["thread: ValueError"]["count"] == MOST_SHOWN + 2
