"""What a client of a queue does with its recipe, and what it tells of it."""

from types import SimpleNamespace

import pytest

from rumpus.harness.clients.client_body import Leaves
from rumpus.recipes.outcomes import ClaimLost
from rumpus.recipes.queue.interfaces import QueueUnknown
from rumpus.workloads.framework.workload import OpenClient
from rumpus.workloads.queues.priority_queue import PRIORITY_QUEUE
from rumpus.workloads.queues.queue import QUEUE, Consumer


class Claim:
    element = b"x"

    def __init__(self, error=None):
        self._error = error

    def acknowledge(self, _timeout):
        if self._error:
            raise self._error

    release = acknowledge


class Recipe:
    """Gives out, or raises, what it is told to."""

    def __init__(self, *, gives=None, claims=False, sees_empty=True):
        self.delivery = "at-least-once" if claims else "at-most-once"
        self.sees_empty = sees_empty
        self.puts = []
        self._gives = gives

    def put(self, element, timeout, **more):
        self.puts.append((element, timeout, more))

    def take(self, _timeout):
        if isinstance(self._gives, Exception):
            raise self._gives
        return self._gives

    claim = take


def invoke(recipe, f, value=None, workload=QUEUE, claim=None):
    outcome = OpenClient(workload, Consumer(None, recipe, claim)).invoke(f, value)
    return outcome.type, outcome.value


def test_priorities_are_passed_on_where_there_are_some():
    recipe = Recipe()
    asked = {"value": "x", "timeout": 1.5}
    assert invoke(recipe, "enqueue", asked) == ("ok", None)
    assert invoke(recipe, "enqueue", {**asked, "priority": 3}, PRIORITY_QUEUE) == ("ok", None)
    assert recipe.puts == [(b"x", 1.5, {}), (b"x", 1.5, {"priority": 3})]


@pytest.mark.parametrize(
    ("recipe", "told"),
    [
        (Recipe(gives=b"x"), ("ok", {"value": "x"})),
        (Recipe(), ("ok", {"value": None})),
        (Recipe(sees_empty=False), ("fail", None)),
        (Recipe(gives=QueueUnknown("no answer", b"x")), ("info", {"value": "x"})),
        (Recipe(gives=QueueUnknown("no answer")), ("info", None)),
        (Recipe(gives=Claim(), claims=True), ("ok", {"value": "x"})),
        (Recipe(claims=True), ("fail", None)),
    ],
)
def test_what_comes_out_is_told_and_that_nothing_does_where_it_is_certain(recipe, told):
    assert invoke(recipe, "dequeue", {"timeout": 1.0}) == told


@pytest.mark.parametrize("way", ["acknowledge", "release"])
@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (Claim(), "ok"),
        (Claim(ClaimLost("it had ended")), "fail"),
        (Claim(QueueUnknown("no answer")), "info"),
        (None, "fail"),
    ],
)
def test_only_what_is_claimed_can_be_acknowledged_or_given_back(way, claim, told):
    assert invoke(Recipe(claims=True), way, {"value": "x"}, claim=claim)[0] == told
    assert invoke(Recipe(claims=True), way, {"value": "y"}, claim=claim)[0] == "fail"


def test_an_acknowledgement_of_unknown_outcome_can_be_tried_again():
    consumer = Consumer(None, Recipe(claims=True), Claim(QueueUnknown("no answer")))
    client = OpenClient(QUEUE, consumer)
    assert [client.invoke("acknowledge", {"value": "x"}).type for _ in "12"] == ["info", "info"]
    consumer.claim = Claim()
    assert [client.invoke("acknowledge", {"value": "x"}).type for _ in "12"] == ["ok", "fail"]


def test_who_leaves_does_so():
    with pytest.raises(Leaves):
        invoke(SimpleNamespace(), "leave")
