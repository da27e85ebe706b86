"""Operations declared as methods: what their calls become, and what their answers are."""

from typing import ClassVar

import msgspec
import pytest
from kazoo.exceptions import SessionExpiredError

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


ERROR = "SessionExpiredError: "


class Clerk:
    called: ClassVar[dict[str, str]] = {}

    @operation()
    def append(self, opened: list[int], value: int, /) -> int:
        """Write one value."""
        opened.append(value)
        return len(opened)

    @operation(timeout=2.0)
    def undo(self, opened: list[int], timeout: float, *, hard: bool = False) -> list[object]:
        """Take no value but these."""
        return [len(opened), timeout, hard]

    @operation()
    def retires(self, _opened: list[int]) -> None:
        """Meet an error after which its client cannot be relied on."""
        raise SessionExpiredError

    @operation(goes_on=True)
    def goes_on(self, _opened: list[int]) -> None:
        """Meet an error that its client survives."""
        raise SessionExpiredError

    @operation(refusals={SessionExpiredError: "gone"})
    def refused(self, _opened: list[int]) -> None:
        """Meet an error that says that nothing happened."""
        raise SessionExpiredError

    @operation(changes=False)
    def looks(self, _opened: list[int]) -> None:
        """Meet an error, having changed nothing."""
        raise SessionExpiredError


CLERK = Clerk()


def test_a_value_alone_is_no_object():
    call = CLERK.append(7)
    assert (call.f, call.value) == ("append", 7)
    assert CLERK.append.perform([1], call.value) == Outcome("ok", 2)
    asked, _ = CLERK.append.shapes()
    assert msgspec.convert(0, asked) == 0
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"value": 7}, asked)


def test_a_clean_up_is_called_with_the_values_of_what_it_undoes():
    told = CLERK.undo.perform([], {"address": "a", "timeout": 0.5})
    assert told == Outcome("ok", [0, 0.5, False])
    assert CLERK.undo().value == {"timeout": 2.0}


def test_an_error_retires_the_client_or_not():
    with pytest.raises(SessionExpiredError):
        CLERK.retires.perform([], None)
    assert CLERK.goes_on.perform([], None) == Outcome("info", error=ERROR)
    assert CLERK.refused.perform([], None) == Outcome("fail", error="gone")
    assert CLERK.looks.perform([], None) == Outcome("fail", error=ERROR)


def test_overdue_needs_a_timeout_to_be_counted_from():
    with pytest.raises(TypeError, match=r"operation read: overdue=3.0 .* must take `timeout`"):

        @operation(overdue=3.0)
        def read(self, opened):
            """Read."""
