"""Votes and decisions of transactions, by what clients were told and by the servers' logs."""

from types import SimpleNamespace

import pytest

from rumpus.checker.families.commitments import (
    Decided,
    Standing,
    check_commitments,
    check_ends,
    check_votes,
    decisions_in_logs,
    votes_in_logs,
)
from rumpus.checker.history import History
from rumpus.checker.servers.txnlog import Txn
from tests.checker.families.transactions import Transactions
from tests.checker.laid_out import laid_out


def test_two_decisions_in_the_servers_logs():
    recorded = Transactions().begun().vote(10, 0).vote(20, 1).decide(30, 2, "commit").history()
    commit, abort = Decided("commit", "0x1"), Decided("abort", "0x2")
    assert not check_commitments(
        laid_out(recorded, parts=[(decisions_in_logs, {"t": [commit]})])
    ).anomalies
    found = check_commitments(
        laid_out(recorded, parts=[(decisions_in_logs, {"t": [abort, commit]})])
    ).anomalies
    assert [anomaly.kind for anomaly in found] == ["two-decisions"]


@pytest.mark.parametrize(
    ("outcome", "standing", "lost"),
    [
        ("ok", {("t", "c1"): Standing("no", "c0")}, True),
        ("ok", {("t", "c1"): Standing("yes", "c1")}, False),
        ("ok", {("t", "c0"): Standing("no", "c0")}, False),
        ("fail", {("t", "c1"): Standing("no", "c0")}, False),
        ("info", {("t", "c1"): Standing("no", "c0")}, False),
        ("ok", {}, False),
        ("ok", None, False),
    ],
    ids=str,
)
def test_a_vote_that_was_acknowledged_stands(outcome, standing, lost):
    recorded = Transactions().begun().vote(10, 1, outcome=outcome).history()
    found = check_votes(laid_out(recorded, parts=[(votes_in_logs, standing)])).anomalies
    assert [(anomaly.kind, anomaly.clients) for anomaly in found] == [("lost-vote", [1])] * lost


def test_who_decided_is_what_the_logs_say_and_not_who_was_told_first():
    recorded = Transactions()
    for client in (0, 1):
        value = {"client": client, "session": f"0x{client}"}
        recorded.add(0, "session", "info", "connected", value)
    history = recorded.begun().decide(30, 1, "commit").decide(40, 0, "commit").history()

    def without(logged):
        return check_commitments(laid_out(history, parts=[(decisions_in_logs, logged)])).stats[
            "decided without the coordinator"
        ]

    assert without({"t": [Decided("commit", "0x0")]}) == 0
    assert without({"t": [Decided("commit", "0x1")]}) == 1
    assert without({"t": [Decided("commit", "0x9")]}) == 0
    assert without(None) is None


def test_in_the_end_everybody_learns_every_end():
    recorded = Transactions().begun().vote(10, 0).final(100)
    for process in range(3):
        recorded.outcomes(110 + process, process, {"t": "abort"})
    assert not check_ends(laid_out(recorded.end(200).history())).anomalies


@pytest.mark.parametrize(("outcomes", "blocked"), [({}, ["t"]), ({}, [])], ids=["open", "gone"])
def test_a_transaction_without_an_end(outcomes, blocked):
    recorded = Transactions().begun().final(100).outcomes(110, 1, outcomes, blocked)
    found = check_ends(
        laid_out(recorded.add(150, "control", "info", "phase-end").history())
    ).anomalies
    assert [(anomaly.kind, anomaly.clients) for anomaly in found] == [("blocked-transaction", [1])]


def test_no_end_is_asked_for_before_everything_is_healed():
    result = check_ends(laid_out(Transactions().begun().final(100, healed=False).history()))
    assert result.unknown
    assert not result.anomalies


def logs(*changes, contested=()):
    """Changes that were committed one by one, each of another session: path, data, and what."""
    committed = []
    for number, (path, data, *what) in enumerate(changes, 1):
        name = what[0] if what else "create"
        one = Txn(number, number, 1, 0, 1, name, path=path, data=data)
        committed.append(SimpleNamespace(effects=(one,), session=number))
    return SimpleNamespace(committed=committed, contested=lambda: frozenset(contested))


EMPTY = History([])


def test_who_wrote_which_decision_first():
    truth = logs(
        ("/p/t/decision", b"commit"),
        ("/p/t/decision", b"commit", "setData"),
        ("/p/t/decision", b"abort", "setData"),
        ("/p/u/decision-c1", b"abort"),
        ("/p/v/decision", b"none yet"),
        ("/q/t/decision", b"abort"),
    )
    assert decisions_in_logs(laid_out(EMPTY, truth=truth, path="/p")) == {
        "t": [Decided("commit", "0x1"), Decided("abort", "0x3")],
        "u": [Decided("abort", "0x4")],
        "v": [],
    }


def test_which_votes_stand():
    mine, others = (b'{"ballot": "yes", "author": "c0"}', b'{"ballot": "no", "author": "c1"}')
    changes = [
        ("/p/t/vote-c0", mine),
        ("/p/t/vote-c0", others, "setData"),
        ("/p/t/vote-c1", mine),
        ("/p/t/vote-c1", None, "delete"),
        ("/p/t/vote-c2", mine),
        ("/p/t/at-c0", mine),
        ("/q/t/vote-c3", mine),
    ]
    truth = logs(*changes, contested={"/p/t/vote-c2"})
    assert votes_in_logs(laid_out(EMPTY, truth=truth, path="/p")) == {
        ("t", "c0"): Standing("no", "c1"),
        ("t", "c1"): Standing("", ""),
    }


@pytest.mark.parametrize("data", [b"", b"x", b"[]", b"{}", b"\xff\xfe", b'{"ballot": "perhaps"}'])
def test_what_is_no_ballot_is_not_judged(data):
    truth = logs(("/p/t/vote-c1", data), ("/p/t/decision", data))
    history = Transactions().begun().vote(10, 1).history()
    timeline = laid_out(history, truth=truth, path="/p")
    assert decisions_in_logs(timeline) == {"t": []}
    result = check_votes(timeline)
    assert not result.anomalies
    assert result.unknown == ["t: what c1 has voted is no ballot"]
    assert result.stats == {"votes compared": 0}


def test_a_participant_that_is_no_client_has_not_said_yes():
    value = {"key": "t", "participants": ["c0", "c²"], "coordinator": "c0", "site": "c0"}
    recorded = Transactions().operation(0, 0, "ok", "begin", value)
    (found,) = check_commitments(
        laid_out(recorded.vote(10, 0).decide(30, 0, "commit").history())
    ).anomalies
    assert found.description == "t: committed without a yes of c²"
