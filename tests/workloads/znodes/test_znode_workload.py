"""The workloads on ZooKeeper itself, in whole simulated runs."""

from collections import Counter
from dataclasses import replace

import pytest
from kazoo.exceptions import NoAuthError, NoNodeError
from kazoo.protocol.states import ZnodeStat

from rumpus.checker.history import Op
from rumpus.harness.generators.script import Client
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.nemesis.registry import SOUND
from rumpus.recipes.znodes.guarded_znodes import Sight
from rumpus.recipes.znodes.register import ABSENT
from rumpus.workloads.framework.workload import OpenClient
from rumpus.workloads.registry import WORKLOADS
from rumpus.workloads.znodes.multi import MULTI
from rumpus.workloads.znodes.register import REGISTER
from rumpus.workloads.znodes.watch import WATCH
from rumpus.workloads.znodes.znode import ZNODE
from tests.harness.generators.dry_run import MILLISECOND, Ending, dry_run, perfect

FAMILIES = ("register", "append", "watch", "ephemeral", "sequence", "multi", "znode")
SECONDS = 10.0
CLIENTS = 4


@pytest.mark.parametrize("workload", FAMILIES)
def test_sound_uses_are_valid_under_faults(workload, simulate):
    recipe = next(iter(WORKLOADS[workload].recipes))
    _, _, verdict = simulate(
        1, workload=workload, recipe=recipe, seconds=SECONDS, kinds=("kill", "client-partition")
    )
    assert [each.kind for each in verdict.anomalies] == []
    assert verdict.outcome in ("valid", "inconclusive"), verdict.reasons


@pytest.mark.parametrize(
    ("workload", "recipe", "kinds"),
    [
        ("register", "ignores-version", ()),
        ("register", "overwrites", ()),
        ("watch", "any-news", ("client-partition",)),
        ("append", "blind", ()),
        ("sequence", "counts-children", ()),
        ("ephemeral", "persistent", ()),
        ("ephemeral", "tidies-up", ()),
        ("multi", "one-by-one", ("follower-lag",)),
        ("multi", "ignores-version", ()),
        ("znode", "unguarded", ()),
        ("znode", "lists-on-parent", ()),
        ("znode", "counts-versions", ()),
    ],
)
def test_mistakes_that_need_few_faults_are_caught(workload, recipe, kinds, simulate):
    _, _, verdict = simulate(1, workload=workload, recipe=recipe, seconds=3.0, kinds=kinds)
    expected = WORKLOADS[workload].catalogue[recipe].expected
    assert expected & {each.kind for each in verdict.anomalies if each.promised}


def test_all_faults_of_the_simulation_leave_zookeepers_promises_whole(simulate):
    _, _, verdict = simulate(
        2, workload="register", recipe="linearizable", seconds=20.0, kinds=SOUND
    )
    assert [each.kind for each in verdict.anomalies] == []


SHARES = {
    "register": {"read": 49, "write": 20, "cas": 29, "reconnect": 2},
    "append": {"append": 3, "read": 1},
    "watch": {
        "await": 30,
        "write": 16,
        "make": 9,
        "unmake": 9,
        "survey": 12,
        "read": 9,
        "watch": 13,
    },
    "ephemeral": {"create": 3, "remove": 2, "look": 3},
    "sequence": {"generate": 1},
    "multi": {"write": 2, "write_if": 2, "read": 4},
    "znode": {"read": 5, "set": 4, "list": 4, "grow": 4, "prune": 3},
}


def setting(workload, seconds):
    recipe = next(iter(WORKLOADS[workload].recipes.values()))
    return WorkloadContext(Seed(1), recipe, CLIENTS, 2.0, until=seconds * 10**9)


@pytest.mark.parametrize("workload", FAMILIES)
def test_a_load_has_its_mix_and_its_pace(workload):
    load = WORKLOADS[workload].load_of(setting(workload, 40))
    done = dry_run(load, clients=CLIENTS, nemesis=False, behaviour=perfect)
    calls = [op for op in done.history if op.type == "invoke"]
    assert max(op.time for op in calls) < 40 * 10**9
    assert len(calls) == pytest.approx(4000, rel=0.05)
    shares, drawn = SHARES[workload], Counter(op.f for op in calls)
    assert {f for f, number in drawn.items() if number > 200} <= shares.keys()
    counted = sum(drawn[f] for f in shares)
    for f, share in shares.items():
        assert drawn[f] / counted == pytest.approx(share / sum(shares.values()), rel=0.15, abs=0.01)


@pytest.mark.parametrize("workload", FAMILIES)
def test_in_the_end_every_client_asks_until_it_is_answered(workload):
    def refuse(dispatch, seed):  # noqa: ARG001 - a behaviour's
        return Ending(0, 10 * MILLISECOND, "fail")

    # Only etcd's clients follow all changes.
    asked = [f for f, _ in WORKLOADS[workload].at_the_end if f != "follow"]
    for behaviour in (perfect, refuse):
        done = dry_run(
            WORKLOADS[workload].final_of(setting(workload, 1)),
            clients=CLIENTS,
            nemesis=False,
            behaviour=behaviour,
        )
        calls = Counter(op.f for op in done.history if op.type == "invoke")
        assert calls == Counter(asked * CLIENTS), "a refusal is an answer"


def test_clients_of_etcd_follow_all_changes_and_leave_no_watches():
    workload = WORKLOADS["watch"]
    context = replace(setting("watch", 40 * 10**9), recipe=workload.recipe_of("etcd"))
    for make in (workload.load_of, workload.final_of):
        done = dry_run(make(context), clients=CLIENTS, nemesis=False, behaviour=perfect)
        called = {op.f for op in done.history if op.type == "invoke"}
        assert {"await", "follow"} <= called <= {"await", "follow", "write", "reconnect"}


def heard(workload, *versions):
    """The load when one client has been told these versions of r0."""
    shared = workload.shared()
    for version in versions:
        value = {"key": "r0", "version": version, "session": "0x1"}
        workload.on_completion(shared, Op(time=1, process=0, type="ok", f="read", value=value))
    workload.on_completion(shared, Op(time=1, process=0, type="ok", f="reconnect", value={}))
    workload.on_completion(shared, Op(time=1, process=0, type="fail", f="read"))
    return Client(0, setting(workload.name, 1), Seed(3), shared)


def drawn(workload, client, f, number=1000):
    load = workload.load(client)
    answered = Op(time=1, process=0, type="fail", f="read")
    steps = [next(load), *(load.send(answered) for _ in range(number))]
    return [step.value for step in steps if step.f == f]


def test_a_comparison_expects_the_latest_version_that_anybody_has_heard_of():
    values = drawn(REGISTER, heard(REGISTER, 4, 7, 5), "cas")
    expected = Counter(each["value"][0] for each in values if each["key"] == "r0")
    assert expected.keys() == {7, ABSENT}
    assert expected[ABSENT] / expected.total() == pytest.approx(1 / 8, abs=0.08)


def test_half_of_the_conditional_transactions_come_too_late():
    shared = MULTI.shared()
    MULTI.on_completion(shared, Op(time=1, process=0, type="ok", f="write", value={"version": 7}))
    values = drawn(MULTI, Client(0, setting("multi", 1), Seed(3), shared), "write_if")
    expected = Counter(each["version"] for each in values)
    assert expected.keys() == {7, 0}
    assert expected[0] / expected.total() == pytest.approx(0.5, abs=0.1)


def test_some_long_waits_lose_their_connection_and_brief_ones_do_not():
    values = drawn(WATCH, Client(0, setting("watch", 1), Seed(3)), "await", 3000)
    dropped = [each["timeout"] for each in values if "reconnect" in each]
    assert len(dropped) / len(values) == pytest.approx(1 / 9, abs=0.03)
    assert max(dropped) > 11
    assert all(0.5 <= each["timeout"] <= 12.0 for each in values)


class Answers:
    """A client's side of guarded znodes, which answers everything alike."""

    def __init__(self, answer):
        self._answer = answer
        self.asked = []

    def prepare(self):
        pass

    def read(self, path):
        self.asked.append(path)
        if isinstance(self._answer, Exception):
            raise self._answer
        return Sight(self._answer, data="v0")


def test_a_look_at_a_child_tells_no_stat():
    stat = ZnodeStat(**dict.fromkeys(ZnodeStat._fields, 1))
    znodes = Answers(stat)
    client = OpenClient(ZNODE, znodes)
    told = client.invoke("read", {"name": "z0"}).value
    assert told == {"name": "z0", "stat": stat._asdict(), "data": "v0"}
    assert client.invoke("read", {"name": "z0", "child": "c1"}).value == {"name": "z0"}
    assert znodes.asked == ["z0", "z0/c1"]


def test_what_a_list_forbids_is_told_as_that():
    told = OpenClient(ZNODE, Answers(NoAuthError())).invoke("read", {"name": "z0"})
    assert (told.type, told.error) == ("fail", "no authority")
    told = OpenClient(ZNODE, Answers(NoNodeError())).invoke("read", {"name": "z0"})
    assert (told.type, told.error) == ("fail", None)
