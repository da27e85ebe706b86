"""What the servers' files prove about the servers: each finding, and its twin without it."""

from dataclasses import replace

import msgspec
import pytest

from rumpus.checker.server_promises.state import check_server_state
from rumpus.checker.servers.node_files import NodeFiles
from rumpus.checker.servers.own_words import OwnWords, Truncation
from rumpus.checker.servers.server_truth import merge
from rumpus.checker.servers.txnlog import LogFile
from rumpus.checker.timeline.clock import WallClock
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded
from tests.checker.txnlog_encoder import create, txn
from tests.checker.zab_model import digest, proposal, znodes, zxid


def zs(text: str) -> list[int]:
    return [zxid(*map(int, word.split("."))) for word in text.split()]


WHOLE = "1.1 1.2 1.3 2.1 2.2"
TREES = [WHOLE[: 4 * length + 3] for length in range(5)] + ["1.1 1.2 1.3 1.4"]
"""What a leader had when it proposed the last of each."""
PROPOSALS = {
    zs(tree)[-1]: msgspec.structs.replace(proposal(zs(tree)[-1]), digest=digest(zs(tree)))
    for tree in TREES
}


def server(*logs: str, snapshots: dict[str, str] | None = None, current=2, words=None):
    """A server's files: its logs' zxids, and snapshot -> the zxids that its tree has."""
    taken = {0: []} | {zs(name)[0]: zs(has) for name, has in (snapshots or {}).items()}
    return NodeFiles(
        tuple(
            LogFile(f"log.{number}", tuple(PROPOSALS[each] for each in zs(log)), "padding", 0)
            for number, log in enumerate(logs)
        ),
        frozenset(taken),
        current,
        read_tree=lambda number: znodes(taken[number]),
        own_words=words or OwnWords(),
    )


def found(*servers: NodeFiles, shown: int = 0) -> list[tuple[str, str]]:
    history = Recorded().add(1, "link", "info", "requests", {"client": 0, "shown": shown}).history()
    truth = merge({f"n{number}": files for number, files in enumerate(servers, 1)})
    result = check_server_state(laid_out(history, truth=truth, clock=WallClock([(0, 0)])))
    assert result.unknown == []
    return [(each.kind, each.description) for each in result.anomalies]


def test_servers_that_have_everything_are_clean():
    lagging = server("1.1 1.2")
    by_snapshot = server("1.1 2.2", snapshots={"2.1": "1.1 1.2 1.3 2.1"})
    assert found(server(WHOLE), server(WHOLE), server(WHOLE), lagging, by_snapshot) == []


def test_a_gap_is_a_loss():
    (loss,) = found(server(WHOLE), server(WHOLE), server("1.1 2.2", snapshots={"2.2": WHOLE}))
    words = (
        "n3 never got 3 committed transactions (0x100000002 to 0x200000001): its log jumps from "
        "0x100000001 to 0x200000002 with no snapshot between"
    )
    assert loss == ("lost-transaction", words)


def test_a_gap_that_is_never_covered_makes_another_tree_as_well():
    kinds = found(server(WHOLE), server(WHOLE), server("1.1 2.1 2.2"))
    assert [kind for kind, _ in kinds] == ["lost-transaction", "diverged-servers"]
    assert "n3, started from its files, has 2 znodes that differ" in kinds[1][1]


def test_refused_requests_alone_are_no_loss():
    error = txn("error", zxid(1, 2), error=-101)
    whole = (proposal(zxid(1, 1)), error, proposal(zxid(1, 3)))
    files = replace(server(), logs=(LogFile("log.1", whole, "padding", 0),), current_epoch=1)
    lacking = replace(files, logs=(LogFile("log.1", (whole[0], whole[2]), "padding", 0),))
    assert found(files, files, lacking) == []


def test_a_snapshot_with_another_tree():
    wrong = server(WHOLE, snapshots={"1.2": "1.2", "2.2": WHOLE})
    ((kind, words),) = found(server(WHOLE), server(WHOLE), wrong)
    assert kind == "diverged-servers"
    assert "n3 wrote a snapshot with" in words
    assert "differ from the history at 0x100000002" in words
    early = server(WHOLE, snapshots={"1.2": "1.1 1.2 1.3", "2.2": WHOLE})  # a fuzzy one
    assert found(server(WHOLE), server(WHOLE), early) == []


@pytest.mark.parametrize(
    ("logs", "kind"),
    [
        (["1.1 1.2 1.3 1.4 2.1 2.2"], "latent-divergence"),
        (["1.1 1.2 1.3 1.4 2.1", "2.2"], "diverged-servers"),  # it has started again since
    ],
)
def test_what_the_ensemble_dropped_and_a_server_kept(logs, kind):
    leader = server(WHOLE, snapshots={"1.3": "1.1 1.2 1.3"})
    ((told, words),) = found(leader, leader, server(*logs))
    assert told == kind
    assert "n3" in words
    assert "1 transaction that the ensemble dropped, from 0x100000004 on" in words
    covered = server(*logs, snapshots={"2.2": WHOLE})
    assert found(leader, leader, covered) == []


def test_what_a_server_has_logged_after_later_ones_is_named():
    """ZOOKEEPER-4712: the thread that writes the log outlives the leader that it had."""
    leader = server(WHOLE)
    words = dict(found(leader, leader, server("1.1 2.1 1.2 1.3 2.2")))["latent-divergence"]
    assert words.startswith("n3 has logged 2 transactions (0x100000002 to 0x100000003) after later")


def test_a_record_that_differs_from_the_others():
    mine, theirs = (create(zxid(1, 1), "/a", data=data) for data in (b"mine", b"theirs"))
    files = [
        NodeFiles((LogFile("log.1", (each,), "padding", 0),), frozenset([0]), 1)
        for each in (mine, mine, theirs)
    ]
    assert ("diverged-servers", "n3 has another record of zxid 0x100000001 than other servers") in (
        found(*files)
    )


def test_what_a_server_says_of_itself():
    says = server(WHOLE, words=OwnWords((zxid(2, 1),), 4))
    words = (
        "n3 found its tree to differ from the leader's, first after 0x200000001, 4 times since its "
        "last start"
    )
    assert found(server(WHOLE), server(WHOLE), says) == [("diverged-servers", words)]
    counts = server(WHOLE, words=OwnWords((), 1))
    assert [kind for kind, _ in found(server(WHOLE), server(WHOLE), counts)] == ["diverged-servers"]


@pytest.mark.parametrize(
    ("last", "committed", "lost"),
    [("1.3", "2.1", True), ("1.3", "1.2", False), ("1.4", "2.1", False)],
)
def test_a_truncation_of_what_was_committed(last, committed, lost):
    # What is not committed yet is sent again behind the truncation; what was dropped is no loss.
    (last,), (to,), (done,) = zs(last), zs("1.1"), zs(committed)
    leader = server(WHOLE, words=OwnWords(truncations=(Truncation(3, last, to, done),)))
    losses = found(leader, server(WHOLE), server(WHOLE))
    words = "n1 led, and let server 3 drop 0x100000003, its last transaction, which was committed"
    assert losses == [("lost-transaction", words)] * lost


def test_a_leader_with_a_tree_that_no_history_leads_to():
    def digested(*trees: str) -> NodeFiles:
        txns = tuple(
            msgspec.structs.replace(proposal(zs(tree)[-1]), digest=digest(zs(tree)))
            for tree in trees
        )
        return replace(server(), logs=(LogFile("log.1", txns, "padding", 0),))

    right = digested("1.1", "1.1 1.2", "1.1 1.2 2.1")
    assert found(right, right, right) == []
    wrong = digested("1.1", "1.1 1.2", "1.2 2.1")
    words = "the leader that proposed 0x200000001 had a tree that no history leads to"
    assert ("diverged-servers", words) in found(wrong, wrong, wrong)


def test_what_a_client_was_shown_is_on_a_quorum_of_disks():
    whole, short = server(WHOLE), server("1.1 1.2 1.3 2.1")
    last = zxid(2, 2)
    assert found(whole, whole, short, shown=last) == []
    assert found(whole, short, short, shown=zxid(2, 1)) == []
    assert found(whole, short, short, shown=zxid(3, 0)) == []  # no log has what begins an epoch
    words = "so a quorum had it on disk, but of 3 servers only n1 still has it"
    ((kind, told),) = found(whole, short, short, shown=last)
    assert (kind, words in told) == ("lost-transaction", True)


def test_a_digest_that_is_not_that_of_the_transactions():
    def logged(changed: bytes) -> NodeFiles:
        txns = [PROPOSALS[each] for each in zs(WHOLE)]
        txns[4] = msgspec.structs.replace(txns[4], data=changed)
        return replace(server(), logs=(LogFile("log.1", tuple(txns), "padding", 0),))

    right, wrong = logged(PROPOSALS[zxid(2, 2)].data), logged(b"other")
    assert found(right, right, right) == []
    words = (
        "leaders logged 1 digests, from 0x200000002 on, that are not those of the transactions up "
        "to there"
    )
    assert found(wrong, wrong, wrong) == [("diverged-servers", words)]
