"""Tasks that scripts leave each other."""

from rumpus.harness.generators.board import Board, Task
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client, each_client
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from tests.harness.generators.dry_run import dry_run, imperfect

SECOND = 1_000_000_000
CONTEXT = WorkloadContext(Seed(4), None, 2, session_timeout=2.0, until=SECOND)


def client(number=0, time=0):
    made = Client(number, CONTEXT, Seed(1))
    made.time = time
    return made


def task(f, **more):
    return Task(Invocation(f), **more)


def test_a_client_takes_its_own_tasks_oldest_first_but_for_a_preferred_operation():
    board = Board()
    for f in ("write", "read", "read", "sync"):
        board.add(0, task(f))
    assert board.take(client(1)) is None
    assert [board.take(client(), "read").step.f for _ in range(4)] == [
        "read",
        "read",
        "write",
        "sync",
    ]
    assert board.take(client()) is None


def test_a_task_waits_for_its_moment_and_for_others():
    board = Board()
    first = task("first", at=5)
    board.add(0, task("second", others=[first]))
    board.add(1, first)
    assert board.take(client(1, time=4)) is None
    assert board.next_moment(client(1, time=4)) == 5
    assert board.next_moment(client(1, time=5)) is None
    assert board.take(client(1, time=5)) is first
    assert board.take(client(0, time=9)) is None
    first.ended = True
    assert board.take(client(0, time=9)).step.f == "second"


def test_what_a_process_was_at_when_it_ended_is_known_to_the_next_one():
    board, given_up, done = Board(), [], []

    def script(client):
        lost = board.given_up(client)
        if lost is not None:
            given_up.append(lost)
        while not client.is_over:
            mine = task("step")
            came = yield from board.do(client, mine)
            assert mine.ended
            done.append((came.type, mine))

    dry_run(each_client(script, CONTEXT), clients=2, behaviour=imperfect, most=60)
    assert {outcome for outcome, _ in done} == {"ok", "fail"}
    assert given_up
    assert all(each.ended for each in given_up)
    assert not {id(each) for each in given_up} & {id(each) for _, each in done}
