"""The driver with real worker processes, without servers."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from rumpus.checker.history import History
from rumpus.harness.clients.worker_pool import WorkerPool
from rumpus.harness.clients.workers import ClientSpec, WorkerCrash
from rumpus.harness.driver import HEAL_ALL, Driver
from rumpus.harness.generators import combinators as gen
from rumpus.harness.generators.generator import NOTHING, Invocation
from rumpus.harness.generators.interpreter import Interpreter
from rumpus.harness.roles import RoleTracker
from rumpus.harness.witness import Witness
from rumpus.workloads.contests.lock import WORDS
from tests.harness.listing_sink import ListingSink
from tests.rumpus.campaigns.running import is_running

SECOND = 1_000_000_000


class NoLinks:
    sessions = True

    def __init__(self):
        self.refused = []

    def refuse_session(self, session, how):
        self.refused.append((session, how))

    def watch_events(self):
        return []

    def afflicted(self):
        return frozenset()


class Lanes:
    """One run of a generator over worker processes."""

    def __init__(self, logs, clients=1, **driver):
        self.origin = time.monotonic_ns()
        self.sink = ListingSink()
        self.healed = 0
        self.links = NoLinks()
        self.driver = Driver(
            witness=Witness(fencing=True),
            links=self.links,
            sink=self.sink,
            roles=RoleTracker(clients, WORDS),
            nemesis=self.nemesis,
            origin=self.origin,
            **driver,
        )
        self.pool = WorkerPool(
            clients,
            ClientSpec("tests.harness.scripted_client:build"),
            hosts=lambda _client: "",
            logs=logs,
            notify=self.driver.notify,
            origin=self.origin,
        )

    def nemesis(self, f, value):
        if f == HEAL_ALL:
            self.healed += 1
            for client in range(self.pool.count):
                self.pool.resume(client)
                self.pool.restart(client)
        elif f == "refuse":
            raise OSError("no such fault here")
        else:
            getattr(self.pool, f)(value["client"])
        return {**value, "verified": True}

    def run(self, generator, *, cleanup=None, bound=30.0):
        self.pool.start()
        try:
            self.driver.open(self.pool)
            interpreter = Interpreter(generator, clients=self.pool.count, cleanup=cleanup or {})
            self.driver.run(interpreter, bound=bound)
        finally:
            self.pool.stop()
            self.driver.close()
        return History(self.sink.ops, clients=self.pool.count)


@pytest.fixture
def scene(tmp_path):
    return lambda clients=1, **driver: Lanes(tmp_path, clients, **driver)


def told(history):
    return [(op.process, op.type, op.f) for op in history if isinstance(op.process, int)]


def test_operations_run_and_are_recorded_with_the_workers_times(scene):
    history = scene().run(
        gen.on_clients(gen.sequence(Invocation("sleep", 0.05), Invocation("noop", 7)))
    )
    slept, done = history.operations()
    assert told(history) == [
        (0, "invoke", "sleep"),
        (0, "ok", "sleep"),
        (0, "invoke", "noop"),
        (0, "ok", "noop"),
    ]
    assert slept.completion.time - slept.invoke.time >= 0.05 * SECOND
    assert done.completion.value == 7


def test_an_exception_is_an_unknown_outcome_and_retires_the_process(scene):
    steps = gen.sequence(Invocation("raise", "lost reply"), gen.sleep(0.3), Invocation("noop"))
    history = scene().run(gen.on_clients(steps))
    raised, went_on = history.operations()
    assert raised.completion.type == "info"
    assert raised.completion.error == "RuntimeError: lost reply"
    assert went_on.invoke.process == 1


def test_a_retired_client_goes_on_as_the_next_process_after_its_clean_up(scene):
    steps = gen.phases(Invocation("raise", "x"), Invocation("noop"))
    history = scene().run(gen.on_clients(steps), cleanup={"raise": "noop"})
    assert told(history) == [
        (0, "invoke", "raise"),
        (0, "info", "raise"),
        (0, "invoke", "noop"),
        (0, "ok", "noop"),
        (1, "invoke", "noop"),
        (1, "ok", "noop"),
    ]


def test_the_witness_answers_and_its_order_is_recorded(scene):
    steps = gen.sequence(Invocation("act", 5), Invocation("act", 6), Invocation("act", 5))
    history = scene().run(gen.on_clients(steps))
    assert [operation.outcome for operation in history.operations()] == ["ok", "ok", "fail"]
    acts = [op.value for op in history.events("witness", "act")]
    assert [(a["token"], a["order"], a["accepted"]) for a in acts] == [
        (5, 0, True),
        (6, 1, True),
        (5, 2, False),
    ]


def test_a_session_is_refused_before_the_client_goes_on(scene):
    lanes = scene()
    steps = gen.sequence(Invocation("refuse-session", -5), Invocation("act", 1))
    history = lanes.run(gen.on_clients(steps))
    assert [operation.outcome for operation in history.operations()] == ["ok", "ok"]
    assert lanes.links.refused == [(-5, "lasting")]


def test_belief_that_is_lost_is_recorded(scene):
    steps = gen.sequence(Invocation("acquire"), Invocation("lose"), Invocation("release"))
    history = scene().run(gen.on_clients(steps))
    (doubt,) = history.events("session", "doubts")
    lost = next(op for op in history if op.f == "lose" and op.type == "fail")
    assert doubt.time >= lost.time


def test_killing_a_client_ends_its_operation_unknown_and_it_comes_back_anew(scene):
    run = scene(clients=2)
    history = run.run(
        gen.phases(
            gen.on_clients(Invocation("noop", process=1)),
            gen.sequence(
                Invocation("sleep", 60, process=0),
                gen.on_nemesis(
                    gen.sequence(
                        Invocation("kill", {"client": 0}), Invocation("restart", {"client": 0})
                    )
                ),
            ),
            gen.on_clients(Invocation("noop", process=2)),
        )
    )
    killed = next(op for op in history if op.process == 0 and op.type == "info")
    assert killed.error == "the client was killed"
    (exited,) = history.events("session", "exited")
    assert exited.time <= killed.time
    assert [op.value["process"] for op in history.events("session", "started")] == [2]
    assert told(history)[-2:] == [(2, "invoke", "noop"), (2, "ok", "noop")]


def test_nothing_a_killed_client_did_is_later_than_its_end(scene, monkeypatch):
    kill_at_once = subprocess.Popen.kill

    def kill_late(process):
        time.sleep(0.2)
        kill_at_once(process)

    monkeypatch.setattr(subprocess.Popen, "kill", kill_late)
    kill = gen.sequence(gen.sleep(0.2), Invocation("kill", {"client": 0}))
    history = scene().run(
        gen.any_of(
            gen.on_clients(gen.repeat(Invocation("acquire", process=0))), gen.on_nemesis(kill)
        ),
        bound=1.0,
    )
    (exited,) = history.events("session", "exited")
    assert len(history.operations()) > 10
    assert max(op.time for op in history if op.process == 0 and op.type == "ok") <= exited.time


def test_a_client_killed_while_idle_has_no_operation_to_end(scene):
    kill = gen.sequence(Invocation("kill", {"client": 0}), Invocation("restart", {"client": 0}))
    history = scene().run(
        gen.phases(gen.on_nemesis(kill), gen.on_clients(Invocation("noop", process=1))),
    )
    assert told(history) == [(1, "invoke", "noop"), (1, "ok", "noop")]


@pytest.mark.parametrize("sessions", [True, False])
def test_where_nothing_outlives_a_connection_the_kill_itself_is_told(scene, sessions):
    kill = gen.sequence(Invocation("kill", {"client": 0}), Invocation("restart", {"client": 0}))
    lanes = scene()
    lanes.links.sessions = sessions
    history = lanes.run(gen.phases(gen.on_nemesis(kill), gen.on_clients(Invocation("noop"))))
    (exited,) = history.events("session", "exited")
    assert ("since" in exited.value) is not sessions
    assert history.start < exited.value.get("since", exited.time) <= exited.time


def test_a_paused_client_stands_still(scene):
    steps = gen.sequence(
        Invocation("sleep", 1.5, process=0),
        gen.on_nemesis(
            gen.sequence(
                Invocation("pause", {"client": 0}),
                Invocation("resume", {"client": 0}, time=3 * SECOND),
            )
        ),
    )
    history = scene().run(steps)
    (paused,), (resumed,) = (history.events("session", f) for f in ("paused", "resumed"))
    (slept,) = history.operations()
    assert resumed.time - paused.time >= 0.3 * SECOND
    assert slept.completion.time >= resumed.time - SECOND // 100


def test_a_fault_that_cannot_be_injected_is_recorded_with_its_reason(scene):
    history = scene().run(gen.on_nemesis(Invocation("refuse", {"id": 1, "kind": "kill"})))
    (refused,) = history.operations(nemesis=True)
    assert refused.completion.value["verified"] is False
    assert refused.completion.error == "OSError: no such fault here"


def test_a_client_that_crashes_by_itself_is_an_error_that_says_where_to_look(scene):
    message = r"c0's process ended by itself in its operation 'crash'; see clients/c0\.log"
    with pytest.raises(WorkerCrash, match=message):
        scene().run(gen.on_clients(Invocation("crash")))


def test_an_operation_that_never_returns_ends_unknown(scene):
    history = scene(operation_bound=0.5).run(gen.on_clients(Invocation("sleep", 60)))
    (hung,) = history.operations()
    assert hung.outcome == "info"
    assert hung.completion.error == "the client was killed: its call had not returned after 0.5 s"


def test_a_copy_of_a_client_has_no_part_in_the_run_and_does_not_stay(scene, eventually, tmp_path):
    steps = gen.sequence(
        Invocation("fork", str(tmp_path / "stays")), Invocation("noop", 7), Invocation("noop", 8)
    )
    history = scene().run(gen.on_clients(steps))
    assert [op.completion.value for op in history.operations()][1:] == [7, 8]
    pids = [int(line) for line in (tmp_path / "stays").read_text().split()]
    assert len(pids) == 2
    eventually(lambda: not any(map(is_running, pids)), within=20)


LATE_COPY = """
import os, time
from rumpus.harness.clients.worker import keep_apart
class Channel:
    def close(self):
        pass
os.register_at_fork(after_in_child=lambda: time.sleep(0.5))
keep_apart(Channel())
if pid := os.fork():
    print(pid, flush=True)
    os._exit(0)
time.sleep(600)
"""


def test_a_copy_ends_although_its_original_ended_before_it_ran(eventually):
    original = subprocess.Popen(
        [sys.executable, "-c", LATE_COPY],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with original, original.stdout:
        copy = int(original.stdout.readline())
        try:
            eventually(lambda: not is_running(copy), within=20)
        finally:
            with suppress(ProcessLookupError):
                os.kill(copy, signal.SIGKILL)


def test_a_wish_to_stop_heals_first_and_ends_when_all_have_ended(scene):
    wished = time.monotonic() + 1.0
    run = scene(stop_requested=lambda: time.monotonic() > wished)
    pause = gen.on_nemesis(Invocation("pause", {"client": 0}))
    history = run.run(gen.any_of(pause, gen.on_clients(gen.cycle(Invocation("sleep", 0.05)))))
    assert run.healed == 1
    assert all(operation.outcome == "ok" for operation in history.operations())
    heal = history.operations(nemesis=True)[-1]
    assert heal.invoke.f == HEAL_ALL
    assert history.events("control", "phase")[0].value["healed"] is True


def test_time_out_of_a_whole_run_ends_it_too(scene):
    history = scene().run(gen.on_clients(gen.cycle(Invocation("sleep", 0.05))), bound=1.0)
    assert all(operation.outcome == "ok" for operation in history.operations())


ORPHANED = """
import sys, time
from pathlib import Path
from rumpus.harness.clients.messages import Open
from rumpus.harness.clients.worker_pool import WorkerPool
from rumpus.harness.clients.workers import ClientSpec
pool = WorkerPool(2, ClientSpec("tests.harness.scripted_client:build"), hosts=lambda c: "",
                  logs=Path(sys.argv[1]), notify=print, origin=0)
pool.start()
for client in range(2):
    pool.send(client, Open(client))
    pool.receive(client)
pool.pause(1)
print("pids", *(pool._workers[c].process.pid for c in range(2)), flush=True)
time.sleep(60)
"""


def test_workers_end_by_themselves_when_the_control_process_is_killed(tmp_path):
    control = subprocess.Popen(
        [sys.executable, "-c", ORPHANED, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with control, control.stdout:
        pids = []
        for line in control.stdout:
            if line.startswith("pids"):
                pids = [int(word) for word in line.split()[1:]]
                break
        assert len(pids) == 2
        control.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{pid}/cmdline").exists() and not _zombie(pid) for pid in pids):
        assert time.monotonic() < deadline, "a worker outlived its control process"
        time.sleep(0.05)


def _zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_nothing_to_do_ends_at_once(scene):
    assert told(scene().run(NOTHING)) == []


def test_an_unknown_outcome_keeps_the_session_and_an_exception_does_not(scene):
    steps = gen.phases(Invocation("unsure"), Invocation("noop"), Invocation("raise", "x"))
    history = scene().run(gen.on_clients(gen.phases(steps, Invocation("noop"))))
    closed = history.events("session", "closed")
    raised = next(op for op in history if op.f == "raise" and op.type == "info")
    assert [op.value["process"] for op in closed] == [1]
    assert closed[0].time >= raised.time
    assert told(history)[-1] == (2, "ok", "noop")
