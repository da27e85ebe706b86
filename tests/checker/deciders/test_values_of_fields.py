"""Values that are nothing but fields which are taken apart: a model of any values refuses them."""

import pytest

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.deciders.table_builder import table_of
from rumpus.checker.deciders.values import WrongOperations
from tests.checker.recorded import Recorded


def told(model, *operations):
    recorded = Recorded(1)
    for at, (f, asked, answer) in enumerate(operations):
        recorded.add(2 * at, 0, "invoke", f, asked).add(2 * at + 1, 0, "ok", f, answer)
    return decide(MODELS[model], table_of(recorded.history())).valid


@pytest.mark.parametrize("model", ["register", "cas-register"])
def test_a_register_has_no_value_that_is_nothing_but_fields(model):
    one, other = {"node": "n1", "epoch": 1}, {"node": "n2", "epoch": 9}
    with pytest.raises(WrongOperations, match=r'say \{"value": \.\.\.\} around it'):
        told(model, ("write", one, None), ("read", None, other))
    within = [{"value": one}, {"value": other}]
    assert told(model, ("write", within[0], None), ("read", None, within[1])) is False
    assert told(model, ("write", within[0], None), ("read", None, within[0])) is True
    assert told(model, ("write", {"key": "x", "value": 1}, None), ("read", {"key": "x"}, 1)) is True


def test_no_register_is_named_like_a_field():
    wrote = ("txn", [["w", "node", 1]], [["w", "node", 1]])
    with pytest.raises(WrongOperations, match="multi-register reads none of them"):
        told("multi-register", wrote, ("read", None, {"node": 2}))
    assert told("multi-register", wrote, ("read", None, {"value": {"node": 2}})) is False
    assert told("multi-register", wrote, ("read", None, {"value": {"node": 1}})) is True
