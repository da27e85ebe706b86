import json

import msgspec
import pytest

from rumpus.campaigns.lifting import _entry, _misfit, lift
from rumpus.checker.history import History, Op
from rumpus.checker.timeline.faults import OUTSIDE, FaultWindow
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.targets import Targets
from rumpus.usage_error import UsageError
from tests.rumpus.campaigns.conftest import deadlocked

SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def failed_run(tmp_path_factory):
    """The directory of a run in which kazoo's lock fails once the leader is paused."""
    return deadlocked(tmp_path_factory.mktemp("lifting"))


def test_a_run_is_lifted_with_its_faults_at_their_times(failed_run):
    lifted = lift(failed_run, "deadlock")
    assert lifted.seen.fingerprint.kind == "deadlock"
    assert lifted.seen.promised
    assert lifted.settings.ensemble == "sim"
    assert (lifted.settings.clients, lifted.settings.seed) == (3, 0)
    (entry,) = lifted.plan.entries
    assert (entry.kind, entry.targets) == ("pause", Targets(role="leader"))
    assert 1.0 <= entry.at < 1.2
    assert 0 < entry.duration <= 1.7
    assert 0 <= lifted.moment <= lifted.settings.time_limit
    assert lifted.left_out == []


def test_another_anomaly_of_the_run_can_be_chosen(failed_run):
    kinds = {
        each["kind"] for each in json.loads((failed_run / "results.json").read_text())["anomalies"]
    }
    for kind in kinds:
        assert lift(failed_run, kind).seen.fingerprint.kind == kind
    with pytest.raises(UsageError, match=r"no anomaly 'lost-job'; it has .*deadlock"):
        lift(failed_run, "lost-job")


def history(*leaders):
    """A history of which only the leaders matter: pairs of seconds and a server."""
    return History(
        [
            Op(index=n, time=at * SECOND, process="control", type="info", f="leader", value=value)
            for n, (at, name) in enumerate(leaders)
            for value in [{"leader": name}]
        ],
        clients=1,
    )


def window(number="1", targets=("n2",), **changes):
    return FaultWindow(
        **{
            "id": number,
            "kind": "kill",
            "targets": list(targets),
            "begun": 7 * SECOND,
            "in_force": 8 * SECOND,
            "healing": 11 * SECOND,
            "ended": 12 * SECOND,
            "verified_in_force": True,
            **changes,
        }
    )


def lifted_entry(window, *, targets=None, leaders=()):
    targets = targets or Targets(role="one")
    entry = Entry(id=1, at=4.0, kind="kill", targets=targets, duration=2.0)
    plan = FaultPlan(version=1, entries=(entry,))
    return _entry(window, plan, history(*leaders), 2 * SECOND, 30.0)


def test_a_fault_lasts_as_long_as_it_was_in_force():
    entry = lifted_entry(window())
    assert (entry.at, entry.duration) == (5.0, 3.0)


def test_a_fault_that_was_not_healed_lasts_to_the_end_of_the_load():
    entry = lifted_entry(window(healing=None, ended=None))
    assert (entry.at, entry.duration) == (5.0, 24.0)


def test_a_server_that_led_when_it_was_hit_is_the_leader():
    leaders = [(1, "n1"), (5, "n2"), (9, "n3")]
    assert lifted_entry(window(), leaders=leaders).targets == Targets(role="leader")
    other = lifted_entry(window(targets=["n3"]), leaders=leaders)
    assert other.targets == Targets(role="one")
    both = lifted_entry(window(targets=["n2", "n3"]), leaders=leaders)
    assert both.targets == Targets(role="one")


def test_a_server_that_was_named_stays_named():
    named = Targets(names=("n2",))
    assert lifted_entry(window(), targets=named, leaders=[(1, "n2")]).targets == named


@pytest.mark.parametrize(
    "changes",
    [
        {"in_force": None},
        {"verified_in_force": False},
        {"begun": 33 * SECOND, "in_force": 34 * SECOND, "healing": 35 * SECOND},
    ],
)
def test_a_fault_that_was_not_in_force_during_the_load_is_left_out(changes):
    assert lifted_entry(window(**changes)) is None


@pytest.mark.parametrize(
    ("state", "kind"),
    [("paused", "pause"), ("dead", "kill"), ("removed", "kill"), ("unplugged", "partition")],
)
def test_what_somebody_else_did_becomes_the_same_fault(state, kind):
    said = f"n2 is {state}, and no fault of the plan did that"
    entry = lifted_entry(window("outside-0", kind=OUTSIDE, detail=said))
    assert (entry.id, entry.kind, entry.targets) == (2, kind, Targets(names=("n2",)))
    assert (entry.at, entry.duration) == (5.0, 4.0)


def test_a_fault_that_simulated_servers_do_not_have_is_left_out():
    entry = Entry(id=1, at=1, kind="kill", targets=Targets(role="all"), duration=1)
    assert _misfit(entry, []) is None
    upgrade = msgspec.structs.replace(entry, kind="rolling-upgrade")
    assert "simulated servers all behave as" in _misfit(upgrade, [])
