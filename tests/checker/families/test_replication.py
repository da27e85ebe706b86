import pytest

from rumpus.checker.families.replication import check_recovery, check_replication
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


class Log(Recorded):
    """Records what is written to a replicated log, and read of it."""

    def append(self, called, returned, process, value, epoch=1, at=0, outcome="ok"):
        self.add(called, process, "invoke", "append", value)
        done = {"epoch": epoch, "at": at} if outcome == "ok" else None
        return self.add(returned, process, outcome, "append", done)

    def read(self, called, returned, process, *values):
        self.add(called, process, "invoke", "read")
        return self.add(returned, process, "ok", "read", list(values))

    def final(self, ms, healed=True):
        return self.add(ms, "control", "info", "phase", {"phase": "final", "healed": healed})

    def kinds(self):
        return [anomaly.kind for anomaly in check_replication(laid_out(self.history())).anomalies]

    def recovery(self):
        result = check_recovery(laid_out(self.add(9_000, "control", "info", "phase-end").history()))
        return [(anomaly.kind, anomaly.clients) for anomaly in result.anomalies], result


def test_writes_that_stay_in_one_order_are_fine_over_a_change_of_primary():
    log = Log().append(1, 2, 0, "a").append(3, 4, 1, "b", at=1).append(5, 6, 0, "c", 4, 3)
    assert log.read(7, 8, 2, "a", "b", "c").kinds() == []


def test_what_is_not_known_to_be_written_may_be_there_or_not():
    log = Log().append(1, 2, 0, "a", outcome="info").append(3, 4, 1, "b", outcome="info")
    assert log.read(5, 6, 2, "b").kinds() == []


def test_a_read_may_come_before_a_write_that_overlaps_it():
    assert (
        Log().add(1, 2, "invoke", "read").append(2, 3, 0, "a").add(4, 2, "ok", "read", []).kinds()
        == []
    )


@pytest.mark.parametrize(
    ("log", "kinds"),
    [
        (Log().append(1, 2, 0, "a").read(3, 4, 1), ["lost-write"]),
        (Log().append(1, 2, 0, "a", 1, 5).append(3, 4, 1, "b", 2, 5), ["lost-write"]),
        (Log().append(1, 2, 0, "a").read(3, 4, 1, "a", "a"), ["duplicate-element"]),
        (Log().read(3, 4, 1, "x"), ["phantom-element"]),
        (Log().append(1, 2, 0, "a", outcome="fail").read(3, 4, 1, "a"), ["phantom-element"]),
        (Log().read(1, 2, 1, "a").append(3, 4, 0, "a"), ["phantom-element"]),
        (
            Log().append(1, 2, 0, "a").append(3, 4, 0, "b", at=1).read(5, 6, 1, "b", "a"),
            ["out-of-order"],
        ),
        (
            Log()
            .append(1, 9, 0, "a")
            .append(1, 9, 1, "b", at=1)
            .read(10, 11, 0, "a", "b")
            .read(12, 13, 1, "b", "a"),
            ["out-of-order"],
        ),
        (
            Log().append(1, 2, 0, "a", epoch=5).append(3, 4, 1, "b", epoch=2, at=1),
            ["stale-action"],
        ),
    ],
)
def test_each_anomaly_is_named(log, kinds):
    assert log.kinds() == kinds


def test_a_write_that_is_lost_is_reported_once():
    log = Log().append(1, 2, 0, "a").read(3, 4, 1).read(5, 6, 2)
    assert log.kinds() == ["lost-write"]


def test_an_older_epoch_may_be_acknowledged_by_who_was_asked_before_the_newer_one_was():
    log = Log().add(1, 0, "invoke", "append", "a").append(2, 3, 1, "b", epoch=5, at=1)
    log.add(4, 0, "ok", "append", {"epoch": 2, "at": 0})
    assert log.kinds() == []


def test_who_cannot_write_in_the_end_is_stuck_and_if_nobody_can_there_is_no_leader():
    log = Log(clients=2).final(1).append(2, 3, 0, "a").append(2, 3, 1, "b", outcome="fail")
    assert log.recovery()[0] == [("stuck-waiter", [1])]
    log = Log(clients=2).final(1)
    log.append(2, 3, 0, "a", outcome="info").append(2, 3, 1, "b", outcome="fail")
    assert log.recovery()[0] == [("leaderless", [0]), ("leaderless", [1])]


def test_a_copy_that_does_not_become_the_primarys_is_stuck():
    log = Log(clients=1).final(1).append(2, 3, 0, "a")
    log.add(4, 0, "invoke", "converge", {}).add(5, 0, "fail", "converge", error="0 of 1")
    assert log.recovery()[0] == [("stuck-waiter", [0])]


def test_nothing_is_asked_of_a_run_that_was_not_healed_and_too_little_is_no_pass():
    assert Log(clients=1).final(1, healed=False).recovery()[1].unknown
    assert not Log(clients=2).final(1).append(2, 3, 0, "a").recovery()[1].requirements[0].met
