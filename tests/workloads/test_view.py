import pytest

from rumpus.checker.families.convergence import check_convergence, check_view_order
from rumpus.recipes.view.catalogue import VIEWS
from tests.checker.recorded import Recorded
from tests.harness.simulated_runs import SimulatedRuns

FAULTS = ["client-pause", "kill"]

SECONDS = {"notified": 5.0, "watch": 1.0, "falls": 6.0}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return SimulatedRuns(tmp_path_factory.mktemp("view"))


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
    result = check_convergence(final(({"a": "1"}, {"a": "1"}), ({}, {})))
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
    (anomaly,) = check_convergence(final((seen, there), ({}, {}))).anomalies
    assert anomaly.kind == "stale-view"
    assert anomaly.clients == [0]
    assert told in anomaly.description


def test_who_got_no_answer_leaves_a_question_open():
    result = check_convergence(final(None, ({}, {})))
    assert not result.anomalies
    assert "c0 could not read" in result.unknown[0]


def test_without_healing_nothing_is_asked():
    result = check_convergence(final(({}, {"a": "1"}), healed=False))
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
    result = check_view_order(looks(3, 3, None, 5))
    assert not result.anomalies
    assert result.stats == {"looks_with_news": 3}


def test_a_view_that_goes_back_is_out_of_order():
    (anomaly,) = check_view_order(looks(3, 5, None, 4)).anomalies
    assert anomaly.kind == "session-order"
    assert "0x5 to 0x4" in anomaly.description


@pytest.mark.parametrize("recipe", ["data", "children"])
def test_sound_views_converge_under_faults_of_clients_and_servers(simulated, recipe):
    _, _, verdict = simulated(2, workload="view", recipe=recipe, seconds=12.0, kinds=FAULTS)
    assert verdict.outcome == "valid", verdict.reasons


@pytest.mark.parametrize("recipe", [name for name, view in VIEWS.items() if view.faulty])
def test_mutants_are_found(simulated, recipe):
    faults = [] if recipe.startswith("watch") else ["client-partition"]
    _, _, verdict = simulated(
        1, workload="view", recipe=recipe, seconds=SECONDS[recipe.split("-")[0]], kinds=faults
    )
    found = {anomaly.kind for anomaly in verdict.anomalies if anomaly.promised}
    assert found & VIEWS[recipe].expected
