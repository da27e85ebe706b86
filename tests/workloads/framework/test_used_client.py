"""How clients use a recipe where the usage says something else than usual."""

import threading
import time

import msgspec
import pytest
from kazoo.exceptions import NotEmptyError

from rumpus.checker.history import Op
from rumpus.checker.timeline.holds import Words
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client, Rest
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.usage import Usage
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.promises import Line
from rumpus.workloads.framework.open_client import OpenClient
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.framework.other_threads import Meanwhile
from rumpus.workloads.framework.used_client import STORM, UsedClient, paced, without_storms
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.registry import WORKLOADS


class Answer:
    def __init__(self, value=None, error=None):
        self.value, self.error = value, error

    def wait(self, _seconds):
        return True

    def get(self, **_):
        if self.error:
            raise self.error
        return self.value

    get_nowait = get

    def successful(self):
        return self.error is None

    def rawlink(self, called):
        called(self)


class Kazoo:
    def __init__(self):
        self.calls = []
        self.error = None

    def stop(self):
        self.calls.append("stop")

    def start_async(self):
        self.calls.append("start")
        return Answer()

    def add_auth_async(self, scheme, credential):
        self.calls.append(f"auth {scheme} {credential}")

    def delete_async(self, path):
        self.calls.append(f"delete {path}")
        return Answer(error=self.error)

    def exists_async(self, path):
        self.calls.append(f"exists {path}")
        return Answer()

    def create_async(self, path, **_):
        self.calls.append(f"create {path}")
        return Answer(f"{path}1")


def looked_until(client, seen):
    """Note what the client believes at each look, until it was seen; returns the event."""
    reached = threading.Event()

    def look():
        beliefs.append(client.believes())
        if beliefs[-len(seen) :] == seen:
            reached.set()

    beliefs = []
    client._context = msgspec.structs.replace(client._context, look_at_belief=look)
    return reached


class Thing:
    line_kind = "sequential"

    def __init__(self, name):
        self.name = name
        self.holds = False
        self.error = None

    @classmethod
    def line(cls, path):
        return Line(kind=cls.line_kind, path=f"{path}/line")


class One(Thing):
    line_kind = "single"


class Shelf(Workload):
    """Things that are held."""

    name = "shelf"
    main = "acquire"
    holding = Words()
    exchangeable = True

    def open(self, recipe, context):
        self.opened = [*getattr(self, "opened", []), recipe(context.name)]
        return self.opened[-1]

    def load(self, client):  # noqa: ARG002 - the base's
        while True:
            yield self.acquire()
            yield self.work()

    def final(self):
        return []

    def believes(self, opened):
        return opened.holds

    @operation()
    def acquire(self, thing) -> str:
        if thing.error is not None:
            raise thing.error
        thing.holds = True
        return str(id(thing))

    @operation()
    def work(self, thing) -> str:
        return str(id(thing))

    @operation()
    def release(self, thing) -> None:
        thing.holds = False


class Box(Shelf):
    """Things that nobody contends for."""

    name = "box"
    holding = None
    exchangeable = False


def used(recipe=Thing, workload_class=Shelf, **usage):
    kazoo = Kazoo()
    context = ClientContext(2, 2, kazoo, lambda _: None, lambda: None)
    workload = workload_class()
    return UsedClient(workload, recipe, context, Usage(**usage)), workload, kazoo


def cycle(client):
    """The objects that an acquire, a work and a release went to."""
    at = client.invoke("acquire", None).value
    assert client.believes()
    assert client.invoke("work", None).value == at
    client.invoke("release", None)
    assert not client.believes()
    return at


def test_objects_take_turns_and_a_hold_stays_with_one():
    client, workload, _ = used(objects=3)
    places = [cycle(client) for _ in range(6)]
    assert len(workload.opened) == 3
    assert len(set(places)) == 3
    assert places[:3] == places[3:]


def test_a_fresh_object_each_time():
    client, workload, _ = used(fresh=True)
    first = len(workload.opened)
    places = [cycle(client) for _ in range(4)]
    assert len(workload.opened) == first + 4
    assert len(set(places)) == 4


def test_a_second_acquire_within_a_hold_goes_to_the_same_object():
    client, _, _ = used(objects=2)
    first = client.invoke("acquire", None).value
    assert client.invoke("acquire", None).value == first
    client.invoke("release", None)
    assert client.invoke("work", None).value == first
    client.invoke("release", None)
    assert client.invoke("acquire", None).value != first


def test_after_an_unknown_outcome_the_release_goes_to_the_same_object():
    client, workload, _ = used(objects=2)
    for thing in workload.opened:
        thing.error = OutcomeUnknown("no answer")
    assert client.invoke("acquire", None).type == "info"
    tried = client._opened
    client.invoke("release", None)
    assert client._opened is tried
    client.invoke("acquire", None)
    assert client._opened is not tried


def test_a_client_that_did_not_get_it_may_go_on_with_another_object():
    client, workload, _ = used(objects=2)
    workload.opened[1].error = NotDone("timed out")
    assert client.invoke("acquire", None).type == "fail"
    assert client.invoke("acquire", None).value == str(id(workload.opened[0]))


def test_a_client_is_stopped_and_started_only_while_it_holds_nothing():
    client, _, kazoo = used(restarts=1.0)
    client.invoke("acquire", None)
    assert kazoo.calls == ["stop", "start"]
    client.invoke("acquire", None)
    client.invoke("work", None)
    assert kazoo.calls == ["stop", "start"]


def test_the_time_of_a_restart_is_time_of_the_call(monkeypatch):
    """The call is recorded from before that on: its recipe has so much less time."""

    def done(_):
        return Outcome("ok")

    client, _, _ = used(restarts=1.0)
    moments, asked = iter((10.0, 13.0, 20.0, 29.0)), []
    monkeypatch.setattr("time.monotonic", lambda: next(moments))
    monkeypatch.setattr(OpenClient, "invoke", lambda _, _f, value: done(asked.append(value)))
    client.invoke("acquire", {"timeout": 5.0})
    client.invoke("release", None)
    client.invoke("acquire", {"timeout": 5.0})
    assert asked == [{"timeout": 2.0}, None, {"timeout": 0.0}]


def test_the_parent_of_the_line_is_deleted_if_it_can_be():
    client, _, kazoo = used(vanishing=1.0)
    kazoo.error = NotEmptyError()
    assert client.invoke("acquire", None).type == "ok"
    assert kazoo.calls == ["delete /rumpus/shelf/line"]


class Folders(Box):
    """Things that nobody contends for, below folders."""

    def parents(self, recipe):  # noqa: ARG002 - the base's
        return ["/rumpus/box/elements", "/rumpus/box/claims"]


def test_folders_of_what_nobody_contends_for_are_deleted_before_the_main_operation():
    client, _, kazoo = used(workload_class=Folders, vanishing=1.0)
    kazoo.error = NotEmptyError()
    client.invoke("work", None)
    assert kazoo.calls == []
    assert client.invoke("acquire", None).type == "ok"
    assert kazoo.calls == ["delete /rumpus/box/elements", "delete /rumpus/box/claims"]


@pytest.mark.parametrize(
    ("workload", "recipe", "parents"),
    [
        ("lock", "fair", ["/rumpus/lock"]),
        ("lock", "kazoo.recipe.lock:Lock", ["/rumpus/lock"]),
        ("election", "kazoo.recipe.election:Election", ["/rumpus/election"]),
        ("lock", "tests.workloads.framework.test_used_client:Foreign", []),
        ("barrier", "kazoo", []),
    ],
)
def test_it_is_known_which_parents_may_be_deleted(workload, recipe, parents):
    workload = WORKLOADS[workload]
    assert list(workload.parents(workload.recipe_of(recipe))) == parents


class Foreign:
    """A lock of which nobody says where its nodes are: its path may be one that somebody needs."""

    def __init__(self, client, path):
        pass

    def acquire(self, timeout):
        pass

    def release(self):
        pass


def test_a_node_that_is_the_lock_itself_is_left_alone():
    client, _, kazoo = used(One, vanishing=1.0)
    client.invoke("acquire", None)
    assert kazoo.calls == []


def test_a_holder_sends_other_requests_too():
    client, _, kazoo = used(traffic=2)
    client.invoke("acquire", None)
    assert kazoo.calls == []
    client.invoke("work", None)
    busy = "/rumpus/shelf-busy"
    assert kazoo.calls == [f"exists {busy}", f"create {busy}", f"delete {busy}1"]


def test_the_usual_client_is_made_where_the_usage_is_usual():
    options = Shelf().options("thing", 3)
    assert "usage" not in options
    assert Shelf().options("thing", 3, usage=Usage(objects=2))["usage"] == "objects=2"


def steps_of(usage, count, until=10**12):
    """The first steps of the script, each answered at once."""
    context = WorkloadContext(Seed(1), Thing, 1, 2.0, until=until, usage=usage)
    client = Client(0, context, Seed(2))
    steps = paced(Shelf().load, usage)(client)
    step, found = next(steps), []
    for _ in range(count):
        found.append(step)
        step = steps.send(Op(index=0, time=0, process=0, type="ok", f="acquire"))
    return found


def test_clients_rest_before_each_operation_if_they_think():
    found = steps_of(Usage(think=0.5), 8)
    assert [type(step) for step in found] == [Rest, Invocation] * 4
    assert all(0 <= step.seconds <= 0.5 for step in found[::2])
    assert len({step.seconds for step in found[::2]}) == 4


def test_bursts_have_no_rests_inside():
    found = steps_of(Usage(think=0.5, burst=3), 12)
    kinds = "".join("r" if isinstance(step, Rest) else "." for step in found)
    assert kinds == "...r....r..."


def test_nobody_rests_once_the_time_is_up():
    assert all(isinstance(step, Invocation) for step in steps_of(Usage(think=0.5), 8, until=0))


@pytest.mark.parametrize("usage", [Usage(), Usage(burst=3), Usage(objects=2)])
def test_without_thinking_a_script_is_what_it_was(usage):
    assert all(isinstance(step, Invocation) for step in steps_of(usage, 8))


def calls_and_rests(*answers):
    """The steps of a script whose calls are answered so: (type, milliseconds), one a call."""
    context = WorkloadContext(Seed(1), Thing, 1, 2.0, until=10**12, usage=Usage())
    client = Client(0, context, Seed(2))
    steps = without_storms(Shelf().load)(client)
    step, found, left = next(steps), [], list(answers)
    while left:
        found.append("r" if isinstance(step, Rest) else ".")
        kind, milliseconds = ("ok", 0) if isinstance(step, Rest) else left.pop(0)
        client.time += round(milliseconds * 1e6)
        step = steps.send(Op(index=0, time=client.time, process=0, type=kind, f="acquire"))
    return "".join(found)


def test_a_client_whose_calls_all_fail_at_once_rests_between_them():
    assert calls_and_rests(*[("fail", 0.1)] * (STORM + 3)) == "." * STORM + "r.r.r."


@pytest.mark.parametrize("other", [("ok", 0.1), ("fail", 300.0)])
def test_one_call_that_takes_its_time_or_succeeds_ends_a_storm(other):
    storm = [("fail", 0.1)] * STORM
    assert calls_and_rests(*storm, other, *storm) == "." * STORM + "r." + "." * STORM


def test_a_holder_chatters_until_it_has_released():
    client, _, kazoo = used(chatter=3)
    looked = threading.Event()
    client._context = msgspec.structs.replace(
        client._context, session_timeout=0.09, look_at_belief=looked.set
    )
    assert client.invoke("acquire", None).type == "ok"
    assert looked.wait(30)
    thread = client._chatter._thread
    client.invoke("release", None)
    assert not thread.is_alive()
    assert set(kazoo.calls) == {"exists /rumpus/shelf-busy"}


def test_a_holder_whose_process_ends_falls_silent():
    client, _, _ = used(chatter=3)
    client.invoke("acquire", None)
    thread = client._chatter._thread
    client.close()
    assert not thread.is_alive()


def test_a_client_is_stopped_and_started_while_it_holds_and_believes_nothing_meanwhile():
    client, workload, kazoo = used(interrupts=1.0)
    looked = looked_until(client, [False, True])
    for _ in range(20):  # the moment is drawn, and may fall after the release
        client.invoke("acquire", None)
        if looked.wait(0.05):
            break
        client.invoke("release", None)
    assert looked.wait(30)
    client.invoke("release", None)
    assert kazoo.calls[-2:] == ["stop", "start"]
    assert client._meanwhile is None
    assert not client.believes()
    assert workload.opened


def test_a_client_is_not_stopped_while_it_acts():
    client, _, kazoo = used()
    looked = looked_until(client, [False, False])  # it holds nothing
    with client._acting:
        client._meanwhile = Meanwhile(client._interrupt, 0.0)
        assert not looked.wait(0.05)
        assert kazoo.calls == []
    assert looked.wait(30)
    client.close()
    assert kazoo.calls == ["stop", "start"]


def test_the_time_that_an_action_waits_for_another_thread_is_time_of_its_call(monkeypatch):
    client, _, _ = used()
    asked = []
    monkeypatch.setattr(OpenClient, "invoke", lambda _self, f, value: asked.append((f, value)))
    with client._acting:
        waiting = threading.Thread(target=client.invoke, args=("work", {"timeout": 5.0}))
        waiting.start()
        time.sleep(0.05)
    waiting.join(30)
    ((f, value),) = asked
    assert f == "work"
    assert value["timeout"] < 4.96


def test_a_client_authenticates_while_it_waits_or_holds():
    client, _, kazoo = used(auths=1.0)
    while not kazoo.calls:
        client.invoke("acquire", None)
        client._meanwhile._over.wait(0.05)
        client.invoke("release", None)
    assert set(kazoo.calls) == {"auth digest c2:shelf"}


def test_what_another_thread_has_not_begun_when_the_use_ends_is_not_done():
    client, _, kazoo = used(interrupts=1.0)
    client._meanwhile = Meanwhile(client._interrupt, 60.0)
    client.close()
    assert kazoo.calls == []


def test_a_client_that_does_not_contend_is_stopped_and_started_whatever_it_does(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("rumpus.workloads.framework.used_client.time.monotonic", lambda: now[0])
    client, _, kazoo = used(workload_class=Box, interrupts=1.0)
    monkeypatch.setattr(client._draws, "uniform", lambda: 0.0)  # at once
    for second in range(12):
        now[0] = float(second)
        client.invoke("work", None)
        client._meanwhile._thread.join(30)
    assert kazoo.calls == ["stop", "start"] * 4


def test_a_client_that_does_not_contend_is_left_alone_in_the_final_phase():
    client, _, kazoo = used(workload_class=Box, interrupts=1.0)
    client._context = msgspec.structs.replace(client._context, final=lambda: True)
    client._meanwhile = Meanwhile(client._interrupt, 60.0)
    client.invoke("work", None)
    assert client._meanwhile is None
    assert kazoo.calls == []
