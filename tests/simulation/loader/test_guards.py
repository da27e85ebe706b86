# ruff: noqa: PLW0108, PTH123, SIM115 - names must be looked up when called; files are not opened
import builtins
import contextlib
import importlib
import io
import logging
import os
import random
import secrets
import socket
import subprocess
import threading
import time
import uuid
from importlib.machinery import EXTENSION_SUFFIXES

import pytest

import rumpus.simulation
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.loader.guards import Guards, guarded
from rumpus.simulation.loader.refusals import CannotSimulate, Forbidden

REAL_THINGS = {
    "threading.Thread.start": lambda: threading.Thread(target=print).start(),
    "time.sleep": lambda: time.sleep(0),
    "time.time": lambda: time.time(),
    "time.monotonic_ns": lambda: time.monotonic_ns(),
    "socket.socket.__init__": lambda: socket.socket(),
    "socket.create_connection": lambda: socket.create_connection(("localhost", 1)),
    "subprocess.Popen.__init__": lambda: subprocess.run(["true"], check=True),
    "os.urandom": lambda: os.urandom(1),
    "os.fork": lambda: os.fork(),
    "random.random": lambda: random.random(),
    "random.shuffle": lambda: random.shuffle([]),
    "uuid.uuid4": lambda: uuid.uuid4(),
    "secrets.token_hex": lambda: secrets.token_hex(),
    "builtins.open": lambda: open("/dev/urandom", "rb"),
    "os.open": lambda: os.open("/dev/random", os.O_RDONLY),
}


@pytest.mark.parametrize("name", REAL_THINGS)
def test_each_guard_fires_and_names_the_culprit(world, name):
    caught = []

    def use():
        try:
            REAL_THINGS[name]()
        except Forbidden as error:
            caught.append(str(error))

    world.simulator.process("p").spawn(use)
    with guarded(world.simulator):
        world.simulator.run(SECOND)
    (message,) = caught
    function = REAL_THINGS[name].__code__
    place = f"<lambda> ({__file__}:{function.co_firstlineno})"
    assert place in message
    assert f"calls the real {name} " in message
    ((_, who, error),) = world.simulator.failures
    assert isinstance(error, Forbidden)
    assert place in who


def test_a_shared_library_that_sleeps_is_caught_from_a_private_program(
    world, tmp_path, monkeypatch
):
    package = tmp_path / "site-packages" / "shared_sleeper"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import time\ndef nap():\n    time.sleep(1)\n")
    (package / f"part{EXTENSION_SUFFIXES[0]}").touch()  # so it is not private
    monkeypatch.syspath_prepend(str(package.parent))
    world.start("import shared_sleeper\ndef main():\n    shared_sleeper.nap()\n")
    with guarded(world.simulator):
        world.simulator.run(SECOND)
    first = world.simulator.failures[0][2]
    assert "shared_sleeper.nap" in str(first)
    assert "shared_sleeper/__init__.py:3), called by program_" in str(first)
    assert str(first).endswith("use real servers and processes: --ensemble docker")


def test_everything_real_is_put_back(world):
    def real():
        places = (builtins, io, os, random, secrets, socket, threading, time, uuid)
        return [dict(vars(place)) for place in places] + [
            threading.Thread.start, socket.socket.__init__, subprocess.Popen.__init__,
        ]  # fmt: skip

    before = real()
    with guarded(world.simulator):
        assert real() != before
    assert real() == before
    assert REAL_THINGS["random.random"]() < 1

    def fail():
        with guarded(world.simulator):
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert real() == before


def test_a_simulated_program_notices_nothing_of_the_guards(world):
    with guarded(world.simulator):
        module = world.run(
            """
            import datetime, logging, os, random, secrets, socket, threading, time, uuid
            def main():
                global seen
                thread = threading.Thread(target=time.sleep, args=(1,))
                thread.start()
                thread.join()
                socket.socketpair(), os.urandom(2), random.random(), secrets.token_hex()
                uuid.uuid4(), uuid.uuid1(), datetime.datetime.now(), time.time()
                logging.getLogger().debug("x")
                with open(__file__) as file:
                    seen = file.readline()
            """
        )
    assert module.seen == "\n"
    assert module.os.open is os.open


def test_real_imports_and_other_real_threads_are_let_through(world, tmp_path, monkeypatch):
    (tmp_path / "reads_the_clock.py").write_text("import time\nNOW = time.time()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    go, done = threading.Event(), []

    def other():
        go.wait()
        done.append(time.monotonic())

    thread = threading.Thread(target=other)
    thread.start()
    world.start("def main():\n    import reads_the_clock\n")
    with guarded(world.simulator):
        world.simulator.run(SECOND)
        go.set()
        thread.join()
    assert done
    assert world.simulator.failures == []


def test_what_is_lent_may_be_real_and_nothing_after_it(world):
    seen = []

    def look():
        seen.append(lent())
        lent()
        seen.append(time.time())

    with guarded(world.simulator) as guards:
        lent = guards.lend(lambda: time.time())
        world.simulator.process("p").spawn(look)
        world.simulator.run(SECOND)
    assert len(seen) == 1
    assert seen[0] > 1_700_000_000
    assert isinstance(world.simulator.failures[0][2], Forbidden)


def test_what_is_lent_is_given_back_when_it_fails(world):
    guards = Guards(world.simulator)

    def fail():
        assert guards.lent
        raise KeyError

    with pytest.raises(KeyError):
        guards.lend(fail)()
    assert not guards.lent


def test_log_records_of_shared_modules_are_stamped_with_the_real_time(world, caplog):
    world.simulator.process("p").spawn(lambda: logging.getLogger("shared").warning("said"))
    with guarded(world.simulator):
        world.simulator.run(SECOND)
    assert world.simulator.failures == []
    assert caplog.messages == ["said"]


def test_a_world_in_which_something_real_was_used_stops_there(world):
    process = world.simulator.process("p")

    def careless():
        with contextlib.suppress(Forbidden):
            time.sleep(1)
        world.simulator.current.park()

    process.spawn(careless)
    with guarded(world.simulator):
        world.simulator.run(SECOND)
    assert world.simulator.now < SECOND


def test_a_module_imported_in_the_world_works_after_it(world, tmp_path, monkeypatch):
    (tmp_path / "keeps_a_guard.py").write_text("from time import monotonic\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    world.simulator.process("p").spawn(lambda: importlib.import_module("keeps_a_guard"))
    with guarded(world.simulator):
        world.simulator.run(SECOND)
    module = importlib.import_module("keeps_a_guard")
    before = time.monotonic()
    assert before <= module.monotonic() <= time.monotonic()
    world.simulator.process("p").spawn(module.monotonic)
    with guarded(world.simulator):  # another world guards it again
        world.simulator.run(2 * SECOND)
    ((_, _, error),) = world.simulator.failures[:1]
    assert "calls the real time.monotonic " in str(error)


def test_only_a_program_s_error_is_told_to_use_real_servers(world):
    names = {"time": time}
    source = "def careless(): time.time()\n"
    for place in (rumpus.simulation.__path__[0] + "/kernel/new.py", "/home/me/program.py"):
        exec(compile(source, place, "exec"), names)
        world.simulator.process("p").spawn(names["careless"])
    with guarded(world.simulator):
        world.simulator.run(SECOND)
        world.simulator.run(2 * SECOND)
    errors = {type(error): str(error) for _, _, error in world.simulator.failures}
    assert set(errors) == {Forbidden, CannotSimulate}
    assert errors[CannotSimulate].endswith("--ensemble docker")
    assert errors[Forbidden].endswith(
        "must be private to its process (Space's argument `private`), or must not do that"
    )


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_worlds_that_overlap_leave_the_real_functions_behind(first_ends_first):
    """Two worlds in threads of one process: each end puts back what the other has left."""
    clock, start, entropy = time.monotonic, threading.Thread.start, builtins.open
    with contextlib.ExitStack() as rest:
        first, second = (guarded(Simulator(seed)) for seed in (1, 2))
        first.__enter__()
        rest.callback(second.__exit__ if first_ends_first else first.__exit__, None, None, None)
        second.__enter__()
        kept = time.monotonic
        (first if first_ends_first else second).__exit__(None, None, None)
        assert time.monotonic is not clock
    assert time.monotonic is clock
    assert threading.Thread.start is start
    assert builtins.open is entropy
    assert kept() <= clock()
