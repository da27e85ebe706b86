from xml.etree import ElementTree as ET

import pytest

from rumpus.checker.history import History, Op, Operation
from rumpus.checker.verdict import Verdict
from rumpus.results.pictures.lanes import lanes_of
from rumpus.results.pictures.latency import draw_latency, draw_rate
from tests.checker.laid_out import laid_out

MS = 1_000_000
VALID = Verdict(valid=True, outcome="valid", reasons=[], checks=[])


def operation(start, length, type="ok"):  # noqa: A002 - the field's name
    call = Op(time=start, process=0, type="invoke", f="acquire")
    done = Op(time=start + length, process=0, type=type, f="acquire")
    return Operation(call, done)


def scene_of(operations):
    records = [op for pair in operations for op in pair]
    return lanes_of(laid_out(History(records, clients=1)), operations, VALID)


@pytest.fixture
def operations():
    return [operation(n * 10 * MS, (1 + n % 7) * MS) for n in range(500)] + [
        operation(6000 * MS, 2000 * MS, "info"),
        operation(9000 * MS, MS, "fail"),
    ]


def by_class(svg):
    return {path.get("class"): path.get("d") for path in ET.fromstring(svg).iter("path")}


def test_latency_shows_every_outcome_and_quantiles(operations):
    drawn = by_class(draw_latency(scene_of(operations), "acquire", operations))
    assert {"dot dot-ok", "dot dot-fail", "dot dot-info", "median", "p99"} <= set(drawn)
    assert drawn["dot dot-info"].count("M") == 1


def test_dots_on_one_spot_are_drawn_once():
    operations = [operation(n, MS) for n in range(1000)] + [operation(10**12, MS)]
    drawn = by_class(draw_latency(scene_of(operations), "acquire", operations))
    assert drawn["dot dot-ok"].count("M") == 2


def test_quantile_lines_break_where_nothing_was_measured(operations):
    later = [operation(20_000 * MS + n * 10 * MS, MS) for n in range(500)]
    drawn = by_class(draw_latency(scene_of(operations + later), "acquire", operations + later))
    assert drawn["median"].count("M") == 2


def test_labels_of_the_scale_are_powers_of_ten(operations):
    words = ET.fromstring(draw_latency(scene_of(operations), "acquire", operations)).iter("text")
    assert {"1 ms", "10 ms", "100 ms", "1 s", "10 s"} <= {word.text for word in words}


def test_rate_counts_by_outcome(operations):
    drawn = by_class(draw_rate(scene_of(operations), operations))
    assert {"rate-ok", "rate-fail", "rate-info"} == set(drawn)


def test_an_operation_that_took_no_time_has_a_place_on_the_scale():
    operations = [operation(0, 0), operation(5, 10)]
    assert "dot-ok" in draw_latency(scene_of(operations), "acquire", operations)
