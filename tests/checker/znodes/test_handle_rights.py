import pytest

from rumpus.checker.znodes.handle_rights import check_handle_rights
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def did(story, ms, f, told, asked=None):
    return story.add(ms, 0, "invoke", f, asked).add(ms + 1, 0, "ok", f, told)


def found(story):
    return [each.kind for each in check_handle_rights(laid_out(story.end(999).history())).anomalies]


@pytest.mark.parametrize(
    ("state", "answered", "kinds"),
    [
        ("closed", [], []),
        ("closed", ["read"], ["expired-handle"]),
        ("poisoned", ["write", "lock"], ["expired-handle"]),
        ("for reading", ["lock"], ["unauthorised-access"]),
    ],
)
def test_what_is_answered_of_a_misused_handle_is_found(state, answered, kinds):
    story = did(Recorded(1), 0, "misuse", {"answered": answered}, {"state": state})
    assert found(story) == kinds


def remade(ms, f, opened):
    """Instance 7 is created, while a call that makes instance 8 goes on until 60 ms."""
    story = Recorded(2).add(2, 1, "invoke", "recreate")
    did(story, 10, "recreate", {"key": "t", "opened": 5, "instance": 7})
    did(story, 20, "recreate", {"key": "u", "opened": 5, "instance": 9})
    did(story, ms, f, {"key": "t", "opened": opened})
    return story.add(60, 1, "ok", "recreate", {"key": "t", "opened": 7, "instance": 8})


@pytest.mark.parametrize("f", ["use", "stat"])
def test_a_call_on_a_handle_of_a_deleted_instance_is_found(f):
    assert found(remade(30, f, 5)) == ["expired-handle"]


@pytest.mark.parametrize(("ms", "opened"), [(30, 7), (30, 8), (5, 5), (11, 5)])
def test_a_call_on_an_instance_that_was_still_there_is_well(ms, opened):
    assert found(remade(ms, "use", opened)) == []


@pytest.mark.parametrize(
    ("acl", "allowed", "kinds"),
    [
        (["1:world:anyone"], [["1:world:anyone"]], []),
        (["1:world:anyone"], [["31:world:anyone"], ["1:world:anyone"]], []),
        (["31:world:anyone"], [["1:world:anyone"]], ["unauthorised-access"]),
    ],
)
def test_a_list_that_a_file_must_not_have_is_found(acl, allowed, kinds):
    told = {"key": "t", "acl": acl, "allowed": allowed}
    assert found(did(Recorded(1), 0, "add", told, {"child": "1"})) == kinds
