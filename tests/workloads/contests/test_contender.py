"""The client's side of an operation, with a recipe and a server in memory."""

import dataclasses
import types

import pytest
from kazoo.exceptions import ConnectionLoss, NoNodeError

from rumpus.harness.clients import leftovers
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.messages import Acted
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.promises import Line
from rumpus.workloads.contests import contender
from rumpus.workloads.contests.contender import Contender
from rumpus.workloads.contests.lock import LOCK
from rumpus.workloads.framework.workload import OpenClient

PATH = "/rumpus/lock"


class Clock:
    """Stands for the module's ``time``."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Recipe:
    """Answers what it is told to: a value, or an exception to be raised."""

    session = -2
    token = 7
    node = f"{PATH}/x-contender-0000000001"

    def __init__(self):
        self.granted = True
        self.released = None
        self.held_for = 1_000_000
        self.timeouts = []

    def acquire(self, timeout):
        self.timeouts.append(timeout)
        return self._give(self.granted)

    def release(self):
        return self._give(self.released)

    @property
    def held(self):
        self.held_for -= 1
        return self.held_for >= 0

    @staticmethod
    def _give(answer):
        if isinstance(answer, Exception):
            raise answer
        return answer


class Answer:
    def __init__(self, value):
        self._value = value

    def get(self, timeout):
        assert timeout > 0
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


@dataclasses.dataclass
class Stat:
    ephemeralOwner: int  # noqa: N815 - kazoo's name
    czxid: int


class Kazoo:
    """Znodes by path. ``losses``: how many requests still go unanswered."""

    handler = types.SimpleNamespace(timeout_exception=TimeoutError)

    def __init__(self, clock):
        self.nodes = {}
        self.losses = 0
        self.vanishing = {}
        self._clock = clock

    def sync_async(self, _path):
        if self.losses:
            self.losses -= 1
            return Answer(ConnectionLoss())
        for path, at in list(self.vanishing.items()):
            if self._clock.now >= at:
                self.nodes.pop(path)
                del self.vanishing[path]
        return Answer(PATH)

    def get_children_async(self, path):
        if path not in self.nodes:
            return Answer(NoNodeError())
        return Answer([n.rpartition("/")[2] for n in self.nodes if n.rpartition("/")[0] == path])

    def exists_async(self, path):
        return Answer(self.nodes.get(path))


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(contender, "time", clock)
    monkeypatch.setattr(leftovers, "time", clock)
    return clock


class Client:
    """The client under test, with what surrounds it."""

    def __init__(self, clock, line, remaining=None):
        self.clock = clock
        self.recipe = Recipe()
        self.kazoo = Kazoo(clock)
        self.acted = []
        self.answers = []
        context = ClientContext(0, 0, self.kazoo, self._act, lambda: None)
        if remaining is not None:
            self.recipe.remaining = lambda: remaining
        self._client = OpenClient(LOCK, Contender(context, self.recipe, line))
        self.believes = self._client.believes

    def _act(self, token):
        self.acted.append((self.clock.now, token))
        return self.answers.pop(0) if self.answers else Acted(accepted=True, order=0)

    def invoke(self, f, **value):
        outcome = self._client.invoke(f, value or None)
        return outcome.type, outcome.value, outcome.error


@pytest.fixture
def client(clock):
    return Client(clock, Line("sequential", PATH, "-contender-"))


def test_a_grant_says_under_which_session_token_and_node(client):
    assert client.invoke("acquire", timeout=1.5) == (
        "ok",
        {"session": "0xfffffffffffffffe", "token": 7, "node": Recipe.node},
        None,
    )
    assert client.recipe.timeouts == [1.5]


def test_a_grant_without_session_is_a_grant(client):
    client.recipe.session = None
    assert client.invoke("acquire", timeout=1)[1]["session"] is None


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (False, ("fail", None, "timed out")),
        (NotHeld("lost"), ("fail", None, "lost")),
        (LockUnknown("no answer"), ("info", None, "no answer")),
    ],
)
def test_an_acquire_that_is_no_grant(client, answer, outcome):
    client.recipe.granted = answer
    assert client.invoke("acquire", timeout=1) == outcome


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (None, ("ok", None, None)),
        (NotHeld("lost"), ("fail", None, "lost")),
        (LockUnknown("no answer"), ("info", None, "no answer")),
    ],
)
def test_a_release(client, answer, outcome):
    client.recipe.released = answer
    assert client.invoke("release") == outcome


def test_what_a_recipe_raises_else_is_nobodys_to_explain(client):
    client.recipe.granted = RuntimeError("defect")
    with pytest.raises(RuntimeError, match="defect"):
        client.invoke("acquire", timeout=1)


def test_an_operation_of_another_workload_is_refused(client):
    with pytest.raises(ValueError, match="knows no operation 'enqueue'"):
        client.invoke("enqueue")


def test_believing_is_the_recipes_word(client):
    client.recipe.held_for = 1
    assert [client.believes(), client.believes()] == [True, False]


def test_work_acts_at_once_and_pauses_between(client):
    assert client.invoke("work", acts=3, pause=0.25) == ("ok", {"acts": 3}, None)
    assert client.acted == [(0.0, 7), (0.25, 7), (0.5, 7)]


def test_work_stops_when_it_is_no_longer_held(client):
    client.recipe.held_for = 2
    assert client.invoke("work", acts=3, pause=0.25) == ("fail", {"acts": 2}, "no longer held")
    assert len(client.acted) == 2


def test_work_stops_when_the_fence_refuses(client):
    client.answers = [Acted(accepted=True, order=0), Acted(accepted=False, order=1)]
    outcome = client.invoke("work", acts=3, pause=0.25)
    assert outcome == ("fail", {"acts": 1}, "refused by the fence")
    assert len(client.acted) == 2


def test_looking_at_a_line_that_is_not_there_finds_nothing(client):
    assert client.invoke("inspect", patience=3.0) == ("ok", {"nodes": []}, None)


def test_looking_finds_contenders_only(client):
    client.kazoo.nodes = {
        PATH: Stat(0, 1),
        f"{PATH}/a-contender-0000000002": Stat(-2, 5),
        f"{PATH}/b-contender-0000000001": Stat(0, 4),
        f"{PATH}/other-0000000009": Stat(0, 6),
        f"{PATH}/c-contender-": Stat(0, 7),
    }
    outcome, value, _ = client.invoke("inspect", patience=3.0)
    assert outcome == "ok"
    assert value["nodes"] == [
        {"path": f"{PATH}/a-contender-0000000002", "owner": "0xfffffffffffffffe", "czxid": 5},
        {"path": f"{PATH}/b-contender-0000000001", "owner": None, "czxid": 4},
    ]
    assert client.clock.now > 3.0


def test_looking_waits_for_sessions_of_the_dead(client):
    path = f"{PATH}/a-contender-0000000002"
    client.kazoo.nodes = {PATH: Stat(0, 1), path: Stat(-2, 5)}
    client.kazoo.vanishing = {path: 1.0}
    assert client.invoke("inspect", patience=3.0) == ("ok", {"nodes": []}, None)
    assert 1.0 <= client.clock.now < 1.5


def test_a_look_without_an_answer_is_no_look(client):
    client.kazoo.losses = 1
    outcome, _, error = client.invoke("inspect", patience=3.0)
    assert outcome == "fail"
    assert error.startswith("ConnectionLoss")


def test_looking_at_a_single_node(clock):
    client = Client(clock, Line("single", PATH))
    client.kazoo.nodes = {PATH: Stat(3, 9), f"{PATH}/child-0000000001": Stat(0, 10)}
    _, value, _ = client.invoke("inspect", patience=0.0)
    assert value["nodes"] == [{"path": PATH, "owner": "0x3", "czxid": 9}]


def test_a_slow_action_takes_effect_whatever_has_become_of_the_hold(client):
    client.recipe.held_for = 1
    assert client.invoke("work", acts=2, pause=0.0, seconds=4.0) == (
        "fail",
        {"acts": 1},
        "no longer held",
    )
    assert client.acted == [(4.0, 7)]


@pytest.mark.parametrize(("left", "acts"), [(4.1, 1), (4.0, 0), (3.9, 0)])
def test_a_guarded_action_begins_only_if_enough_of_the_window_is_left(client, left, acts):
    client = Client(client.clock, Line("sequential", PATH, "-contender-"), remaining=left)
    kind, value, error = client.invoke("work", acts=1, pause=0.0, seconds=4.0, guard=4.0)
    assert value == {"acts": acts}
    assert len(client.acted) == acts
    assert (kind, error) == (("ok", None) if acts else ("fail", "too little of the window is left"))
