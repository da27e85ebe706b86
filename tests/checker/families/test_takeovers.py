import pytest

from rumpus.checker.families.takeovers import check_takeovers
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


class Log(Recorded):
    """Records who became the owner, and what was appended."""

    def own(self, called, returned, process, epoch, at=0, outcome="ok"):
        self.add(called, process, "invoke", "own", {"timeout": 1.0})
        value = {"epoch": epoch, "at": at} if outcome == "ok" else None
        return self.add(returned, process, outcome, "own", value)

    def append(self, called, returned, process, value, epoch=1, at=0, outcome="ok"):
        self.add(called, process, "invoke", "append", value)
        done = {"epoch": epoch, "at": at} if outcome == "ok" else None
        return self.add(returned, process, outcome, "append", done)

    def judged(self):
        return check_takeovers(laid_out(self.history()))


def owned():
    return Log(3).own(1, 2, 0, 1).append(3, 4, 0, "a")


def test_owners_that_continue_where_the_last_one_ended_are_fine():
    log = owned().own(5, 6, 1, 2, at=1).append(7, 8, 1, "b", 2, 1)
    log.append(9, 10, 0, "late", outcome="fail").append(11, 12, 0, "later", outcome="info")
    result = log.append(13, 14, 2, "of a client that never owned it", outcome="fail").judged()
    assert result.anomalies == []
    assert result.stats == {"takeovers": 2, "late": 0, "refused": 1, "unsure": 1}


def test_an_append_that_was_called_before_the_takeover_was_complete_may_be_acknowledged():
    log = owned().add(5, 1, "invoke", "own", {"timeout": 1.0}).append(6, 9, 0, "b", at=1)
    log = log.add(8, 1, "ok", "own", {"epoch": 2, "at": 2})
    assert log.judged().anomalies == []


@pytest.mark.parametrize(
    ("log", "kind"),
    [
        (owned().own(5, 6, 1, 2, at=1).append(7, 8, 0, "b", at=1), "late-append"),
        (owned().own(5, 6, 1, 2, at=0), "lost-write"),
        (
            owned()
            .add(5, 1, "invoke", "own", {"timeout": 1.0})
            .append(5, 9, 0, "b", at=2)
            .add(6, 1, "ok", "own", {"epoch": 2, "at": 1})
            .append(7, 8, 1, "c", 2, 1),
            "stale-action",
        ),
    ],
)
def test_each_broken_promise_is_found(log, kind):
    assert [anomaly.kind for anomaly in log.judged().anomalies] == [kind]


@pytest.mark.parametrize("how", ["closed", "exited"])
def test_a_client_that_began_anew_is_no_former_owner(how):
    log = owned().own(5, 6, 1, 2, at=1).session(7, 0, how)
    assert log.append(8, 9, 0, "late", outcome="fail").judged().stats["refused"] == 0


def test_whose_epoch_is_not_known_is_not_judged():
    log = owned().own(5, 6, 0, 2, outcome="info").own(7, 8, 1, 3, at=1)
    assert log.append(9, 10, 0, "?", outcome="fail").judged().stats["refused"] == 0
