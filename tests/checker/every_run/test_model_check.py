from rumpus.checker.deciders.queues.fifo_queue import FIFO_QUEUE
from rumpus.checker.every_run.model_check import check_model
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded


def operation(recorded, start, end, process, f, value=None, result=None):
    recorded.add(start, process, "invoke", f, value)
    return recorded.add(end, process, "ok", f, result)


def two_elements(first, second):
    recorded = Recorded(2)
    operation(recorded, 1, 2, 0, "look")
    operation(recorded, 3, 4, 0, "enqueue", "a")
    operation(recorded, 5, 6, 0, "enqueue", "b")
    operation(recorded, 7, 8, 1, "dequeue", result=first)
    operation(recorded, 9, 10, 1, "dequeue", result=second)
    return recorded.end(20).history()


def test_operations_that_follow_the_model():
    result = check_model(laid_out(two_elements("a", "b")), FIFO_QUEUE, "out-of-order")
    assert (result.anomalies, result.unknown) == ([], [])
    assert result.stats["operations"] == 4, "the look is no part of the model"


def test_a_contradiction_is_the_anomaly_that_it_is_said_to_be():
    (anomaly,) = check_model(laid_out(two_elements("b", "a")), FIFO_QUEUE, "out-of-order").anomalies
    assert anomaly.kind == "out-of-order"
    assert anomaly.ops == list(range(2, 10)), "with their completions"
    assert anomaly.clients == [0, 1]
    assert (anomaly.start, anomaly.end) == (3 * MS, 10 * MS)
    assert "b" in anomaly.description


def test_functions_that_do_not_count_are_left_out():
    history = two_elements("b", "a")
    assert (
        check_model(laid_out(history), FIFO_QUEUE, "out-of-order", functions=["enqueue"]).anomalies
        == []
    )
