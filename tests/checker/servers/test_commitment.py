"""Which proposals were committed: by example, and against a model of ZAB that knows."""

import random
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumpus.checker.servers.commitment import Commitment, decide
from rumpus.checker.servers.node_files import NodeFiles, counter, epoch
from rumpus.checker.servers.txnlog import LogFile
from tests.checker.crosscheck import examples
from tests.checker.txnlog_encoder import create, txn
from tests.checker.zab_model import Zab, digest, proposal, zxid


def zs(text: str) -> list[int]:
    """Zxids from a line like ``1.1 1.2 2.1`` (epoch and counter)."""
    return [zxid(*map(int, word.split("."))) for word in text.split()]


def names(txns) -> str:
    return " ".join(f"{epoch(txn.zxid)}.{counter(txn.zxid)}" for txn in txns)


def node(records: str, *, current: int | None = None, snapshots: str = "", end="padding"):
    txns = tuple(proposal(number) for number in zs(records))
    return NodeFiles(
        logs=(LogFile("log.1", txns, end, 0),),
        snapshots=frozenset([0, *zs(snapshots)]),
        current_epoch=current,
    )


def digested(*histories: str) -> dict[int, int]:
    """What the leaders had when they proposed the last of each history: zxid -> digest."""
    return {zs(history)[-1]: digest(zs(history)) for history in histories}


def with_digests(files: NodeFiles, digests: dict[int, int], tree: str | None = None):
    """The same files with digests, the last one of the tree in the newest snapshot."""
    (log,) = files.logs
    txns = tuple(msgspec.structs.replace(txn, digest=digests[txn.zxid]) for txn in log.txns)
    at = max(files.snapshots)
    snapshot = None if tree is None else (at, digest(zs(tree)))
    return replace(files, logs=(LogFile(log.name, txns, log.end, 0),), digest=snapshot)


def fates(found) -> tuple[str, str, str]:
    open_ = sorted(found.uncertain + found.forked, key=lambda txn: txn.zxid)
    return names(found.committed), names(found.discarded), names(open_)


def ensemble(*servers: NodeFiles) -> dict[str, NodeFiles]:
    """The files of servers n1, n2, ..."""
    return {f"n{number}": files for number, files in enumerate(servers, 1)}


def decided(*servers: NodeFiles, size: int | None = None):
    return decide(ensemble(*servers), size)


def test_no_files_and_empty_files():
    assert fates(decide({})) == ("", "", "")
    assert fates(decided(NodeFiles(), node(""))) == ("", "", "")


def test_in_the_last_epoch_what_a_quorum_logged_is_committed_and_the_rest_is_open():
    found = decided(
        node("1.1 1.2 1.3 1.4", current=1),
        node("1.1 1.2 1.3", current=1),
        node("1.1 1.2", current=1),
    )
    assert fates(found) == ("1.1 1.2 1.3", "", "1.4")
    (note,) = found.notes
    assert "0x100000004" in note
    assert "too few servers" in note


def test_a_standalone_server_commits_what_it_logs():
    assert fates(decided(node("0.1 0.2"))) == ("0.1 0.2", "", "")


def test_servers_that_entered_a_later_epoch_outvote_a_longer_log():
    # Followers killed, a write on the leader alone, the leader killed, the followers restarted.
    found = decided(node("1.1", current=2), node("1.1", current=2), node("1.1 1.2", current=1))
    assert fates(found) == ("1.1", "1.2", "")
    assert found.reasons == ()


def test_what_a_snapshot_from_the_leader_left_behind_in_the_log_is_discarded():
    found = decided(
        node("1.1 2.1 2.2 2.3", current=2),
        node("1.1 2.1 2.2 2.3", current=2),
        node("1.1 1.2 2.3", current=2, snapshots="2.2"),
    )
    assert fates(found) == ("1.1 2.1 2.2 2.3", "1.2", "")
    assert found.reasons == ()


def test_one_passage_from_epoch_to_epoch_decides_for_all():
    found = decided(node("1.1 1.2 1.3", current=1), node("1.1 1.2 3.1", current=3), size=3)
    assert fates(found) == ("1.1 1.2", "1.3", "3.1")


def test_logged_by_a_quorum_is_not_enough_when_an_election_got_stuck():
    # n2 entered epoch 2 and led nobody; n1 then entered 3 and n3 got 1.1 but died before it
    # entered 3 itself: n2 with n3 would drop 1.1, n1 with either keeps it.
    found = decided(node("1.1", current=3), node("", current=2), node("1.1", current=1))
    assert fates(found) == ("", "", "1.1")
    found = decided(node("1.1 1.2", current=1), node("1.1", current=2), node("1.1 1.2", current=1))
    assert fates(found) == ("1.1", "", "1.2")


def test_a_snapshot_of_an_attempt_to_lead_says_less_than_a_record():
    # n1 tried to lead with 1.2, was cut back to 1.1, and its snapshot stayed.
    found = decided(
        node("1.1 2.1", current=2, snapshots="1.2"),
        node("1.1 2.1", current=2),
        node("1.1 1.2", current=1),
    )
    assert fates(found) == ("1.1 2.1", "1.2", "")


def test_a_snapshot_from_the_leader_tells_where_it_stood():
    found = decided(
        node("2.1", current=2, snapshots="1.2"),
        node("2.1", current=2, snapshots="1.2"),
        node("1.1 1.2 1.3", current=1),
    )
    assert fates(found) == ("1.1 1.2 2.1", "1.3", "")


def test_who_entered_the_epoch_and_logged_nothing_tells_how_it_began():
    nodes = ensemble(
        node("1.1 1.2", current=1), node("1.1", current=2), node("", current=2, snapshots="2.0")
    )
    assert fates(decide(nodes)) == ("1.1", "1.2", "")
    nodes["n3"] = node("2.1", current=2, snapshots="2.0")
    assert fates(decide(nodes)) == ("1.1", "1.2", "2.1")


def test_when_all_came_by_snapshot_no_log_tells():
    found = decided(
        node("1.1", current=3, snapshots="3.1"),
        node("1.1", current=3, snapshots="3.1"),
        node("3.1", current=3, snapshots="3.0"),
    )
    assert fates(found) == ("3.1", "", "1.1")
    assert any("no log tells" in note for note in found.notes)


def test_missing_files_leave_only_what_a_quorum_has():
    nodes = ensemble(node("1.1 1.2", current=1), node("1.1", current=1))
    found = decide(nodes, ensemble_size=3)
    assert fates(found) == ("1.1", "", "1.2")
    assert found.reasons[0] == "the files of 1 of 3 servers are missing"
    assert fates(decide(nodes, ensemble_size=5)) == ("", "", "1.1 1.2")
    nodes["n2"] = node("1.1", current=2)
    assert fates(decide(nodes, ensemble_size=3)) == ("", "", "1.1 1.2")


def test_a_damaged_server_may_have_had_more():
    whole = node("1.1", current=2)
    damaged = NodeFiles(whole.logs, whole.snapshots, 2, 2, damage=("log.1: checksum",))
    nodes = ensemble(whole, whole, node("1.1 1.2", current=1))
    assert fates(decide(nodes)) == ("1.1", "1.2", "")
    found = decide({**nodes, "n1": damaged})
    assert fates(found) == ("1.1", "", "1.2")
    assert "n1: log.1: checksum" in found.reasons


@pytest.mark.parametrize("end", ["bad end-of-record mark", "torn record"])
def test_no_conclusion_is_drawn_across_a_broken_file(end):
    broken = NodeFiles(
        logs=(
            LogFile("log.100000001", (proposal(zxid(1, 1)),), end, 0),
            LogFile("log.200000001", (proposal(zxid(2, 1)),), "padding", 0),
        ),
        snapshots=frozenset([0]),
        current_epoch=2,
    )
    other = node("1.1 1.2 2.1", current=2)
    found = decided(broken, other, other)
    assert fates(found) == ("1.1 1.2 2.1", "", "")
    assert found.reasons == ()


def test_no_conclusion_is_drawn_across_a_gap():
    found = decided(
        node("1.1 2.2", current=2),
        node("1.1 1.2 2.1 2.2", current=2),
        node("1.1 1.2 2.1 2.2", current=2),
    )
    assert fates(found) == ("1.1 1.2 2.1 2.2", "", "")
    assert found.reasons == ()
    gaps = {replica.name: replica.gaps for replica in found.replicas}
    assert [(names(gap.txns), gap.before, gap.after) for gap in gaps["n1"]] == [
        ("1.2 2.1", zxid(1, 1), zxid(2, 2))
    ]
    assert gaps["n2"] == gaps["n3"] == ()


def test_a_jump_over_what_no_log_has_is_a_question_and_no_loss():
    found = decided(*[node("1.1 1.4", current=1)] * 3)
    assert "n1: its log jumps from 0x100000001 to 0x100000004 with no snapshot between" in (
        found.reasons
    )
    assert all(replica.gaps == () for replica in found.replicas)


def test_contradictory_passages_are_reported():
    found = decided(
        node("1.1 1.2 2.1", current=2), node("1.1 2.1", current=2), node("1.1 2.1", current=2)
    )
    assert fates(found) == ("1.1 2.1", "", "1.2")
    assert any(
        "disagree on the last transaction of epoch 1: n2 0x100000001, n1 0x100000002" in reason
        for reason in found.reasons
    )


def test_different_records_of_one_zxid_are_reported():
    mine, theirs = (create(5, "/a", data=data) for data in (b"mine", b"theirs"))
    found = decide(
        {
            name: NodeFiles((LogFile("log.5", (txn,), "padding", 0),), frozenset([0, 4]))
            for name, txn in [("n1", mine), ("n2", mine), ("n3", theirs)]
        }
    )
    assert found.committed == (mine,)
    assert "n3 has another record of zxid 0x5 than other servers" in found.reasons


def test_committed_transactions_that_no_log_holds_are_reported():
    found = decided(node("1.3", current=1, snapshots="1.2"))
    assert fates(found) == ("1.3", "", "")
    assert found.reasons == (
        "committed but in no log at hand: 2 transactions, 0x100000001 to 0x100000002",
    )


def test_a_jump_without_a_snapshot_is_reported():
    found = decided(node("1.1 1.4", current=1))
    assert "n1: its log jumps from 0x100000001 to 0x100000004 with no snapshot between" in (
        found.reasons
    )


def test_a_log_out_of_order_is_reported():
    found = decided(node("1.1 1.3 1.2", current=1))
    assert fates(found) == ("1.1 1.2 1.3", "", "")
    assert "n1: zxid 0x100000002 is logged after 0x100000003" in found.reasons
    assert [replica.late for replica in found.replicas] == [(0x100000002,)]


# What ZooKeeper 3.8.0 leaves in the logs although the ensemble went on without it.

LEFT = digested("1.1", "1.1 1.2", "1.1 1.2 1.3", "1.1 2.1")


@pytest.mark.parametrize("third", ["1.1 2.1", "1.1 1.2 1.3 2.1"])
def test_records_that_the_next_leader_did_not_have_are_not_committed_though_all_logged_them(third):
    # n1 and n2 logged 1.2 and 1.3 when n3, their leader, was gone; n2 led with 1.1 alone.
    nodes = ensemble(
        with_digests(node("1.1 1.2 1.3 2.1", current=2), LEFT),
        with_digests(node("1.1 1.2 1.3 2.1", current=2, snapshots="1.1"), LEFT, "1.1"),
        with_digests(node(third, current=2), LEFT),
    )
    found = decide(nodes)
    assert fates(found) == ("1.1 2.1", "", "1.2 1.3")
    (reason,) = found.notes
    names = "n1, n2" if third == "1.1 2.1" else "n1, n2, n3"
    assert "2 transactions, 0x100000002 to 0x100000003; the ensemble went on" in reason
    assert f"in the tree of {names}" in reason


@pytest.mark.parametrize(
    ("tree", "fate"),
    [
        ("1.1 2.1", ("1.1 2.1", "1.2 1.3", "")),
        ("1.1 1.2 1.3 2.1", ("1.1 2.1", "", "1.2 1.3")),
        ("1.1 1.3 2.1", ("1.1 2.1", "", "1.2 1.3")),
        (None, ("1.1 2.1", "1.2 1.3", "")),
    ],
)
def test_what_a_snapshot_shows_of_the_servers_own_tree(tree, fate):
    nodes = ensemble(
        with_digests(node("1.1 1.2 1.3 2.1", current=2, snapshots="2.1"), LEFT, tree),
        with_digests(node("1.1 2.1", current=2, snapshots="1.1"), LEFT, "1.1"),
        with_digests(node("1.1 2.1", current=2), LEFT),
    )
    assert fates(decide(nodes)) == fate


def test_a_server_that_will_have_to_give_up_what_it_has_beyond():
    nodes = ensemble(
        with_digests(node("1.1 1.2 1.3", current=1), LEFT),
        with_digests(node("1.1 2.1", current=2, snapshots="1.1"), LEFT, "1.1"),
        with_digests(node("1.1 2.1", current=2), LEFT),
    )
    assert fates(decide(nodes)) == ("1.1 2.1", "1.2 1.3", "")
    del nodes["n3"]
    assert fates(decide(nodes, 3))[1:] == ("", "1.2 1.3 2.1")


def test_what_came_back_in_a_later_leaders_tree_is_uncertain():
    # n1 was restarted and led epoch 3; n3 then led epoch 4 without 1.2 again.
    digests = digested(
        "1.1", "1.1 1.2", "1.1 2.1", "1.1 1.2 2.1 3.1", "1.1 2.1 3.1 4.1", "1.1 2.1 3.1 4.1 4.2"
    )
    log = "1.1 1.2 2.1 3.1 4.1 4.2"
    nodes = ensemble(
        with_digests(node(log, current=4, snapshots="2.1"), digests, "1.1 1.2 2.1"),
        with_digests(node(log, current=4, snapshots="1.1 4.1"), digests, "1.1 2.1 3.1 4.1"),
        with_digests(node("1.1 2.1 3.1 4.1 4.2", current=4, snapshots="3.1"), digests),
    )
    found = decide(nodes)
    assert fates(found) == ("1.1 2.1 3.1 4.1 4.2", "", "1.2")
    assert "in the tree of n1" in found.notes[0]
    assert not found.forked
    nodes["n1"] = with_digests(
        node(log, current=4, snapshots="2.1 4.2"), digests, "1.1 2.1 3.1 4.1 4.2"
    )
    nodes["n3"] = replace(nodes["n3"], digest=(zxid(3, 1), digest(zs("1.1 2.1 3.1"))))
    found = decide(nodes)
    assert fates(found) == ("1.1 2.1 3.1 4.1 4.2", "", "1.2")
    assert "were in the tree of a later leader" in found.notes[0]


def test_a_digest_that_fits_nothing_decides_nothing():
    digests = digested("1.1", "1.1 1.2") | {zxid(2, 1): 7}
    nodes = {
        name: with_digests(node("1.1 1.2 2.1", current=2, snapshots=snapshots), digests)
        for name, snapshots in [("n1", "1.2"), ("n2", "1.1"), ("n3", "")]
    }
    found = decide(nodes)
    assert fates(found) == ("2.1", "", "1.1 1.2")
    assert "the digest of 0x200000001 fits no history in the logs" in found.reasons[0]


def test_a_tree_that_fits_nothing_may_lack_what_its_server_has_not_logged():
    nodes = ensemble(
        with_digests(node("1.1 2.1", current=2, snapshots="1.1"), LEFT, "1.1"),
        with_digests(node("1.1 2.1", current=2), LEFT),
        with_digests(node("2.1", current=2, snapshots="2.1"), LEFT, "2.1"),
    )
    found = decide(nodes)
    assert fates(found) == ("2.1", "", "1.1")
    assert "the digest in the newest snapshot of n3 fits no history" in found.reasons


@pytest.mark.parametrize(
    ("began", "fate"),
    [
        (["1.2"], ("1.1 1.2 2.1", "", "")),
        (["1.1"], ("1.1 2.1", "", "1.2")),
        (["1.1", "1.2"], ("1.1 2.1", "", "1.2")),
        ([], ("1.1 2.1", "", "1.2")),
    ],
)
def test_cuts_with_one_digest_are_told_apart_by_the_snapshot_of_who_began_to_lead(began, fate):
    first, third = zs("1.1 2.1")
    txns = (
        msgspec.structs.replace(proposal(first), digest=digest([first])),
        txn("createSession", zxid(1, 2), timeout=9, digest=digest([first])),
        msgspec.structs.replace(proposal(third), digest=digest([first, third])),
    )
    nodes = {
        f"n{i + 1}": NodeFiles(
            (LogFile("log.1", txns, "padding", 0),),
            frozenset([0, *zs(began[i] if i < len(began) else "")]),
            2,
        )
        for i in range(3)
    }
    assert fates(decide(nodes)) == fate


def test_who_leads_already_may_lack_what_is_logged():
    digests = digested("1.1", "1.1 1.2")
    nodes = ensemble(
        with_digests(node("1.1 1.2", current=2), digests),
        with_digests(node("1.1 1.2", current=2, snapshots="1.1"), digests, "1.1"),
        with_digests(node("1.1 1.2", current=1, snapshots="1.2"), digests, "1.1 1.2"),
    )
    found = decide(nodes)
    assert fates(found) == ("1.1", "", "1.2")
    assert "the leader of epoch 2 may lack them" in found.notes[0]
    nodes["n1"] = with_digests(node("1.1 1.2", current=2, snapshots="1.2"), digests, "1.1 1.2")
    assert fates(decide(nodes)) == ("1.1 1.2", "", "")


# Against the model.


def step(choose, zab: Zab, *, late: bool) -> None:
    """One thing that can happen, chosen from those that can happen now."""

    def end():
        zab.end(lambda most: choose(range(most + 1)) if late else 0)

    leadership = zab.leadership
    choices = ["elect"]
    outside = [s for s in zab.servers if not leadership or s not in leadership.members]
    if leadership:
        behind = [s for s in leadership.members if leadership.logged[s.name] < leadership.proposed]
        choices += ["propose"] * 2 + ["log"] * 4 * bool(behind)
        choices += ["join"] * 2 * bool(outside) + ["crash"]
    choices += ["restart"] * bool(late and outside)
    match choose(choices):
        case "elect":
            if leadership:
                end()
            others = list(zab.servers)
            size = choose([zab.quorum, zab.quorum, len(others)])
            voters = [others.pop(choose(range(len(others)))) for _ in range(size)]
            zab.elect(
                voters,
                choose([size - 1, size - 1, *range(size)]),
                window=choose([0, 1, 2]),
                stuck=choose(["no", "no", "no", "accepted", "current", "half"]),
            )
        case "propose":
            zab.propose()
        case "log":
            zab.log_next(choose(behind))
        case "join":
            half = choose([False, False, False, True])
            zab.join(choose(outside), window=choose([0, 1, 2]), half=half)
        case "crash":
            zab.crash(choose(leadership.members), torn=choose([False, True]))
            if zab.over():
                end()
        case "restart":
            choose(outside).restart()


def assert_decided_as_it_was(zab: Zab, hidden: str) -> str:
    """Judge the files of a run, all of them and without one server's, by what is known of it."""
    if zab.late and not zab.leadership:
        # What a server has in its memory only is known when it has led or followed.
        zab.elect(zab.servers, len(zab.servers) - 1, window=0, stuck="no")
    futures = zab.futures()
    if not zab.late:
        assert all(zab.acknowledged <= future for future in futures), "the model itself is unsafe"
    certain = set.intersection(*futures)
    possible = set.union(*futures)
    proposals = {number for server in zab.servers for number in server.log}

    files = zab.files()
    found = decide(files)
    committed, discarded, uncertain = (
        {txn.zxid for txn in txns}
        for txns in (found.committed, found.discarded, found.uncertain + found.forked)
    )
    assert len(proposals) == len(found.committed + found.discarded + found.uncertain + found.forked)
    assert committed | discarded | uncertain == proposals
    assert committed <= certain
    assert not discarded & possible
    for fate, txns in (("uncertain", found.uncertain), ("forked", found.forked)):
        assert bool(txns) == any(note.startswith(fate) for note in found.notes)
    untold = any("no log tells" in note for note in found.notes)
    if not untold and not zab.late:
        assert uncertain == proposals & (possible - certain)
        lost = any("in no log at hand" in reason for reason in found.reasons)
        assert lost == bool(certain - proposals)
    if not zab.late:
        assert not any("disagree" in reason or "jumps" in reason for reason in found.reasons)
    assert_compared_as_they_are(zab, found)

    del files[hidden]
    partly = decide(files, len(zab.servers))
    if not zab.late:
        assert {txn.zxid for txn in partly.committed} <= certain
    assert not {txn.zxid for txn in partly.discarded} & possible
    if untold:
        return "untold"
    if not uncertain:
        return "clear"
    return "uncertain" if uncertain <= possible - certain else "cautious"


def assert_compared_as_they_are(zab: Zab, found: Commitment) -> None:
    """No server of the model skips anything, and each tree is what its server would start with."""
    committed = {txn.zxid for txn in found.committed}
    uncertain = {txn.zxid for txn in found.uncertain}
    later = {epoch(number) for number in zab.proposals()} | {
        max(server.current for server in zab.servers),
        1 << 32,
    }
    for server, replica in zip(zab.servers, found.replicas, strict=True):
        assert replica.name == server.name
        assert replica.gaps == ()
        entered = max(server.current, epoch(max([0, *server.log, *server.snapshots])))
        started = {
            number
            for number in server.restarted()[0]
            if number in committed
            or (number not in uncertain and min(e for e in later if e > epoch(number)) <= entered)
        }
        if replica.differing is not None and not uncertain:
            shared = {number for number in committed if number <= replica.at}
            assert bool(replica.differing) == (started != shared)
        if not zab.late:
            assert not replica.differing
            assert not replica.snapshots
    if not zab.late:
        assert not found.astray


@pytest.mark.parametrize("late", [False, True])
@settings(max_examples=examples(50))
@given(st.data())
def test_against_a_model_of_zab(late, data):
    zab = Zab(data.draw(st.sampled_from([1, 3, 5])))
    for _ in range(data.draw(st.integers(1, 40))):
        step(lambda choices: data.draw(st.sampled_from(choices)), zab, late=late)
    assert_decided_as_it_was(zab, data.draw(st.sampled_from(list(zab.files()))))


@pytest.mark.parametrize("steps", [20, 60])
@pytest.mark.parametrize("late", [False, True])
def test_against_many_random_runs_of_the_model(steps, late):
    outcomes = []
    for seed in range(max(300, examples())):  # enough for the shares below
        choose = random.Random(f"{steps} {seed}").choice
        zab = Zab(choose([3, 3, 5]))
        for _ in range(steps):
            step(choose, zab, late=late)
        outcomes.append(assert_decided_as_it_was(zab, choose(list(zab.files()))))
    assert outcomes.count("untold") < len(outcomes) / 100
    assert outcomes.count("uncertain") > len(outcomes) / 20
    assert outcomes.count("cautious") <= (len(outcomes) / 5 if late else 0)


def test_a_counter_is_no_number_of_transactions():
    """A damaged log names any counter: what is between is not listed."""
    last = (1 << 31) - 1
    files = node(f"1.1 1.{last}", current=1)
    digests = dict.fromkeys(zs(f"1.1 1.{last}"), 5)
    for found in (decided(files), decided(with_digests(files, digests))):
        assert fates(found) == (f"1.1 1.{last}", "", "")
        assert (
            f"committed but in no log at hand: {last - 2} transactions, 0x100000002 to 0x17ffffffe"
        ) in found.reasons
