from rumpus.results.signatures import signatures as signatures_of
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def signatures(history):
    return signatures_of(laid_out(history))


def lock(rounds=1, client=0):
    recorded = Recorded().session(0, client, "connected")
    for number in range(rounds):
        recorded.acquire(100 * number + 20, 100 * number + 30, client)
        recorded.release(100 * number + 40, 100 * number + 50, client)
    return recorded.history()


def test_how_often_does_not_count():
    assert signatures(lock(rounds=2)) == signatures(lock(rounds=5)) > signatures(lock())


def test_who_does_not_count():
    assert signatures(lock(client=0)) == signatures(lock(client=1))


def test_what_befalls_a_client_counts():
    calm = lock(rounds=2)
    lost = Recorded().session(0, 0, "connected").session(25, 0, "suspended")
    for number in range(2):
        lost.acquire(100 * number + 20, 100 * number + 30, 0)
        lost.release(100 * number + 40, 100 * number + 50, 0)
    assert signatures(lost.history()) - signatures(calm)


def test_faults_in_force_count():
    recorded = Recorded().session(0, 0, "connected")
    recorded.add(5, "nemesis", "invoke", "start", {"id": "1", "kind": "kill", "targets": []})
    recorded.add(
        10,
        "nemesis",
        "info",
        "start",
        {"id": "1", "kind": "kill", "targets": ["n1"], "verified": True},
    )
    recorded.acquire(20, 30, 0).release(40, 50, 0)
    assert not signatures(recorded.history()) >= signatures(lock()) - signatures(
        Recorded().history()
    )
