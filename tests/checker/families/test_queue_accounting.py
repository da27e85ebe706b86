"""Laws of the accounts: a queue that keeps its word is never accused, one that breaks it is."""

from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.queues.fifo_queue import decide_fifo_queue
from rumpus.checker.deciders.table_builder import table_of
from rumpus.checker.families.queue_accounting import accounts, first_claims, judge_elements
from tests.checker.recorded import Recorded

CLIENTS = 3


class ClaimedQueue:
    """A queue with claims that works, driven step by step; answers may be lost."""

    def __init__(self, draw):
        self._draw = draw
        self._recorded = Recorded(CLIENTS)
        self._time = 0
        self._process = list(range(CLIENTS))
        self.waiting = []
        self.claims = {}
        self.acknowledged = []
        self.answered = []

    def history(self):
        return self._recorded.history()

    def _call(self, client, f, value, completed):
        """Record a call and what came of it, or that its answer was lost; whether it came."""
        process = self._process[client]
        self._recorded.add(self._time, process, "invoke", f, value)
        lost = self._draw(st.integers(0, 5)) == 0
        outcome = "info" if lost else "ok"
        self._recorded.add(self._time + 1, process, outcome, f, None if lost else completed)
        self._time += 2
        if lost:
            self._process[client] += CLIENTS
        return not lost

    def put(self, client):
        value = f"e{self._time}"
        self._call(client, "enqueue", {"value": value}, None)
        self.waiting.append(value)

    def take(self, client):
        self.expire(client)
        free = [value for value in self.waiting if value not in self.claims.values()]
        if free:
            self.claims[client] = free[0]
            self._call(client, "dequeue", {"timeout": 1.0}, {"value": free[0]})

    def acknowledge(self, client):
        value = self.claims.pop(client, None)
        if value is not None:
            self.waiting.remove(value)
            if self._call(client, "acknowledge", {"value": value}, None):
                self.answered.append(value)

    def expire(self, client):
        self.claims.pop(client, None)


@st.composite
def queues(draw):
    queue = ClaimedQueue(draw)
    steps = st.sampled_from([queue.put, queue.put, queue.take, queue.acknowledge, queue.expire])
    for step, client in draw(st.lists(st.tuples(steps, st.integers(0, CLIENTS - 1)), max_size=40)):
        step(client)
    return queue


def found(queue, left):
    history = queue.history()
    return judge_elements(history, accounts(history), claimed=True, left=left).anomalies


@given(queues())
def test_a_queue_that_keeps_its_word_is_not_accused(queue):
    assert found(queue, queue.waiting) == []
    history = queue.history()
    claims = first_claims(history, accounts(history))
    assert decide_fifo_queue(table_of(claims)).valid


@given(queues())
def test_what_is_missing_at_the_end_is_lost_if_it_was_put_for_certain(queue):
    history = queue.history()
    certain = {e.value for e in accounts(history).elements.values() if e.inside}
    lost = {anomaly.kind for anomaly in found(queue, [])}
    assert lost == ({"lost-element"} if certain & set(queue.waiting) else set())


@given(queues())
def test_what_comes_out_after_its_acknowledgement_came_out_twice(queue):
    for value in queue.answered[:1]:
        queue.claims.clear()
        queue.waiting.insert(0, value)
        before = len(queue.history())
        queue.take(0)
        again = [op for op in queue.history()[before:] if op.f == "dequeue" and op.type == "ok"]
        told = [anomaly.kind for anomaly in found(queue, queue.waiting)]
        assert told == ["duplicate-element"] * len(again)


def test_who_got_an_element_several_times_is_named_once():
    recorded = Recorded().add(1, 0, "invoke", "enqueue", {"value": "a"}).add(2, 0, "ok", "enqueue")
    for ms, client in ((10, 2), (20, 1), (30, 1), (40, 1)):
        recorded.add(ms, client, "invoke", "dequeue", {"timeout": 1.0})
        recorded.add(ms + 1, client, "ok", "dequeue", {"value": "a"})
    history = recorded.history()
    (anomaly,) = judge_elements(history, accounts(history), claimed=False, left=[]).anomalies
    assert anomaly.description == "'a' came out to c2 and c1 (3 times)"
