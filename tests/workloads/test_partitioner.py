import pytest

from checker.exclusion import ServerView, SessionEnd
from checker.holds import Words
from checker.partitions import check_ownership, check_shares
from recipes.catalogue.partitioners import PARTITIONERS
from tests.checker.recorded import Recorded
from tests.harness.simulated_runs import SimulatedRuns

PARTS = ("a", "b")
WORDS = Words()


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


def test_ours_keeps_its_promises_under_all_faults(simulated):
    _, _, verdict = simulated(1, workload="partitioner", recipe="partitioner", seconds=18.0)
    assert verdict.outcome == "valid", verdict.reasons


@pytest.mark.parametrize(
    ("recipe", "seconds", "kinds"),
    [
        ("no-lock", 10.0, ()),
        ("evicting", 10.0, ()),
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
