from typing import NamedTuple

import pytest
from kazoo.exceptions import NodeExistsError, NoNodeError, SessionExpiredError

from rumpus.checker.families.convergence import check_convergence, check_view_order
from rumpus.workloads.framework.workload import OpenClient
from rumpus.workloads.view import BURST, ROUNDS, VIEW, Follower
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded
from tests.harness.generators.dry_run import imperfect
from tests.sampling import sampled
from tests.workloads.dry_runs import DryRuns, invocations

FAULTS = ["client-pause", "kill"]

DRY = DryRuns(VIEW, clients=3, until=5 * 10**9)


def final(*answers, healed=True):
    """A final phase in which clients 0, 1, ... converged to (seen, there); None: no answer."""
    recorded = Recorded(clients=len(answers))
    recorded.add(0, "control", "info", "phase", {"phase": "final", "healed": healed})
    for client, answer in enumerate(answers):
        recorded.add(1, client, "invoke", "converge", {"patience": 5})
        if answer is None:
            recorded.add(9, client, "fail", "converge", error="Unanswered")
        else:
            seen, there = answer
            recorded.add(9, client, "ok", "converge", {"seen": seen, "there": there})
    return recorded.end(10).history()


def test_a_view_that_shows_what_is_there_is_well():
    result = check_convergence(laid_out(final(({"a": "1"}, {"a": "1"}), ({}, {}))))
    assert not result.anomalies
    assert not result.unknown
    assert all(need.met for need in result.requirements)


@pytest.mark.parametrize(
    ("seen", "there", "told"),
    [
        ({"a": "1"}, {"a": "2"}, "'a': '1'"),
        ({}, {"a": None}, "nothing"),
        ({"a": None}, {}, "nothing"),
    ],
)
def test_a_view_that_does_not_is_stale(seen, there, told):
    (anomaly,) = check_convergence(laid_out(final((seen, there), ({}, {})))).anomalies
    assert anomaly.kind == "stale-view"
    assert anomaly.clients == [0]
    assert told in anomaly.description


def test_who_got_no_answer_leaves_a_question_open():
    result = check_convergence(laid_out(final(None, ({}, {}))))
    assert not result.anomalies
    assert "c0 could not read" in result.unknown[0]


def test_without_healing_nothing_is_asked():
    result = check_convergence(laid_out(final(({}, {"a": "1"}), healed=False)))
    assert not result.anomalies
    assert result.unknown


def looks(*zxids, view=1):
    recorded = Recorded()
    for number, zxid in enumerate(zxids):
        nodes = {} if zxid is None else {"a": zxid}
        recorded.add(2 * number, 0, "invoke", "look")
        recorded.add(2 * number + 1, 0, "ok", "look", {"view": view, "nodes": nodes})
    return recorded.history()


def test_views_go_forward_and_may_lose_a_node_meanwhile():
    result = check_view_order(laid_out(looks(3, 3, None, 5)))
    assert not result.anomalies
    assert result.stats == {"looks_with_news": 3}


def test_a_view_that_goes_back_is_out_of_order():
    (anomaly,) = check_view_order(laid_out(looks(3, 5, None, 4))).anomalies
    assert anomaly.kind == "session-order"
    assert "0x5 to 0x4" in anomaly.description


@sampled("recipe", ["data", "children"], of=2)
def test_sound_views_converge_under_faults_of_clients_and_servers(simulate, recipe):
    _, _, verdict = simulate(2, workload="view", recipe=recipe, seconds=12.0, kinds=FAULTS)
    assert verdict.outcome == "valid", verdict.reasons


class Value(NamedTuple):
    names: frozenset[str] = frozenset()
    data: bytes = b""
    zxid: int = 5


class Shows:
    """A view of whatever it is told to show."""

    def __init__(self, follows, value):
        self.follows, self.value = follows, value


@pytest.mark.parametrize(
    ("follows", "values", "zxids", "seen"),
    [
        ("data", {"n0": Value(data=b"x"), "n1": None}, {"n0": 5}, {"n0": "x"}),
        ("children", {"": Value(frozenset({"n0"}))}, {"": 5, "n0": None}, {"n0": None}),
        ("children", {"": None}, {}, {}),
        ("tree", {"": {"n0": Value(data=b"x")}}, {"n0": 5}, {"n0": "x"}),
        ("tree", {"": None}, {}, {}),
    ],
)
def test_a_client_tells_what_its_view_shows_of_whatever_kind(follows, values, zxids, seen):
    follower = Follower(Shows(follows, None), kazoo=None)
    follower.views = {name: Shows(follows, value) for name, value in values.items()}
    follower.there = lambda _path: seen
    client = OpenClient(VIEW, follower)
    assert client.invoke("look", None).value == {"view": 0, "nodes": zxids}
    assert client.invoke("converge", {"patience": 5.0}).value == {"seen": seen, "there": seen}


class Server:
    """A client of a server that has these nodes."""

    def __init__(self, *nodes):
        self.nodes = set(nodes)

    def ask(self, request, path, *_data):
        if request == "create":
            raise NodeExistsError
        if path.rpartition("/")[2] not in self.nodes:
            raise NoNodeError
        if path.endswith("n3"):
            raise SessionExpiredError


@pytest.mark.parametrize(
    ("f", "name", "outcome"),
    [
        ("write", "n0", "ok"),
        ("write", "n1", "fail"),
        ("write", "n3", "info"),
        ("remove", "n0", "ok"),
        ("remove", "n1", "fail"),
        ("remove", "n3", "info"),
    ],
)
def test_a_change_is_refused_for_certain_or_unknown(f, name, outcome):
    asked = {"name": name, "data": "x"}
    assert OpenClient(VIEW, Server("n0", "n3")).invoke(f, asked).type == outcome


def test_clients_follow_first_and_write_nothing_twice():
    calls = invocations(DRY.load(imperfect))
    assert all(next(op.f for op in calls if op.process == n) == "follow" for n in range(3))
    assert {op.f for op in calls} >= {"follow", "look", "write", "remove"}
    written = [op.value["data"] for op in calls if op.f == "write"]
    assert len(set(written)) == len(written)


def test_in_the_end_every_burst_of_changes_is_waited_for():
    calls = [op.f for op in invocations(DRY.final())]
    assert calls[:3] == ["follow"] * 3
    changes = ["change" if f in ("write", "remove") else f for f in calls[3:]]
    assert changes == (["change"] * 3 * BURST + ["converge"] * 3) * ROUNDS
