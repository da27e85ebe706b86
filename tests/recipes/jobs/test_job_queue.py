import pytest
from kazoo.exceptions import NoNodeError

from rumpus.recipes.jobs.job_queue import Jobs
from rumpus.recipes.outcomes import ClaimLost, OutcomeUnknown


@pytest.fixture
def boards(crowd, path):
    return [Jobs(crowd[number], path, grace=1.0) for number in range(3)]


def test_a_job_is_done_once_and_its_submitter_is_told(crowd, path, boards):
    submitter, *workers = boards
    name = submitter.submit(b"work", timeout=10)
    waiting = crowd.in_thread(submitter.result, name, 20)
    claim = workers[0].claim(10)
    assert (claim.job, claim.payload, claim.token) == (name, b"work", 1)
    assert workers[1].claim(0.2) is None
    workers[0].complete(
        claim, "done", also=lambda multi: multi.create(f"{path}/effect"), timeout=10
    )
    assert waiting.result() == "done"
    assert "effect" in crowd.children(path)
    assert workers[1].claim(0.2) is None
    submitter.forget(name, 10)
    with pytest.raises(KeyError):
        submitter.result(name, 10)


def test_the_job_of_a_dead_worker_goes_to_another_and_it_changes_nothing_any_more(
    crowd, path, boards
):
    slow, quick, _ = boards
    name = quick.submit(b"work", timeout=10)
    stale = slow.claim(10)
    taking = crowd.in_thread(quick.claim, 20)
    crowd.end_session(0)
    claim = taking.result()
    assert (claim.job, claim.token) == (name, stale.token + 1)
    crowd.let_find_out(0)
    with pytest.raises(ClaimLost):
        slow.complete(stale, "slow", also=lambda multi: multi.create(f"{path}/effect"), timeout=20)
    with pytest.raises(ClaimLost):
        slow.give_back(stale, 10)
    assert "effect" not in crowd.children(path)
    quick.complete(claim, "quick", timeout=10)
    assert quick.result(name, 10) == "quick"


def test_a_job_given_back_is_anybodys(boards):
    one, other, _ = boards
    one.submit(b"work", timeout=10)
    claim = one.claim(10)
    one.give_back(claim, 10)
    with pytest.raises(ClaimLost):
        one.complete(claim, "late", timeout=10)
    assert other.claim(10).token == claim.token + 1


def test_what_is_in_hand_comes_first(boards):
    worker = boards[0]
    for payload in (b"1", b"2", b"3"):
        worker.submit(payload, timeout=10)
    claim = worker.claim(10)
    assert worker.claim(10) == claim


@pytest.mark.parametrize("step", ["submit", "claim", "complete"])
def test_a_lost_connection_changes_nothing(crowd, path, boards, step):
    worker, other, _ = boards
    assert other.claim(0.1) is None  # lays the folders out

    def broken(at):
        if at == step:
            crowd.links.cut(0, "reset")
            crowd.links.heal(0)

    broken("submit")
    name = worker.submit(b"work", job="j", timeout=20)
    assert worker.submit(b"work", job="j", timeout=20) == name
    broken("claim")
    claim = worker.claim(20)
    broken("complete")
    worker.complete(
        claim, "done", also=lambda m: m.create(f"{path}/effect-", sequence=True), timeout=20
    )
    worker.complete(claim, "done", timeout=20)  # as after OutcomeUnknown
    assert worker.submit(b"work", job="j", timeout=20) == name  # done: not anew
    assert other.claim(0.2) is None
    assert len([child for child in crowd.children(path) if child.startswith("effect")]) == 1


def test_a_submission_without_servers_is_unknown(crowd, boards):
    boards[0].submit(b"before", timeout=10)
    crowd.links.cut(0, "black-hole")
    with pytest.raises(OutcomeUnknown, match="may have been submitted"):
        boards[0].submit(b"work", job="j", timeout=0.2)
    crowd.links.heal(0)
    assert boards[0].submit(b"work", job="j", timeout=20) == "j"
    with pytest.raises(ValueError, match="not done"):
        boards[0].forget("j", 10)


def test_what_else_is_refused_is_told_and_changes_nothing(boards):
    worker = boards[0]
    worker.submit(b"work", timeout=10)
    claim = worker.claim(10)
    with pytest.raises(NoNodeError):
        worker.complete(claim, "done", also=lambda multi: multi.delete("/no/such"), timeout=10)
    worker.complete(claim, "done", timeout=10)
