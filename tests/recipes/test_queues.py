import time

import pytest

from rumpus.recipes.outcomes import ClaimLost, NotDone
from rumpus.recipes.queue.acknowledged_queue import AcknowledgedQueue
from rumpus.recipes.queue.fifo_queue import FifoQueue
from rumpus.recipes.queue.interfaces import QueueUnknown
from rumpus.recipes.queue.kazoo_queue import KazooLockingQueue, KazooQueue
from rumpus.recipes.queue.priority_queue import PriorityQueue
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.ledger import Attempt, Ledger

TAKING = [FifoQueue, PriorityQueue, KazooQueue]
CLAIMING = [AcknowledgedQueue, KazooLockingQueue]
OURS = [FifoQueue, PriorityQueue, AcknowledgedQueue]


def take(queue, timeout=10.0):
    """Take an element for good, whatever the delivery; None if there was none."""
    if queue.delivery == "at-most-once":
        return queue.take(timeout)
    claim = queue.claim(timeout)
    if claim is None:
        return None
    claim.acknowledge()
    return claim.element


def take_at_once(queue):
    """Take what is there already. A slow machine may give no answer in time, which says nothing."""
    while True:
        try:
            return take(queue, 0)
        except NotDone:
            pass


@pytest.mark.parametrize("kind", [*TAKING, *CLAIMING])
def test_first_in_first_out(crowd, path, kind):
    producer, consumer = kind(crowd[0], path), kind(crowd[1], path)
    assert take_at_once(consumer) is None
    for number in range(12):
        producer.put(b"%d" % number)
    assert [take(consumer) for _ in range(12)] == [b"%d" % number for number in range(12)]
    assert take_at_once(consumer) is None
    assert crowd.children(kind.elements(path)) == []


@pytest.mark.parametrize("kind", [PriorityQueue, KazooQueue])
def test_the_most_urgent_comes_first_and_equals_in_turn(crowd, path, kind):
    queue = kind(crowd[0], path)
    for number, priority in enumerate((10, 9, 10, 0, 9)):
        queue.put(b"%d of %d" % (number, priority), priority=priority)
    taken = [take(queue) for _ in range(5)]
    assert taken == [b"3 of 0", b"1 of 9", b"4 of 9", b"0 of 10", b"2 of 10"]


def test_a_more_urgent_element_overtakes_those_that_a_consumer_has_seen(crowd, path):
    producer, consumer = PriorityQueue(crowd[0], path), PriorityQueue(crowd[1], path)
    for number in range(3):
        producer.put(b"%d" % number, priority=5)
    assert take(consumer) == b"0"
    producer.put(b"urgent", priority=1)
    assert take(consumer) == b"urgent"
    with pytest.raises(ValueError, match="from 0 to 99"):
        producer.put(b"too late", priority=100)


@pytest.mark.parametrize("kind", [*TAKING, *CLAIMING])
def test_every_element_to_one_consumer(crowd, path, kind):
    producer = kind(crowd[0], path)
    taken = []

    def consume(queue):
        while (element := take(queue)) != b"end":
            taken.append(element)

    consumers = [crowd.in_thread(consume, kind(crowd[number], path)) for number in (1, 2, 3)]
    for number in range(20):
        producer.put(b"%d" % number)
    for _ in consumers:
        producer.put(b"end")
    for consumer in consumers:
        consumer.result()
    assert sorted(taken, key=int) == [b"%d" % number for number in range(20)]


@pytest.mark.parametrize("kind", OURS)
def test_a_waiter_looks_again_when_its_connection_is_back(crowd, path, kind, eventually):
    producer, consumer = kind(crowd[0], path), kind(crowd[1], path)
    waiting = crowd.in_thread(take, consumer, 30)
    time.sleep(0.2)
    crowd.links.cut(1, "reset")
    eventually(lambda: not crowd[1].connected)
    producer.put(b"it")
    crowd.links.heal(1)
    assert waiting.result() == b"it"


@pytest.mark.parametrize("kind", OURS)
def test_a_waiter_whose_session_ends_waits_on_in_the_next(crowd, path, kind):
    producer, consumer = kind(crowd[0], path), kind(crowd[1], path)
    waiting = crowd.in_thread(take, consumer, 30)
    time.sleep(0.2)
    crowd.expire(1)
    producer.put(b"it")
    assert waiting.result() == b"it"


@pytest.mark.parametrize("kind", OURS)
def test_folders_that_somebody_has_deleted_are_made_again(crowd, path, kind):
    producer, consumer = kind(crowd[0], path), kind(crowd[1], path)
    folders = [each for each in (kind.elements(path), kind.claims(path)) if each is not None]
    producer.put(b"first")
    assert take(consumer) == b"first"
    for folder in folders:
        crowd[2].delete(folder)
    assert take_at_once(consumer) is None
    for folder in folders:
        crowd[2].delete(folder)
    producer.put(b"second")
    assert take(consumer) == b"second"
    waiting = crowd.in_thread(take, consumer, 30)
    time.sleep(0.2)
    for folder in folders:
        crowd[2].delete(folder)
    producer.put(b"third")
    assert waiting.result() == b"third"


@pytest.mark.parametrize("kind", OURS)
def test_elements_outlive_their_producers(crowd, path, kind):
    kind(crowd[0], path).put(b"it")
    crowd.expire(0)
    assert take(kind(crowd[1], path)) == b"it"


@pytest.mark.parametrize("kind", OURS)
def test_a_put_without_a_reply_is_made_once(crowd, path, kind, eventually):
    queue = kind(crowd[0], path)
    queue.put(b"first")
    crowd.links.cut(0, "to-client")  # carried out, and no answer comes back
    putting = crowd.in_thread(queue.put, b"second", 20)
    eventually(lambda: len(crowd.children(kind.elements(path))) == 2)
    crowd.links.cut(0, "reset")
    crowd.links.heal(0)
    putting.result()
    assert [take(queue, 1), take(queue, 1), take_at_once(queue)] == [b"first", b"second", None]


def test_a_take_without_a_reply_gets_its_element_when_it_learns_of_it(crowd, path, eventually):
    queue = FifoQueue(crowd[0], path)
    queue.put(b"first")
    queue.put(b"second")
    ledger = Ledger(crowd[0], f"{path}/ledgers")
    name = min(crowd.children(FifoQueue.elements(path)), key=lambda name: name[-10:])
    attempt = Attempt(lambda transaction: transaction.delete(f"{path}/elements/{name}"))
    ledger.open(Deadline(10))
    crowd.links.cut(0, "to-client")
    taking = crowd.in_thread(ledger.carry_out, attempt, Deadline(20))
    eventually(lambda: len(crowd.children(FifoQueue.elements(path))) == 1)
    crowd.links.cut(0, "reset")
    crowd.links.heal(0)
    taking.result()
    assert attempt.happened
    assert take(queue) == b"second"


def test_what_is_in_doubt_is_settled_by_the_next_transaction(crowd, path):
    ledger = Ledger(crowd[0], f"{path}/ledgers")
    ledger.open(Deadline(10))
    done = Attempt(lambda transaction: transaction.create(f"{path}/done"))
    lost = Attempt(lambda transaction: transaction.create(f"{path}/lost"))

    def carry_out_while_cut(attempt, way):
        crowd.links.cut(0, way)
        with pytest.raises(Exception, match="_send"):
            ledger.carry_out(attempt, Deadline(0, allowance=0.5))
        assert attempt.in_doubt
        crowd.links.cut(0, "reset")
        crowd.links.heal(0)

    carry_out_while_cut(done, "to-client")
    assert ledger.happened(done, Deadline(20))
    assert not done.in_doubt
    carry_out_while_cut(lost, "black-hole")
    ledger.touch(Deadline(20))
    assert lost.happened == (crowd.stat(f"{path}/lost") is not None)
    assert not lost.in_doubt


@pytest.mark.parametrize("kind", [FifoQueue, PriorityQueue])
def test_nothing_is_done_while_no_server_is_in_reach(crowd, path, kind, eventually):
    queue = kind(crowd[0], path, grace=0.5)
    queue.put(b"it")
    crowd.links.cut(0, "reset")
    eventually(lambda: not crowd[0].connected)
    with pytest.raises((NotDone, QueueUnknown)):
        queue.take(timeout=0.2)
    with pytest.raises((NotDone, QueueUnknown)):
        queue.put(b"other", timeout=0.2)
    crowd.links.heal(0)
    assert take(queue) == b"it"


@pytest.mark.parametrize("kind", CLAIMING)
def test_a_claim_keeps_others_away_until_it_is_given_back(crowd, path, kind):
    one, other = kind(crowd[0], path), kind(crowd[1], path)
    one.put(b"it")
    claim = one.claim(5)
    assert claim.element == b"it"
    assert crowd.stat(claim.node) is not None
    assert other.claim(0.2) is None
    waiting = crowd.in_thread(other.claim, 10)
    claim.release()
    again = waiting.result()
    assert again.element == b"it"
    again.acknowledge()
    assert crowd.children(kind.elements(path)) == []
    assert crowd.children(kind.claims(path)) == []


@pytest.mark.parametrize("kind", CLAIMING)
def test_a_dead_consumers_element_goes_to_another(crowd, path, kind):
    one, other = kind(crowd[0], path), kind(crowd[1], path)
    one.put(b"it")
    claim = one.claim(5)
    crowd.expire(0)
    assert take(other) == b"it"
    with pytest.raises(ClaimLost):
        claim.acknowledge()


def test_whoever_has_lost_a_claim_cannot_remove_what_another_works_on(crowd, path):
    one, other = (AcknowledgedQueue(crowd[number], path) for number in (0, 1))
    one.put(b"it")
    claim = one.claim(5)
    assert claim.held
    crowd.expire(0)
    assert not claim.held
    again = other.claim(5)
    with pytest.raises(ClaimLost, match="session"):
        claim.acknowledge()
    with pytest.raises(ClaimLost):
        claim.release()
    again.acknowledge()
    again.acknowledge()  # as often as one likes
    assert not again.held


def test_a_claim_of_unknown_outcome_is_given_back(crowd, path):
    one, other = AcknowledgedQueue(crowd[0], path, grace=0.5), AcknowledgedQueue(crowd[1], path)
    one.put(b"it")
    crowd.links.cut(0, "to-client")
    with pytest.raises((QueueUnknown, NotDone)):
        one.claim(0.2)
    crowd.links.cut(0, "reset")
    crowd.links.heal(0)
    assert take(other, 20) == b"it"


@pytest.mark.parametrize("kind", OURS)
def test_listeners_are_taken_off_again(crowd, path, kind):
    queue = kind(crowd[0], path)
    queue.put(b"it")
    crowd.expire(0)
    assert take(queue) == b"it"
    queue.close()
    assert not crowd[0].state_listeners


def test_a_path_is_an_absolute_one(crowd):
    with pytest.raises(ValueError, match="absolute"):
        FifoQueue(crowd[0], "mail")
