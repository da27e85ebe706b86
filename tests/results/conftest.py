"""A run as it might have been: five clients cycle through a lock, six faults, one split-brain."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from rumpus.checker.check import all_kinds
from rumpus.checker.history import History, Op
from rumpus.checker.timeline.states import Interval, state_intervals
from rumpus.checker.verdict import Anomaly, CheckResult, Requirement, Verdict, judge
from rumpus.recipes.promises import Line, Promises
from rumpus.results.record import ClockAnchor, RunRecord
from tests.checker.laid_out import laid_out

MS = 1_000_000
SECOND = 1000 * MS
START = 86_400 * SECOND


@dataclass
class SampleRun:
    record: RunRecord
    history: History
    verdict: Verdict
    bars: list[Interval]

    @property
    def timeline(self):
        return self.of(self.history)

    def of(self, history):
        """Another history, drawn with the bars of this run."""
        return laid_out(history, bars=[*state_intervals(history), *self.bars])


@dataclass
class LockRun:
    """Plays a fair lock among clients whose cycle takes about ``cycle`` nanoseconds."""

    clients: int
    cycle: int
    chance: random.Random
    ops: list[Op] = field(default_factory=list)
    intervals: list[Interval] = field(default_factory=list)
    token: int = 100

    def note(self, time, process, type, f, value=None, error=None):  # noqa: A002 - the field's name
        self.ops.append(Op(time=time, process=process, type=type, f=f, value=value, error=error))
        return self.ops[-1]

    def session(self, time, client, f, process=None):
        value = {"client": client, "process": client if process is None else process}
        self.note(time, "session", "info", f, value | {"session": f"0x10000{client:02x}"})

    def fault(self, number, kind, targets, start, stop, verified=True):
        value = {"id": str(number), "kind": kind, "targets": targets}
        done = value | {"verified": verified, "detail": f"{kind} seen on {', '.join(targets)}"}
        self.note(start, "nemesis", "invoke", "start", value)
        self.note(start + (stop - start) * 3 // 70, "nemesis", "info", "start", done)
        self.note(stop, "nemesis", "invoke", "stop", value)
        self.note(stop + (stop - start) // 10, "nemesis", "info", "stop", done | {"verified": True})

    def jitter(self, share):
        return int(self.cycle * share * self.chance.lognormvariate(0, 0.4))

    def hold(self, process, called, granted, released=None):
        """One cycle that was granted on the server at a time; returns when it let go there."""
        client = process % self.clients
        self.token += self.chance.randint(1, 3)
        value = {"token": self.token, "session": f"0x10000{client:02x}"}
        self.note(called, process, "invoke", "acquire")
        returned = granted + self.jitter(0.05)
        self.note(returned, process, "ok", "acquire", value)
        self.note(returned + self.jitter(0.01), process, "invoke", "work")
        act = {"client": client, "process": process, "token": self.token, "accepted": True}
        worked = returned + self.jitter(0.2)
        self.note(worked, "witness", "info", "act", act)
        self.note(worked + self.cycle // 20, process, "ok", "work")
        call = worked + self.cycle // 10 + self.jitter(0.1) if released is None else released
        self.note(call, process, "invoke", "release")
        gone = call + self.jitter(0.1)
        self.note(gone + self.cycle // 20, process, "ok", "release")
        for kind, start, end in (("belief", returned, call), ("grant", granted, gone)):
            label = f"token {self.token}"
            self.intervals.append(
                Interval(kind=kind, start=start, end=end, client=client, label=label)
            )
        return gone

    def play(self, end, stalls, absences):
        """Hand the lock round until a time.

        ``stalls`` are times at which no server answers; ``absences`` (client, start, end, why)
        are times at which a client is out: its open acquire ends unknown.
        """
        process = list(range(self.clients))
        called = [START + 20 * MS + n * MS for n in range(self.clients)]
        queue = list(range(self.clients))
        now = START + 30 * MS
        while now < end:
            for first, last in stalls:
                if first <= now < last:
                    now = last + self.jitter(2)
            client = queue.pop(0)
            if called[client] > now:  # not waiting yet
                queue.append(client)
                now += self.cycle // 20
                continue
            absence = next((a for a in absences if a[0] == client and a[1] <= now < a[2]), None)
            if absence is None:
                gone = self.hold(process[client], called[client], now)
                called[client] = gone + self.cycle // 10 + self.jitter(0.4)
                now = gone + self.jitter(0.1)
            else:
                _, start, back, why = absence
                self.note(called[client], process[client], "invoke", "acquire")
                self.note((start + back) // 2, process[client], "info", "acquire", None, why)
                process[client] += self.clients
                called[client] = max(back, called[client])
                if why == "timeout":
                    self.note(called[client], process[client], "invoke", "acquire")
                    self.note(called[client] + MS, process[client], "fail", "acquire", None, why)
                    called[client] += 2 * MS
            queue.append(client)


def run_sample(seconds=60, cycle=10 * MS, seed=7, prevents=("double-grant", "split-brain")):
    run = LockRun(clients=5, cycle=cycle, chance=random.Random(seed))
    at = [START + int(seconds * share * SECOND) for share in (0.08, 0.22, 0.36, 0.5, 0.66, 0.8)]
    long = int(seconds * 0.07 * SECOND)
    end = START + seconds * SECOND
    for client in range(5):
        run.session(START + client * MS, client, "started")
        run.session(START + (9 + client) * MS, client, "connected")
    run.note(START, "control", "info", "phase", {"phase": "load"})
    run.note(START + 2 * MS, "control", "info", "leader", {"leader": "n3"})
    for number, (kind, targets) in enumerate(
        [
            ("kill", ["n3"]),
            ("pause", ["n2"]),
            ("partition", ["n1", "n2"]),
            ("client-pause", ["c3"]),
            ("client-kill", ["c1"]),
            ("client-partition", ["c4"]),
        ]
    ):
        run.fault(number, kind, targets, at[number], at[number] + long, verified=number != 1)
    run.note(at[0] + 900 * MS, "control", "info", "leader", {"leader": "n1"})
    run.note(at[2] + 700 * MS, "control", "info", "leader", {"leader": "n2"})
    for client in range(5):
        run.session(at[0] + 150 * MS + client * MS, client, "suspended")
        run.session(at[0] + 1100 * MS + client * 9 * MS, client, "connected")
    run.session(at[3] + 100 * MS, 3, "paused")
    run.session(at[3] + long, 3, "resumed")
    run.session(at[3] + long + 5 * MS, 3, "lost")
    run.session(at[3] + long + 60 * MS, 3, "connected")
    run.session(at[4] + 50 * MS, 1, "exited")
    run.session(at[4] + long, 1, "started", 6)
    run.session(at[4] + long + 80 * MS, 1, "connected", 6)
    run.session(at[5] + 900 * MS, 4, "suspended")
    run.session(at[5] + long - 400 * MS, 4, "lost")
    run.session(at[5] + long + 300 * MS, 4, "connected", 9)

    run.play(
        end - 2 * SECOND,
        stalls=[(at[0] + 50 * MS, at[0] + 1150 * MS), (at[2], at[2] + 900 * MS)],
        absences=[
            (3, at[3], at[3] + long + 100 * MS, "timeout"),
            (1, at[4], at[4] + long + 100 * MS, "worker died"),
            (4, at[5], at[5] + long + 400 * MS, "timeout"),
        ],
    )
    # Client 0 holds and believes; client 2 is granted on top of it.
    clash = end - SECOND
    run.hold(20, clash - 3 * MS, clash, released=clash + 9 * MS)
    run.hold(22, clash - 2 * MS, clash + 4 * MS, released=clash + 15 * MS)
    run.note(end, "control", "info", "end", {"phase": "end"})
    ops = [
        replace(op, index=index) for index, op in enumerate(sorted(run.ops, key=lambda op: op.time))
    ]
    history = History(ops, clients=5)
    clashing = [op.index for op in ops if clash - 4 * MS <= op.time and op.process in (20, 22)]
    split = Anomaly(
        kind="split-brain",
        description="c0 and c2 both believed that they held the lock, both sessions lived",
        ops=clashing,
        clients=[0, 2],
        start=clash + 5 * MS,
        end=clash + 9 * MS,
        length_ms=4.0,
    )
    stale = Anomaly(
        kind="stale-belief",
        description="c3 was paused, its session expired, and it went on believing",
        ops=[op.index for op in history.events("session") if op.value["client"] == 3],
        clients=[3],
        start=at[3] + 2 * SECOND,
        end=at[3] + long,
        length_ms=(long - 2 * SECOND) / MS,
    )
    checks = [
        CheckResult(
            name="exclusion", anomalies=[split, stale], kinds=all_kinds(), stats={"holds": 9}
        ),
        CheckResult(name="order"),
        CheckResult(
            name="exercise",
            requirements=[
                Requirement(name="contended handovers", needed=10, observed=4321),
                Requirement(name="pause: verified in force and healed", needed=1, observed=0),
            ],
        ),
    ]
    record = RunRecord(
        run="lock-20261121T034726.123Z",
        rumpus="0.1.0",
        started=datetime(2026, 11, 21, 3, 47, 26, 123000, tzinfo=UTC),
        argv=["rumpus", "run", "lock", "--recipe", "fair", "--time-limit", str(seconds)],
        workload="lock",
        recipe="fair",
        promises=Promises(prevents=frozenset(prevents), wakeups=1, tokens=True, notes="plain"),
        line=Line("sequential", "/rumpus/lock", "__lock__"),
        ensemble="docker",
        nodes=3,
        clients=5,
        time_limit=seconds,
        nemesis=["kill", "pause", "partition", "client-pause", "client-kill", "client-partition"],
        nemesis_interval=10,
        seed=seed,
        image="rumpus-node",
        session_timeout=4,
        tick_ms=500,
        clock_anchors=[ClockAnchor(START, 1_795_232_846_123_000_000)],
        versions={"python": "3.11.2", "kazoo": "2.10.0", "zookeeper": "3.8.0"},
    )
    return SampleRun(record, history, judge(checks, prevents), run.intervals)


@pytest.fixture(scope="session")
def sample():
    return run_sample()


@pytest.fixture
def make_sample():
    return run_sample
