"""What a client has in the servers' logs is what it sent, as far as that was counted."""

from types import SimpleNamespace

import pytest

from rumpus.checker.timeline.coherence_of_logs import unknown_to_logs
from tests.checker.recorded import Recorded


def logs(*zxids):
    """A session that is opened, and then writes."""
    opened = SimpleNamespace(
        name="createSession",
        session=1,
        zxid=1,
        effects=[SimpleNamespace(name="createSession", session=1)],
    )
    written = [SimpleNamespace(name="delete", session=1, zxid=each, effects=()) for each in zxids]
    return SimpleNamespace(committed=[opened, *written], uncertain=[], forked=[])


def counted(deletes, shown):
    recorded = Recorded(1).session(1, 0, "connected", session="0x1")
    value = {"client": 0, "requests": {"delete": deletes}, "shown": shown}
    return recorded.add(50, "link", "info", "requests", value).history()


@pytest.mark.parametrize(
    ("deletes", "shown", "contradicts"),
    [(2, 3, False), (1, 3, True), (2, None, True), (3, None, False), (3, 4, False), (2, 4, True)],
)
def test_writes_after_the_last_that_was_shown_came_after_the_count(deletes, shown, contradicts):
    found = list(unknown_to_logs(counted(deletes, shown), logs(2, 3, 4)))
    assert any("write requests" in each for each in found) == contradicts
