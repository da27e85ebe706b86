"""Logs with one owner, on simulated and on real servers."""

import pytest

from rumpus.harness.clients.home import MemoryHome
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.sealed_log.catalogue import SEALED_LOGS
from rumpus.recipes.sealed_log.sealed_log import SealedLog
from rumpus.recipes.sealed_log.token_log import TokenLog

REPLICAS = ("c0", "c1", "c2")
PATIENCE = 20.0
SOUND = [name for name, entry in SEALED_LOGS.items() if not entry.faulty]


@pytest.fixture
def logs(crowd, path):
    opened = {}
    homes = [MemoryHome() for _ in REPLICAS]

    def open_log(number, kind):
        if number in opened:
            opened.pop(number).close()
        opened[number] = kind(
            crowd[number],
            path,
            name=f"c{number}",
            replicas=REPLICAS,
            host="127.0.0.1",
            files=homes[number] if number < len(homes) else MemoryHome(),
        )
        return opened[number]

    yield open_log
    for log in opened.values():
        log.close()


def handed_over(logs, kind):
    """A former owner that has written two values, and its successor, which has written none."""
    former, successor, _ = (logs(number, kind) for number in range(len(REPLICAS)))
    epoch, at = former.take_over(PATIENCE)
    assert at == 0
    assert former.append("a", PATIENCE) == (epoch, 0)
    assert former.append("b", PATIENCE) == (epoch, 1)
    former.release()
    later, at = successor.take_over(PATIENCE)
    assert later > epoch
    assert at == 2
    return former, successor


@pytest.mark.parametrize("name", SOUND)
def test_a_new_owner_continues_and_the_former_one_is_refused(logs, name):
    former, successor = handed_over(logs, SEALED_LOGS[name].recipe)
    assert successor.append("c", PATIENCE).at == 2
    for _ in range(2):
        with pytest.raises(NotDone):
            former.append("late", PATIENCE)
    assert former.read(PATIENCE) == successor.read(PATIENCE) == ["a", "b", "c"]


def test_a_seal_stops_the_former_owner_before_its_successor_has_written(logs):
    former, successor = handed_over(logs, SealedLog)
    with pytest.raises(NotDone):
        former.append("late", PATIENCE)
    assert successor.append("c", PATIENCE).at == 2


def test_a_token_stops_the_former_owner_once_its_successor_has_written(logs):
    former, successor = handed_over(logs, TokenLog)
    assert former.append("late", PATIENCE).at == 2
    assert successor.append("c", PATIENCE).at == 3
    with pytest.raises(NotDone):
        former.append("later", PATIENCE)
    assert successor.read(PATIENCE) == ["a", "b", "late", "c"]


@pytest.mark.parametrize("name", SOUND)
def test_without_a_majority_nothing_is_acknowledged_or_taken_over(logs, name):
    kind = SEALED_LOGS[name].recipe
    log, *others = (logs(number, kind) for number in range(len(REPLICAS)))
    log.take_over(PATIENCE)
    log.append("a", PATIENCE)
    for other in others:
        other.close()
    with pytest.raises(OutcomeUnknown):
        log.append("b", 1.0)
    log.release()
    with pytest.raises(NotDone):
        log.take_over(1.0)


@pytest.mark.parametrize("name", SOUND)
def test_replicas_come_back_with_their_disks_at_other_addresses(logs, name):
    kind = SEALED_LOGS[name].recipe
    _, successor = handed_over(logs, kind)
    successor.release()
    again, *_ = (logs(number, kind) for number in range(len(REPLICAS)))  # the old ones are closed
    assert again.take_over(PATIENCE).at == 2
    again.append("c", PATIENCE)
    assert again.read(PATIENCE) == ["a", "b", "c"]
    again.take_over(PATIENCE)
    again.repair(PATIENCE)
    assert again.on_disk(PATIENCE) == ["a", "b", "c"]


def test_an_entry_that_only_one_replica_has_is_kept_if_the_seal_finds_it(logs):
    """The writer learns from the file's length that its last entry is in the log."""
    former, successor, third = (logs(number, SealedLog) for number in range(len(REPLICAS)))
    former.take_over(PATIENCE)
    former.append("a", PATIENCE)
    for deaf in (successor, third):
        deaf.replica.cut_off(["c0"], 3.0)
    with pytest.raises(OutcomeUnknown):
        former.append("b", 0.5)
    former.release()
    at = successor.take_over(PATIENCE).at
    assert at in (1, 2), "the majority that was sealed may be that without the entry"
    assert successor.read(PATIENCE) == ["a", "b"][:at]
