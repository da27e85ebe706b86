"""Puts of several elements: all of them or none, and in the order of a queue like any others."""

from rumpus.checker.families.batches import each_put_alone
from tests.checker.recorded import Recorded


def history():
    recorded = Recorded(2)
    recorded.add(1, 0, "invoke", "enqueue-all", {"values": ["x", "y"], "priority": 3})
    recorded.add(2, 3, "invoke", "enqueue-all", {"values": []})
    recorded.add(3, 0, "ok", "enqueue-all").add(4, 3, "info", "enqueue-all")
    return recorded.add(5, 0, "invoke", "dequeue").history()


def test_each_element_has_a_put_of_its_own_by_the_same_client():
    alone = each_put_alone(history())
    puts = [each for each in alone.operations() if each.invoke.f == "enqueue"]
    assert [put.invoke.value for put in puts] == [
        {"value": "x", "priority": 3},
        {"value": "y", "priority": 3},
    ]
    assert [alone.caller(put) for put in puts] == [0, 0]
    assert [put.indices for put in puts] == [[0, 2], [0, 2]]
    assert {put.outcome for put in puts} == {"ok"}


def test_other_operations_stay_what_they_are():
    *_, last = each_put_alone(history()).operations()
    assert (last.invoke.f, last.invoke.process) == ("dequeue", 0)
    without = Recorded(2).add(1, 0, "invoke", "enqueue", {"value": "x"}).history()
    assert each_put_alone(without) is without
