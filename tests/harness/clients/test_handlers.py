"""Clients on gevent and eventlet: real processes, against simulated servers on real sockets."""

from importlib.util import find_spec

import pytest

import rumpus
from rumpus.harness.clients.handlers import HANDLERS
from rumpus.harness.clients.library import UnusableLibrary, loaded_version
from rumpus.harness.clients.workers import ClientSpec
from rumpus.harness.generators import combinators as gen
from rumpus.harness.generators.generator import Invocation
from tests.harness.test_driver import Lanes

BUILD = "tests.harness.greenlet_client:build"
MADE_OF = {"threading": "_thread", "gevent": "gevent", "eventlet": "eventlet"}


@pytest.fixture(scope="module")
def servers():
    with rumpus.zookeeper(nodes=1) as servers:
        yield servers


@pytest.fixture(params=HANDLERS)
def handler(request):
    # It is looked for, not imported: eventlet warns of every later fork of a process that has it.
    if request.param != "threading" and find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return request.param


def lanes(handler, servers, logs, clients):
    lanes = Lanes(logs, clients=clients)
    lanes.pool.spec = ClientSpec(BUILD, handler=handler)
    lanes.pool.hosts = lambda _client: servers.hosts
    return lanes


def test_a_clients_threads_are_those_of_its_handler(handler, servers, tmp_path):
    history = lanes(handler, servers, tmp_path, 1).run(
        gen.on_clients(gen.sequence(Invocation("look")))
    )
    (looked,) = history.operations()
    assert looked.completion.value == {
        "handler": f"sequential_{handler}_handler",
        "lock": MADE_OF[handler],
        "beats": 100,
    }


def test_clients_take_a_lock_in_turn_act_and_show_their_belief(handler, servers, tmp_path):
    turn = [Invocation("acquire", 10), Invocation("act"), Invocation("release")]
    history = lanes(handler, servers, tmp_path, 2).run(
        gen.on_clients(gen.each_thread(gen.sequence(*turn, *turn)))
    )
    operations = history.operations()
    assert len(operations) == 12
    assert {each.completion.type for each in operations} == {"ok"}
    acted = [each.completion.value for each in operations if each.invoke.f == "act"]
    assert acted == [True] * 4
    events = [op.f for op in history if op.process == "session"]
    assert events.count("connected") == 2


@pytest.mark.parametrize("library", ["gevent", "eventlet"])
def test_a_library_that_is_missing_is_named(library, monkeypatch, tmp_path):
    (tmp_path / f"{library}.py").write_text(
        f"raise ModuleNotFoundError('No module named {library}', name={library!r})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnusableLibrary, match=f"install {library} where rumpus is installed"):
        loaded_version(None, BUILD, {}, library)
