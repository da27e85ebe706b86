import pytest

from rumpus.checker.clock import WallClock
from rumpus.checker.exclusion.mutual_exclusion import ServerView, SessionEnd
from rumpus.checker.exclusion.partitions import (
    check_ownership,
    check_shares,
    check_sizes,
    members_at_once,
)
from rumpus.checker.holds import Words
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.servers.txnlog import Txn
from rumpus.recipes.partitioner.catalogue import PARTITIONERS
from tests.checker.recorded import MS, Recorded
from tests.harness.simulated_runs import SimulatedRuns

PARTS = ("a", "b")
WORDS = Words()
CLOCK = WallClock([(0, 0)])


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return SimulatedRuns(tmp_path_factory.mktemp("partitioner"))


def share(*names, session):
    grant = {"node": None, "token": None, "session": session}
    return {"session": session, "parts": dict.fromkeys(names, grant)}


def two_members(first, second, *, released=40):
    """c0 acquires at 10 ms and releases; c1 acquires at 30 ms."""
    return (
        Recorded(clients=2)
        .add(5, 0, "invoke", "acquire")
        .add(10, 0, "ok", "acquire", share(*first, session="0x1"))
        .add(20, 1, "invoke", "acquire")
        .add(30, 1, "ok", "acquire", share(*second, session="0x2"))
        .release(released, released + 5, 0)
        .release(60, 65, 1)
        .end(100)
        .history()
    )


def shares(history, **server):
    view = ServerView(known=frozenset({"0x1", "0x2"}), **server)
    return check_shares(history, PARTS, lambda _: view, WORDS, tokens=False, lateness_matters=True)[
        0
    ]


def test_parts_of_their_own_are_no_conflict():
    result = shares(two_members(["a"], ["b"]))
    assert not result.anomalies
    assert result.stats["holds"] == 2


def test_two_owners_of_one_part_are():
    (anomaly,) = shares(two_members(["a", "b"], ["b"])).anomalies
    assert anomaly.kind == "shared-partition"
    assert "part b" in anomaly.description
    assert not shares(two_members(["a", "b"], ["b"], released=25)).anomalies


def test_an_owner_whose_session_has_ended_is_stale():
    ends = {"0x1": SessionEnd(15_000_000, expired=True)}
    (anomaly,) = shares(two_members(["b"], ["b"]), ends=ends).anomalies
    assert anomaly.kind == "stale-belief"


def test_without_the_logs_a_conflict_is_left_open():
    result = check_shares(
        two_members(["b"], ["b"]), PARTS, lambda _: None, WORDS, tokens=False, lateness_matters=True
    )[0]
    assert not result.anomalies
    assert result.unknown


def owning(*owned):
    recorded = Recorded(clients=len(owned))
    recorded.add(0, "control", "info", "phase", {"phase": "final", "healed": True})
    for client, parts in enumerate(owned):
        recorded.add(1, client, "invoke", "own")
        recorded.add(2, client, "ok", "own", {"parts": parts})
    return recorded.end(9).history()


@pytest.mark.parametrize(
    ("owned", "kinds"),
    [
        ((["a"], ["b"]), []),
        ((["a", "b"], []), []),
        ((["a"], []), ["unowned-partition"]),
        ((["a", "b"], ["b"]), ["shared-partition"]),
    ],
)
def test_in_the_end_every_part_has_one_owner(owned, kinds):
    result = check_ownership(owning(*owned), PARTS)
    assert [anomaly.kind for anomaly in result.anomalies] == kinds
    assert all(need.met for need in result.requirements)


@pytest.mark.parametrize(
    ("left", "owned", "kinds", "unknown"),
    [
        ("ok", ["a", "b"], [], False),
        ("ok", ["a"], ["unowned-partition"], False),
        ("info", ["a"], [], True),
    ],
)
def test_who_has_left_leaves_its_share_to_the_others(left, owned, kinds, unknown):
    recorded = Recorded(clients=2)
    recorded.add(0, "control", "info", "phase", {"phase": "final", "healed": True})
    for number, (first, second) in enumerate([(["a"], ["b"]), (owned, [])]):
        for client, parts in enumerate((first, second)):
            at = 10 * number + client
            recorded.add(at + 1, client, "invoke", "own", {"round": number})
            recorded.add(at + 2, client, "ok", "own", {"parts": parts})
        if not number:
            recorded.add(5, 1, "invoke", "leave").add(6, 1, left, "leave")
    result = check_ownership(recorded.end(30).history(), PARTS)
    assert [anomaly.kind for anomaly in result.anomalies] == kinds
    assert bool(result.unknown) == unknown


class Logs:
    """What the servers' logs say: lives of znodes, in milliseconds, and doubtful creations."""

    def __init__(self, *lives, doubtful=(), reasons=()):
        self.lives, self.reasons, self.uncertain = lives, reasons, ()
        self.forked = tuple(doubtful)

    def znodes(self, _path):
        return [
            ZnodeLife(path, 1, born, "0x1", owner, b"", None if gone is None else 2, gone)
            for path, born, gone, owner in self.lives
        ]


def member(name, born, gone=None, *, owner="0x1"):
    return f"/p/{name}", born, gone, owner


def test_members_are_counted_as_of_the_moment_at_which_they_were_most():
    lives = (
        member("members/a", 10_000),
        member("members/b", 20_000, 30_000),
        member("members/c", 40_000),
        member("members", 10_000, owner=None),
        member("locks/x/a", 10_000),
    )
    count = members_at_once(Logs(*lives), CLOCK, "/p", "/p/locks", 1_000 * MS)
    assert [count(at * 1_000 * MS, (at + 1) * 1_000 * MS) for at in (5, 12, 25, 30, 35, 45)] == [
        0,
        1,
        2,
        2,
        1,
        2,
    ]
    assert count(15_000 * MS, 50_000 * MS) == 2


def test_what_may_stand_on_some_server_only_counts_as_a_member():
    forked = Txn(9, 1, 0, 12_000, 1, "create", path="/p/members/x", ephemeral=True)
    count = members_at_once(Logs(doubtful=[forked]), CLOCK, "/p", "/p/locks", 0)
    assert (count(0, 11_000 * MS), count(90_000 * MS, 91_000 * MS)) == (0, 1)
    assert members_at_once(Logs(reasons=["no log of n2"]), CLOCK, "/p", "/p/locks", 0) is None


@pytest.mark.parametrize(
    ("own", "members", "kinds"),
    [
        (["a"], 2, []),
        ([], 2, ["partial-share"]),
        (["a"], 1, ["partial-share"]),
        ([], 3, []),
        ([], None, []),
    ],
)
def test_a_share_is_not_smaller_than_the_members_leave_it(own, members, kinds):
    counted = None if members is None else lambda _begun, _ended: members
    result = check_sizes(two_members(own, ["a", "b"]), PARTS, counted, WORDS)
    assert [anomaly.kind for anomaly in result.anomalies] == kinds


def test_ours_keeps_its_promises_under_all_faults(simulated):
    _, _, verdict = simulated(1, workload="partitioner", recipe="partitioner", seconds=18.0)
    assert verdict.outcome == "valid", verdict.reasons


@pytest.mark.parametrize(
    ("recipe", "seconds", "kinds"),
    [
        ("no-lock", 10.0, ()),
        ("evicting", 10.0, ()),
        ("gives-up", 20.0, ("client-partition", "client-pause")),
        ("stays-listed", 2.0, ()),
        ("unnoticed-change", 20.0, ("client-kill", "client-pause")),
    ],
)
def test_mutants_are_found(simulated, recipe, seconds, kinds):
    _, _, verdict = simulated(
        0, workload="partitioner", recipe=recipe, seconds=seconds, kinds=kinds
    )
    found = {anomaly.kind for anomaly in verdict.anomalies if anomaly.promised}
    assert found & PARTITIONERS[recipe].expected, verdict.reasons
