"""Which waiters count as held up."""

import pytest

from rumpus.checker.families.held_up_waiters import count_held_up
from tests.checker.recorded import Recorded


def call(recorded, called, returned, process, f, outcome="ok", key=0):
    recorded.add(called, process, "invoke", f, {"key": key, "timeout": 1.0})
    return recorded.add(returned, process, outcome, f)


def removed():
    """Barrier 0 is there from 10 ms on, and removed between 100 and 110 ms."""
    return call(call(Recorded(), 5, 10, 0, "create"), 100, 110, 0, "remove")


@pytest.mark.parametrize(
    ("called", "returned", "outcome", "key", "held_up"),
    [
        (20, 105, "ok", 0, 1),
        (20, 90, "ok", 0, 0),
        (105, 120, "ok", 0, 0),
        (20, 105, "fail", 0, 0),
        (20, 105, "ok", 1, 0),
    ],
)
def test_who_passes_once_its_barrier_is_removed_was_held_up(
    called, returned, outcome, key, held_up
):
    recorded = call(removed(), called, returned, 1, "wait", outcome, key)
    assert count_held_up(recorded.history()) == held_up


def test_waiters_of_the_final_phase_do_not_count():
    recorded = removed().add(15, "control", "info", "phase", {"phase": "final", "healed": True})
    assert count_held_up(call(recorded, 20, 105, 1, "wait").history()) == 0
