"""A database whose primary fails over, on simulated and on real servers."""

import pytest

from rumpus.harness.clients.home import MemoryHome
from rumpus.recipes.failover.catalogue import FAILOVER
from rumpus.recipes.failover.client import FailoverClient
from rumpus.recipes.failover.database import FailoverDatabase
from rumpus.recipes.failover.primary_directory import Primary, PrimaryDirectory
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import Caller, LineServer, NoAnswer, Unheard, ask_once

MEMBERS = 3
PATIENCE = 20.0


@pytest.fixture
def group(crowd, path):
    members = {}
    homes = [MemoryHome() for _ in range(MEMBERS)]

    def join(number, kind=FailoverDatabase):
        if number in members:
            members.pop(number).close()
        members[number] = kind(
            crowd[number],
            path,
            name=f"c{number}",
            members=MEMBERS,
            host="127.0.0.1",
            files=homes[number],
        )
        return members[number]

    yield join
    for member in members.values():
        member.close()


@pytest.mark.parametrize("name", ["quorum", "kazoo-election"])
def test_what_is_written_survives_its_primary(crowd, path, group, eventually, name):
    kind = FAILOVER[name].recipe
    members = [group(number, kind) for number in range(MEMBERS)]
    user = FailoverClient(crowd[5], path)
    first = user.write("a", PATIENCE)
    primary = next(n for n, member in enumerate(members) if member.remaining() > 0)
    members[primary].close()
    crowd.expire(primary)
    second = user.write("b", PATIENCE)
    assert second["epoch"] > first["epoch"]
    assert user.read(PATIENCE) == ["a", "b"]
    again = group(primary, kind)  # with its files
    assert eventually(lambda: again.values() == ["a", "b"])
    directory = PrimaryDirectory(crowd[5], path)
    expected = {second["epoch"]}
    assert eventually(
        lambda: {epoch for epoch, _ in directory.replicas(Deadline(5)).values()} == expected
    )


def test_a_primary_without_a_majority_acknowledges_nothing(crowd, path, group):
    group(0)
    with pytest.raises(NotDone):
        FailoverClient(crowd[5], path).write("a", 1.0)


def test_a_later_primary_is_not_overwritten_by_an_earlier_one(crowd, path):
    directory = PrimaryDirectory(crowd[0], path)
    assert directory.find(Deadline(5)) is None
    later, earlier = (Primary(epoch, f"m{epoch}", ("here", epoch)) for epoch in (7, 6))
    assert directory.publish(later, Deadline(5))
    assert directory.publish(later, Deadline(5))
    assert not directory.publish(earlier, Deadline(5))
    assert directory.find(Deadline(5)) == later


def test_questions_are_answered_in_order_and_an_end_is_noticed():
    server = LineServer("127.0.0.1", lambda question: {"twice": 2 * question["number"]})
    caller = Caller(server.address, 5.0)
    assert [caller.ask({"number": n})["twice"] for n in range(3)] == [0, 2, 4]
    caller.close()
    server.close()
    with pytest.raises(Unheard):
        ask_once(server.address, {"number": 1}, 1.0)


def test_an_answer_that_does_not_come_is_told_from_a_question_that_nobody_heard():
    server = LineServer("127.0.0.1", lambda _: {"is": int("no number")})
    with pytest.raises(NoAnswer):
        ask_once(server.address, {}, 0.5)
    server.close()
