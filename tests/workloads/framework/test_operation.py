"""Operations declared as methods: what their calls become, and what their answers are."""

from typing import ClassVar

import msgspec
import pytest

from rumpus.harness.clients.client_body import Outcome
from rumpus.workloads.framework.operation import operation


class Boxes:
    """Boxes by key; not a whole workload."""

    called: ClassVar = {}

    @operation()
    def put(self, boxes, key: str, value: int) -> None:
        boxes[key] = value

    @operation()
    def empty(self, boxes, timeout: float, value: str = "") -> None:
        """Empty one or all."""

    @operation()
    def get(self, boxes, key: str) -> int | None:
        return boxes.get(key)


def test_an_answer_stands_beside_its_key_unless_the_operation_answers_nothing():
    boxes = {}
    assert Boxes().put.perform(boxes, {"key": "a", "value": 7}) == Outcome("ok")
    assert Boxes().get.perform(boxes, {"key": "a"}) == Outcome("ok", {"key": "a", "value": 7})
    assert Boxes().get.perform(boxes, {"key": "b"}) == Outcome("ok", {"key": "b", "value": None})


@pytest.mark.parametrize("told", [None, {"key": "a"}, {"key": "a", "value": None}])
def test_what_answers_nothing_may_carry_anything(told):
    msgspec.convert(told, Boxes().put.shapes()[1])


def test_a_call_carries_nothing_only_where_nothing_has_to_be_told():
    for fits in (None, {}, {"timeout": 1.0}, {"value": "some"}):
        msgspec.convert(fits, Boxes().empty.shapes()[0])
    for call, wrong in ((Boxes().empty, {"value": 7}), (Boxes().get, None), (Boxes().get, {})):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, call.shapes()[0])


def test_what_answers_is_held_to_its_type():
    answer = Boxes().get.shapes()[1]
    msgspec.convert({"key": "a", "value": 7}, answer)
    for wrong in (None, {"key": "a"}, {"key": "a", "value": "7"}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, answer)
