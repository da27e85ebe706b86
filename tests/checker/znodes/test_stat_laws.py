from types import SimpleNamespace

import pytest

from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.znodes.stat_laws import check_stats, logged_times
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

FRESH = {
    "czxid": 10, "mzxid": 10, "ctime": 1000, "mtime": 1000, "version": 0, "cversion": 0,
    "aversion": 0, "ephemeralOwner": 0, "dataLength": 2, "numChildren": 0, "pzxid": 10,
}  # fmt: skip
CHANGED = {**FRESH, "mzxid": 11, "mtime": 1100, "version": 1}
GROWN = {**FRESH, "cversion": 1, "numChildren": 1, "pzxid": 12}


def seen(*stats, f="read", asked=("set", "grow", "prune", "allow"), times=None, **told):
    recorded = Recorded(1)
    at = 0
    for name in asked:
        recorded.add(at, 0, "invoke", name, {"name": "z"})
        recorded.add(at + 1, 0, "fail", name, {"name": "z"})
        at += 2
    for stat in stats:
        recorded.add(at, 0, "invoke", f, {"name": "z"})
        recorded.add(at + 1, 0, "ok", f, {"name": "z", "stat": stat, **told})
        at += 2
    return [
        each.kind
        for each in check_stats(
            laid_out(recorded.end(99).history(), parts=[(logged_times, times)])
        ).anomalies
    ]


@pytest.mark.parametrize("stats", [[FRESH], [FRESH, CHANGED, GROWN], [GROWN, FRESH], [CHANGED] * 2])
def test_stats_that_fit(stats):
    assert seen(*stats) == []
    assert seen(*stats, times={10: 1000, 11: 1100}) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"mzxid": 9},
        {"version": 1},
        {"mzxid": 11},
        {"cversion": 1, "numChildren": 1},
        {"pzxid": 12},
        {"cversion": 2, "numChildren": 1, "pzxid": 12},
        {"cversion": 1, "numChildren": 2, "pzxid": 12},
        {"version": 2, "mzxid": 11},
        {"cversion": 4, "numChildren": 4, "pzxid": 12},
        {"aversion": 2},
        {"ephemeralOwner": 7},
    ],
)
def test_a_stat_that_is_wrong_by_itself(wrong):
    assert seen({**FRESH, **wrong})


@pytest.mark.parametrize(
    "pair",
    [
        [FRESH, {**FRESH, "ctime": 999}],
        [CHANGED, {**CHANGED, "mtime": 1000}],
        [CHANGED, {**CHANGED, "dataLength": 3}],
        [GROWN, {**GROWN, "cversion": 2, "numChildren": 0}],
        [CHANGED, {**CHANGED, "mzxid": 13}],
        [FRESH, {**FRESH, "czxid": 20, "mzxid": 20, "pzxid": 20}],
    ],
)
def test_stats_that_contradict_each_other(pair):
    assert seen(pair[0]) == seen(pair[1]) == []
    assert set(seen(*pair)) == {"wrong-stat"}


def test_what_the_answer_says_besides():
    assert seen(FRESH, data="v0") == []
    assert seen(FRESH, data="v00") == ["wrong-stat"]
    assert seen(GROWN, children=["c0"]) == []
    assert seen(GROWN, children=[]) == ["wrong-stat"]


def test_a_list_that_was_replaced_counts():
    assert seen({**FRESH, "aversion": 1}, f="allow") == []
    assert seen(FRESH, f="allow") == ["wrong-stat"]


def test_times_are_those_of_the_logs():
    assert seen(CHANGED, times={11: 1101}) == ["wrong-stat"]
    assert seen(CHANGED, times={12: 1}) == []


def test_times_are_those_that_the_logs_have_whatever_the_clocks_were():
    txns = [
        Txn(zxid=10, session=1, cxid=1, time_ms=1000, type=0, name="create", path="/z"),
        Txn(zxid=11, session=1, cxid=1, time_ms=1100, type=0, name="create", stamp_ms=4100),
    ]
    timeline = laid_out(Recorded().history(), truth=SimpleNamespace(committed=txns))
    assert logged_times(timeline) == {10: 1000, 11: 4100}
    assert logged_times(laid_out(Recorded().history(), truth=None)) is None
