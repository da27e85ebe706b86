"""What clients make of handles in states in which calls are refused."""

import pytest

from rumpus.recipes.chubby.lease import HandleInvalid
from rumpus.recipes.outcomes import NotDone
from rumpus.workloads.chubby.misuse import MISUSES, answered


class Closed:
    """A handle whose calls raise an error each, or answer."""

    def __init__(self, **errors):
        self.errors = errors

    def close(self):
        """Closing it closes nothing."""

    def __getattr__(self, call):
        def answer(*_):
            error = self.errors.get(call, HandleInvalid)
            if error is not None:
                raise error

        return answer


def test_a_handle_that_refuses_all_answers_nothing():
    assert answered(Closed(), "closed") == []


def test_what_is_answered_before_another_error_is_told():
    handle = Closed(get_stat=None, set_acl=NotDone("timed out"))
    assert answered(handle, "closed") == ["stat"]


def test_an_error_of_another_kind_decides_nothing():
    with pytest.raises(NotDone, match="timed out"):
        answered(Closed(set_acl=NotDone("timed out")), "closed")


@pytest.mark.parametrize("state", MISUSES)
def test_each_state_has_calls_that_are_refused(state):
    assert MISUSES[state].refused
