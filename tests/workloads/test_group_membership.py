import pytest

from rumpus.checker.families.presence import check_discovery, check_lists, check_presence
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.recipes.registry.service_registry import RegistrationUnknown
from rumpus.recipes.requests.session import Unanswered
from rumpus.workloads.framework.workload import OpenClient
from rumpus.workloads.group_membership import REGISTRY
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded
from tests.harness.generators.dry_run import imperfect
from tests.workloads.dry_runs import DryRuns, invocations

CLOCK = WallClock([(0, 0)])
FOLDER = "/registry"
DRY = DryRuns(REGISTRY, clients=3, until=20 * 10**9)


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

    def contested(self):
        return frozenset()

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
    result = check_discovery(laid_out(history, truth=truth, clock=CLOCK, path=FOLDER))
    assert kinds(result) == ([kind] if kind else [])
    lagging = discovered(*["a"] * listed, settled=False)
    assert not check_discovery(laid_out(lagging, truth=truth, clock=CLOCK, path=FOLDER)).anomalies


def test_an_address_that_came_back_is_there_again():
    truth = Truth(("a", 10, 50, "0x1"), ("a", 60, None, "0x2"))
    assert not check_discovery(
        laid_out(discovered("a"), truth=truth, clock=CLOCK, path=FOLDER)
    ).anomalies


def test_one_session_makes_one_entry():
    twice = Truth(("a", 10, None, "0x1"), ("a", 60, None, "0x1"))
    assert kinds(
        check_discovery(laid_out(discovered("a"), truth=twice, clock=CLOCK, path=FOLDER))
    ) == ["ghost-entry"]
    again = Truth(("a", 10, 50, "0x1"), ("a", 60, None, "0x1"))
    assert not check_discovery(
        laid_out(discovered("a"), truth=again, clock=CLOCK, path=FOLDER)
    ).anomalies


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
    result = check_discovery(
        laid_out(history, truth=Truth(("a", *life, "0x1")), clock=CLOCK, path=FOLDER)
    )
    assert kinds(result) == kinds_found


def left_by(gone, *, exited=None):
    recorded = Recorded().add(10, 0, "invoke", "register", {"address": "a"})
    recorded.add(20, 0, "ok", "register", {"address": "a"})
    if exited is not None:
        recorded.session(exited, 0, "exited")
    recorded.add(100, 0, "invoke", "deregister").add(110, 0, "ok", "deregister")
    truth = Truth(("a", 15, gone, "0x1"))
    return kinds(
        check_discovery(laid_out(recorded.history(), truth=truth, clock=CLOCK, path=FOLDER))
    )


def test_who_is_told_to_be_deregistered_is_gone():
    assert left_by(105) == left_by(50) == []
    assert left_by(200) == left_by(None) == ["ghost-entry"]
    assert left_by(200, exited=60) == [], "a new process knows nothing of the old one's"


def test_missing_logs_leave_a_missing_entry_open():
    truth = Truth(("a", 10, None, "0x1"), reasons=["n1's logs are not at hand"])
    result = check_discovery(laid_out(discovered(), truth=truth, clock=CLOCK, path=FOLDER))
    assert not result.anomalies
    assert "not complete" in result.unknown[0]
    assert check_discovery(laid_out(discovered(), truth=None, clock=None, path=FOLDER)).unknown


def test_a_list_names_nobody_twice():
    assert kinds(check_lists(laid_out(discovered("a", "b")))) == []
    assert kinds(check_lists(laid_out(discovered("a", "a", "b")))) == ["ghost-entry"]


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
    result = check_presence(laid_out(final(("register", "ok"), ["a"], ["a"])))
    assert not result.anomalies
    assert not result.unknown
    assert not check_presence(laid_out(final(("deregister", "ok"), [], []))).anomalies


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
    assert set(kinds(check_presence(laid_out(final(last, discovered, seen))))) == {kind}


def test_who_cannot_register_with_every_fault_healed_is_stuck():
    result = check_presence(laid_out(final(("register", "info"), [], [])))
    assert kinds(result) == ["stuck-waiter"]


def test_ours_keeps_its_promises_under_all_faults(simulate):
    _, _, verdict = simulate(1, workload="registry", recipe="registry", seconds=12.0)
    assert verdict.outcome == "valid", verdict.reasons


class Scripted:
    """A registry in memory that does not answer while it is away."""

    settles = True

    def __init__(self):
        self.address = None
        self.addresses = []
        self.away = False

    def watch(self):
        return self

    def register(self, address, _timeout):
        self.address = address
        if self.away:
            raise RegistrationUnknown
        self.addresses = [address]

    def deregister(self, _timeout):
        self.address, self.addresses = None, []

    def discover(self, _timeout):
        if self.away:
            raise Unanswered
        return self.addresses


def test_who_is_registered_already_makes_sure_of_that():
    client = OpenClient(REGISTRY, Scripted())
    for address in ("a", "b"):
        told = client.invoke("register", {"address": address, "timeout": 1.0})
        assert (told.type, told.value) == ("ok", {"address": "a"})
    listed = {"addresses": ["a"], "settled": True}
    assert client.invoke("discover", {"timeout": 1.0}).value == listed
    assert client.invoke("look", None).value == {"addresses": ["a"]}
    gathered = client.invoke("gather", {"patience": 1.0}).value
    assert gathered == {"discovered": ["a"], "seen": ["a"]}


def test_a_registration_of_unknown_outcome_is_undone_and_a_list_without_answer_fails():
    registry = Scripted()
    registry.away = True
    client = OpenClient(REGISTRY, registry)
    asked = {"address": "a", "timeout": 1.0}
    assert client.invoke("register", asked).type == "info"
    assert client.invoke("discover", {"timeout": 1.0}).type == "fail"
    assert client.invoke(REGISTRY.cleanup["register"], asked).type == "ok"
    assert registry.address is None


def test_clients_come_and_go_under_addresses_of_their_own():
    calls = invocations(DRY.load(imperfect, cleanup=REGISTRY.cleanup))
    assert {op.f for op in calls} == REGISTRY.operations.keys() - {"gather"}
    last = {}
    for op in calls:
        if op.f == "register":
            process, stay = map(int, op.value["address"].removeprefix("p").split("-"))
            assert process == op.process
            assert stay >= last.get(process, 0)
            last[process] = stay
    assert max(last.values()) > 0, "somebody came back"


def test_in_the_end_all_come_and_after_a_while_all_list_and_half_of_them_leave():
    calls = invocations(DRY.final())
    fs = ["register"] * 3 + ["gather"] * 3 + ["deregister"] * 2 + ["gather"] * 3
    assert [op.f for op in calls] == fs
    assert {op.process for op in calls if op.f == "deregister"} == {0, 2}
    assert calls[3].time - calls[2].time > 4 * 10**9, "sessions of the dead have expired"
