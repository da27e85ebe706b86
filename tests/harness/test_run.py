"""A run from start to end, with worker processes but without servers."""

import time
from types import SimpleNamespace

import pytest

from rumpus.harness import run as run_module
from rumpus.harness.clients.workers import ClientSpec
from rumpus.harness.generators.combinators import cycle, repeat
from rumpus.harness.generators.generator import NOTHING, Invocation
from rumpus.harness.run import Run, Status, perform
from rumpus.workloads.contests.lock import WORDS
from tests.harness.listing_sink import ListingSink


class NoEnsemble:
    kind = "sim"
    nodes = ()

    def start(self):
        pass

    def tear_down(self):
        pass

    def leader(self):
        return None

    def client_addresses(self):
        return {}

    def gather(self, _destination):
        pass


class NoNemesis:
    def schedule(self):
        return []

    def outside(self):
        return None

    def heal_all(self):
        return {"verified": True, "detail": "nothing was broken", "healed": []}

    def close(self):
        pass


def no_links(_addresses, _clients):
    return SimpleNamespace(
        close=lambda: None,
        hosts=lambda _client: "",
        watch_events=list,
        afflicted=frozenset,
        requests=lambda _client: {},
        shown=lambda _client: 0,
        unimplemented=lambda _client: False,
        recorded=lambda _client: 0,
        sessions=False,
    )


@pytest.fixture
def performed(tmp_path):
    """Performs a run that has no load, with this final phase; its control records."""

    def perform_it(final):
        sink = ListingSink()
        run = Run(
            clients=ClientSpec("tests.harness.scripted_client:build"),
            count=1,
            words=WORDS,
            load=lambda _until: NOTHING,
            final=final,
            time_limit=0.1,
        )
        perform(
            run,
            ensemble=NoEnsemble(),
            connect=no_links,
            nemesis=lambda *_: NoNemesis(),
            sink=sink,
            logs=tmp_path,
            nodes=tmp_path,
            origin=time.monotonic_ns(),
            status=Status(),
            step=lambda _words: None,
            stop_requested=lambda: False,
        )
        return [op.f for op in sink.ops if op.process == "control"]

    return perform_it


def test_a_final_phase_that_comes_to_its_end_is_said_to(performed):
    assert performed(repeat(Invocation("noop"), 2)) == ["phase", "phase-end", "end"]


def test_a_final_phase_cut_off_by_the_runs_bound_is_not_said_to_have_ended(performed, monkeypatch):
    monkeypatch.setattr(run_module, "LONGEST_AFTER_LOAD_S", 0.5)
    assert performed(cycle(Invocation("sleep", 0.1))) == ["phase", "phase", "end"]


def test_where_the_wall_clock_is_set_the_readings_on_both_sides_are_kept(monkeypatch):
    hour = 3600 * 10**9
    clocks = [(0, 0), (10, 10), (20, 20), (30, 30), (40, 40 + hour), (50, 50 + hour)]
    readings = [{"monotonic": mono, "wall": wall} for mono, wall in clocks]
    monkeypatch.setattr(run_module, "monotonic_and_wall", lambda _origin: readings.pop(0))
    status = Status()
    before = run_module.monotonic_and_wall(0)
    while readings:
        before = run_module._read_clocks(status, before)
    kept = [(reading["monotonic"], reading["wall"]) for reading in status.anchors]
    assert kept == [*clocks[:2], *clocks[3:5]]
