"""Operations as a client's process carries them out, and as the generators call them."""

from typing import ClassVar

import msgspec
import pytest
from kazoo.exceptions import SessionExpiredError

from rumpus.harness.clients.client_body import Outcome
from rumpus.workloads.framework.operation import operation

ERROR = "SessionExpiredError: "


class Errands:
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

    @operation(refusals=[SessionExpiredError])
    def refused(self, _opened: list[int]) -> None:
        """Meet an error that says that nothing happened."""
        raise SessionExpiredError

    @operation(changes=False)
    def looks(self, _opened: list[int]) -> None:
        """Meet an error, having changed nothing."""
        raise SessionExpiredError


ERRANDS = Errands()


def test_a_value_alone_is_no_object():
    call = ERRANDS.append(7)
    assert (call.f, call.value) == ("append", 7)
    assert ERRANDS.append.perform([1], call.value) == Outcome("ok", 2)
    asked, _ = ERRANDS.append.shapes()
    assert msgspec.convert(0, asked) == 0
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"value": 7}, asked)


def test_a_clean_up_is_called_with_the_values_of_what_it_undoes():
    told = ERRANDS.undo.perform([], {"address": "a", "timeout": 0.5})
    assert told == Outcome("ok", [0, 0.5, False])
    assert ERRANDS.undo().value == {"timeout": 2.0}


def test_an_error_retires_the_client_or_not():
    with pytest.raises(SessionExpiredError):
        ERRANDS.retires.perform([], None)
    assert ERRANDS.goes_on.perform([], None) == Outcome("info", error=ERROR)
    assert ERRANDS.refused.perform([], None) == Outcome("fail", error=ERROR)
    assert ERRANDS.looks.perform([], None) == Outcome("fail", error=ERROR)
