from rumpus.checker.families.torn_transactions import check_torn
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def kinds(outcome="ok", **values):
    recorded = Recorded(1).add(1, 0, "invoke", "read")
    recorded.add(2, 0, outcome, "read", {"values": values, "version": 1} if values else None)
    return [each.kind for each in check_torn(laid_out(recorded.end(9).history())).anomalies]


def test_one_value_in_all_nodes():
    assert kinds(a="x", b="x") == []
    assert kinds(a=None, b=None) == []


def test_a_part_of_a_transaction():
    assert kinds(a="x", b="y") == ["torn-multi"]
    assert kinds(a="x", b=None) == ["torn-multi"]


def test_what_is_not_known_is_not_torn():
    assert kinds("info") == []
