"""The tester is repeatable, covers all kinds of requests, and finds servers with mistakes."""

from collections import Counter

import pytest

from rumpus.simulation.zookeeper.tree import watches
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.wire.permissions import OPEN
from tests.conformance.simulated_deployment import SimulatedDeployment
from tests.simulation.differential.comparison import compare, difference, execute, shrink
from tests.simulation.differential.steps import Generator, Step, operation


def simulated():
    return SimulatedDeployment()


def with_another_seed():
    return SimulatedDeployment(seed=7)


def test_a_sequence_is_a_function_of_its_seed():
    assert Generator(5).steps(300) == Generator(5).steps(300)
    assert Generator(5).steps(300) != Generator(6).steps(300)


@pytest.mark.parametrize("seed", range(3))
def test_a_simulated_server_answers_itself_alike(seed):
    steps = Generator(seed, restarts=0.005).steps(400)
    assert compare(steps, simulated, with_another_seed) is None


def test_much_succeeds_and_much_fails():
    steps = Generator(1).steps(1500)
    errors = Counter()
    events = 0
    for outcome in execute(steps, simulated):
        for reply in outcome.replies:
            if isinstance(reply, tuple) and len(reply) == 5:
                errors[reply[0]] += 1
                events += len(reply[4])
    assert errors[0] > 500
    assert events > 100
    assert {-5, -6, -8, -101, -102, -103, -108, -110, -111, -114, -115, -121} <= set(errors)


def test_every_batch_and_step_can_be_printed_and_sent():
    for step in Generator(2).steps(300):
        assert str(step).startswith(f"{step.session}: {step.action}(")


def test_what_breaks_a_real_server_is_never_drawn():
    for step in Generator(3).steps(5000):
        requests = step.arguments if step.action == "batch" else ((step.action, step.arguments),)
        for name, arguments in requests:
            assert name != "check"
            if name == "create_ttl":
                assert arguments[2] in (5, 6)
    with pytest.raises(ValueError, match="for ever"):
        operation("create_ttl", ("/a", -1, 0), 0)


def test_a_lost_event_is_found_and_the_sequence_shrunk(monkeypatch):
    changed = watches.WatchManager.changed
    honest = execute(STEPS, simulated)

    def forgetful(self, path, acl=OPEN):
        if path != "/b":
            changed(self, path, acl)

    monkeypatch.setattr(watches.WatchManager, "changed", forgetful)
    lying = execute(STEPS, simulated)
    assert honest != lying
    monkeypatch.undo()

    def differ(steps):
        first = execute(steps, simulated)
        with monkeypatch.context() as patch:
            patch.setattr(watches.WatchManager, "changed", forgetful)
            second = execute(steps, simulated)
        return difference(steps, first, second)

    found = differ(STEPS)
    smallest = shrink(found, differ)
    assert [step.action for step in smallest.steps] == ["create", "get_data", "set_data"]


STEPS = [
    *(Step(1, "create", (f"/a{n}", b"", 0, "open")) for n in range(20)),
    Step(0, "create", ("/b", b"", 0, "open")),
    *(Step(2, "exists", (f"/a{n}", True)) for n in range(20)),
    Step(0, "get_data", ("/b", True)),
    *(Step(1, "set_data", (f"/a{n}", b"x", -1)) for n in range(20)),
    Step(0, "set_data", ("/b", b"x", 0)),
    Step(0, "ping"),
]


def test_a_wrong_stat_is_found(monkeypatch):
    steps = [Step(0, "create", ("/b", b"", 0, "open")), Step(1, "set_data", ("/b", b"x", -1))]
    honest = execute(steps, simulated)
    set_data = DataTree._set_data

    def off_by_one(self, txn, header, watches):
        return set_data(self, txn._replace(version=txn.version + 1), header, watches)

    monkeypatch.setattr(DataTree, "_set_data", off_by_one)
    assert execute(steps, simulated) != honest
