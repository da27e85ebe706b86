import pytest

from rumpus.checker.clock import WallClock
from rumpus.checker.families.presence import check_discovery, check_lists, check_presence
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.recipes.registry.catalogue import REGISTRIES
from tests.checker.recorded import Recorded
from tests.harness.simulated_runs import SimulatedRuns

CLOCK = WallClock([(0, 0)])
FOLDER = "/registry"


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return SimulatedRuns(tmp_path_factory.mktemp("registry"))


class Truth:
    """What the logs say: entries with the milliseconds of their lives, which are their zxids."""

    def __init__(self, *lives, reasons=()):
        self._lives = [
            ZnodeLife(
                path=f"{FOLDER}/{number}",
                czxid=born,
                created_ms=born,
                created_by=session,
                owner=session,
                data=address.encode(),
                deleted_zxid=gone,
                deleted_ms=gone,
            )
            for number, (address, born, gone, session) in enumerate(lives)
        ]
        self.reasons = list(reasons)
        self.uncertain = self.forked = ()

    def znodes(self, _prefix):
        return self._lives


def discovered(*addresses, called=100, returned=110, settled=True):
    value = {"addresses": list(addresses), "settled": settled}
    return (
        Recorded()
        .add(called, 0, "invoke", "discover")
        .add(returned, 0, "ok", "discover", value)
        .history()
    )


def kinds(result):
    return [anomaly.kind for anomaly in result.anomalies]


@pytest.mark.parametrize(
    ("life", "listed", "kind"),
    [
        ((10, None), True, None),
        ((10, None), False, "missing-entry"),
        ((10, 50), False, None),
        ((10, 50), True, "ghost-entry"),
        ((10, 105), True, None),
        ((10, 105), False, None),
        ((105, None), True, None),
        ((105, None), False, None),
        ((200, None), True, "ghost-entry"),
    ],
)
def test_a_list_is_held_against_the_servers(life, listed, kind):
    truth = Truth(("a", *life, "0x1"))
    history = discovered(*["a"] * listed)
    result = check_discovery(history, truth, CLOCK, FOLDER)
    assert kinds(result) == ([kind] if kind else [])
    lagging = discovered(*["a"] * listed, settled=False)
    assert not check_discovery(lagging, truth, CLOCK, FOLDER).anomalies


def test_an_address_that_came_back_is_there_again():
    truth = Truth(("a", 10, 50, "0x1"), ("a", 60, None, "0x2"))
    assert not check_discovery(discovered("a"), truth, CLOCK, FOLDER).anomalies


def test_one_session_makes_one_entry():
    twice = Truth(("a", 10, None, "0x1"), ("a", 60, None, "0x1"))
    assert kinds(check_discovery(discovered("a"), twice, CLOCK, FOLDER)) == ["ghost-entry"]
    again = Truth(("a", 10, 50, "0x1"), ("a", 60, None, "0x1"))
    assert not check_discovery(discovered("a"), again, CLOCK, FOLDER).anomalies


@pytest.mark.parametrize(
    ("life", "kinds_found"),
    [((10, None), []), ((105, None), []), ((10, 105), []), ((10, 50), ["missing-entry"])],
)
def test_who_is_told_to_be_registered_was_there(life, kinds_found):
    history = (
        Recorded()
        .add(100, 0, "invoke", "register", {"address": "a"})
        .add(110, 0, "ok", "register", {"address": "a"})
        .history()
    )
    result = check_discovery(history, Truth(("a", *life, "0x1")), CLOCK, FOLDER)
    assert kinds(result) == kinds_found


def test_missing_logs_leave_a_missing_entry_open():
    truth = Truth(("a", 10, None, "0x1"), reasons=["n1's logs are not at hand"])
    result = check_discovery(discovered(), truth, CLOCK, FOLDER)
    assert not result.anomalies
    assert "not complete" in result.unknown[0]
    assert check_discovery(discovered(), None, None, FOLDER).unknown


def test_a_list_names_nobody_twice():
    assert kinds(check_lists(discovered("a", "b"))) == []
    assert kinds(check_lists(discovered("a", "a", "b"))) == ["ghost-entry"]


def final(last, discovered, seen):
    """Client 0 ends with ``last`` (f, outcome) for address a; client 1 lists."""
    f, outcome = last
    recorded = Recorded(clients=2)
    recorded.add(0, "control", "info", "phase", {"phase": "final", "healed": True})
    recorded.add(1, 0, "invoke", f, {"address": "a"})
    recorded.add(2, 0, outcome, f, {"address": "a"})
    for client in (0, 1):
        recorded.add(5, client, "invoke", "gather")
        recorded.add(6, client, "ok", "gather", {"discovered": discovered, "seen": seen})
    return recorded.end(9).history()


def test_in_the_end_everybody_is_listed_who_is_there():
    result = check_presence(final(("register", "ok"), ["a"], ["a"]))
    assert not result.anomalies
    assert not result.unknown
    assert not check_presence(final(("deregister", "ok"), [], [])).anomalies


@pytest.mark.parametrize(
    ("last", "discovered", "seen", "kind"),
    [
        (("register", "ok"), [], ["a"], "missing-entry"),
        (("register", "ok"), ["a"], [], "stale-view"),
        (("deregister", "ok"), ["a"], [], "ghost-entry"),
        (("deregister", "ok"), [], ["a"], "stale-view"),
    ],
)
def test_in_the_end_nobody_is_missing_and_nobody_lingers(last, discovered, seen, kind):
    assert set(kinds(check_presence(final(last, discovered, seen)))) == {kind}


def test_who_cannot_register_with_every_fault_healed_is_stuck():
    result = check_presence(final(("register", "info"), [], []))
    assert kinds(result) == ["stuck-waiter"]


def test_ours_keeps_its_promises_under_all_faults(simulated):
    _, _, verdict = simulated(1, workload="registry", recipe="registry", seconds=12.0)
    assert verdict.outcome == "valid", verdict.reasons


@pytest.mark.parametrize(
    ("recipe", "seed", "faults"),
    [
        ("persistent", 1, ["client-kill"]),
        ("registered-once", 1, ["client-pause"]),
        ("no-lookup", 1, ["client-partition"]),
        ("notified-only", 1, ["client-partition"]),
    ],
)
def test_mutants_are_found(simulated, recipe, seed, faults):
    _, _, verdict = simulated(seed, workload="registry", recipe=recipe, seconds=12.0, kinds=faults)
    found = {anomaly.kind for anomaly in verdict.anomalies if anomaly.promised}
    assert found & REGISTRIES[recipe].expected, verdict.reasons
