"""What a declared workload's operations become in a client's process."""

from typing import Literal

import msgspec
import pytest
from kazoo.exceptions import NoAuthError, NodeExistsError, NoNodeError

from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.workloads.framework.operation import Refused, operation, unless_refused
from rumpus.workloads.framework.workload import OpenClient, Workload


class Shelf(Workload):
    """What it is about."""

    name = "shelf"

    def open(self, recipe, context):
        raise NotImplementedError

    def load(self, client):  # noqa: ARG002 - the base's
        yield self.take()

    def final(self):
        return []

    def prepare(self, opened):
        opened["prepared"] = opened.get("prepared", 0) + 1
        if "unready" in opened:
            raise opened.pop("unready")

    @operation()
    def take(self, opened) -> int:
        return unless_refused(opened["taken"])

    @operation(refusals={NoNodeError: None, NoAuthError: "no authority"})
    def put(self, opened, value: int) -> None:  # noqa: ARG002 - of the call
        raise opened["raises"]

    @operation()
    def label(self, opened, key: Literal["a", "b"]) -> None:
        pass

    @operation()
    def count(self, opened, key: Literal["a", "b"]) -> int:  # noqa: ARG002 - of the call
        return 3


def client(**opened):
    return OpenClient(Shelf(), opened), opened


@pytest.mark.parametrize("unready", [NotDone("no connection"), OutcomeUnknown("no connection")])
def test_a_client_is_prepared_once_before_its_first_operation(unready):
    shelf, opened = client(taken=7, unready=unready)
    first, second, third = (shelf.invoke("take", None) for _ in range(3))
    assert (first.type, first.error) == ("fail", "not begun: no connection")
    assert (second.type, second.value, third.value) == ("ok", 7, 7)
    assert opened["prepared"] == 2


def test_what_else_the_preparation_raises_escapes():
    with pytest.raises(NodeExistsError):
        client(taken=7, unready=NodeExistsError())[0].invoke("take", None)


@pytest.mark.parametrize("answer", [None, False])
def test_a_refusal_has_no_error(answer):
    told = client(taken=answer)[0].invoke("take", None)
    assert (told.type, told.value, told.error) == ("fail", None, None)
    with pytest.raises(Refused):
        unless_refused(answer)


@pytest.mark.parametrize("answer", [0, "", (), True])
def test_other_answers_are_none(answer):
    assert unless_refused(answer) == answer


@pytest.mark.parametrize(
    ("raised", "error"), [(NoNodeError(), None), (NoAuthError(), "no authority")]
)
def test_exceptions_by_which_the_system_says_no(raised, error):
    told = client(raises=raised)[0].invoke("put", {"value": 1})
    assert (told.type, told.error) == ("fail", error)
    with pytest.raises(NodeExistsError):
        client(raises=NodeExistsError())[0].invoke("put", {"value": 1})


@pytest.mark.parametrize("value", [None, {}, {"pause": 0.1}])
def test_a_call_without_values_carries_an_object_or_nothing(value):
    call, answer = Shelf().shapes["take"]
    assert msgspec.convert(value, call) == value
    assert msgspec.convert(7, answer) == 7
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(7, call)


@pytest.mark.parametrize(
    ("f", "answer", "fits"),
    [
        ("label", {"key": "a"}, True),
        ("label", {"key": "a", "value": 7}, True),
        ("label", {"key": "c"}, False),
        ("label", {}, False),
        ("count", {"key": "a", "value": 7}, True),
        ("count", {"key": "a"}, False),
    ],
)
def test_an_answer_to_a_call_with_a_key_has_it_and_a_value_if_there_is_one(f, answer, fits):
    _, shape = Shelf().shapes[f]
    if fits:
        msgspec.convert(answer, shape)
    else:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(answer, shape)
