"""What recipes tell of themselves, judged by what stood on the servers during the call."""

import pytest

from rumpus.checker.families.censuses import check_censuses
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

PATH = "/q"


class Truth:
    """What the servers' logs say of some znodes."""

    reasons = ()

    def __init__(self, *lives, contested=()):
        self._lives = lives
        self._contested = contested

    def znodes(self, root):
        return [life for life in self._lives if life.path.startswith(root)]

    def contested(self):
        return frozenset(self._contested)


def life(name, made, gone=None, data=b"c1", owner="0x1"):
    """A znode, from one ms to another; zxids are the times."""
    return ZnodeLife(f"{PATH}/{name}", made, made, "0x1", owner, data, gone, gone, "0x1", None)


def found(f, answer, *lives, contested=(), called=100, returned=200):
    recorded = Recorded(2).add(called, 0, "invoke", f).add(returned, 0, "ok", f, answer)
    truth = Truth(*lives, contested=contested)
    result = check_censuses(
        laid_out(recorded.history(), truth=truth, clock=WallClock([(0, 0)]), path=PATH)
    )
    return [anomaly.kind for anomaly in result.anomalies], result.unknown


def is_false(*asked, **more):
    kinds, unknown = found(*asked, **more)
    assert set(kinds) <= {"false-census"}
    assert not unknown
    return bool(kinds)


def contenders(*names):
    return {"what": "contenders", "names": [*names]}


def holders(*names):
    return {"what": "holders", "names": [*names]}


FIRST = life("a-0000000001", 10, data=b"c1")
SECOND = life("b-0000000002", 20, data=b"c2")
GONE = life("b-0000000002", 20, 150, data=b"c2")


@pytest.mark.parametrize(
    ("names", "lives", "wrong"),
    [
        (("c1", "c2"), (FIRST, SECOND), False),
        (("c2", "c1"), (FIRST, SECOND), True),
        (("c1",), (FIRST, SECOND), True),
        (("c1",), (FIRST, GONE), False),
        (("c1", "c2"), (FIRST, GONE), False),
        (("c2",), (FIRST, GONE), True),
        (("c1", "c1"), (FIRST, GONE), True),
        (("c1", "c1"), (FIRST, life("b-0000000003", 150)), False),
        (("c1", "c2"), (FIRST, life("b-0000000002", 20, 90, data=b"c2")), True),
        (("c1", "c2"), (FIRST, life("b-0000000002", 210, data=b"c2")), True),
        (("c1",), (FIRST, life("no-contender", 20)), False),
        ((), (), False),
        (("c1",), (), True),
    ],
)
def test_contenders_are_those_that_stood_there_in_their_order(names, lives, wrong):
    assert is_false("contenders", contenders(*names), *lives) == wrong


@pytest.mark.parametrize(
    ("names", "wrong"),
    [(("c2", "c1"), False), (("c1", "c2"), False), (("c2",), True), (("c1", "c2", "c2"), True)],
)
def test_holders_are_told_in_any_order(names, wrong):
    lives = life("e1", 20, data=b"c2"), life("f2", 30, data=b"c1")
    assert is_false("contenders", holders(*names), *lives) == wrong


def test_what_is_nearer_than_a_millisecond_counts_as_either():
    for near in (life("a-0000000001", 99), life("a-0000000001", 10, 201)):
        assert not is_false("contenders", contenders("c1"), near)
        assert not is_false("contenders", contenders(), near)


PUT = {"owner": None, "data": b"e"}


@pytest.mark.parametrize(
    ("size", "lives", "wrong"),
    [
        (2, (life("e1", 10, **PUT), life("e2", 20, **PUT)), False),
        (1, (life("e1", 10, **PUT), life("e2", 20, **PUT)), True),
        (2, (life("e1", 10, 150, **PUT), life("e2", 20, **PUT)), False),
        (1, (life("e1", 10, 150, **PUT), life("e2", 20, **PUT)), False),
        (0, (life("e1", 10, 150, **PUT), life("e2", 20, **PUT)), True),
        # Two that are put at once: there is no moment with one.
        (1, (life("e1", 150, **PUT), life("e2", 150, **PUT)), True),
        (2, (life("e1", 150, **PUT), life("e2", 150, **PUT)), False),
        (1, (life("e1", 10, 50, **PUT),), True),
        (1, (life("e1", 250, **PUT),), True),
        # Neither claims nor folders are elements.
        (0, (life("lock", 10), life("entries", 10, owner=None, data=b"")), False),
    ],
)
def test_a_size_is_how_many_there_were_at_some_moment(size, lives, wrong):
    assert is_false("size", size, *lives) == wrong


def test_what_the_logs_leave_open_is_not_decided():
    kinds, unknown = found("size", 5, contested=[f"{PATH}/e1"])
    assert kinds == []
    assert "was told that there were 5 elements" in unknown[0]
    assert is_false("size", 5, contested=["/elsewhere/e1"])


def test_without_questions_nothing_is_judged():
    assert check_censuses(laid_out(Recorded(2).end(5).history(), path=PATH)) is None
