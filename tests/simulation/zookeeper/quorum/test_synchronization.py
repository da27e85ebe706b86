from rumpus.simulation.zookeeper.quorum.quorum_packets import DIFF, SNAP, TRUNC
from rumpus.simulation.zookeeper.quorum.synchronization import choose
from rumpus.simulation.zookeeper.tree.transactions import Entry, ErrorTxn, Header


def entries(*zxids):
    return [Entry(Header(1, 1, zxid, 0, -1), ErrorTxn(-1), None, b"") for zxid in zxids]


def plan(peer, last_processed, committed, logged=None, **how):
    since = None if logged is None else lambda _: iter(entries(*logged))
    chosen = choose(peer, last_processed, entries(*committed), since, **how)
    return (
        chosen.kind,
        chosen.zxid,
        [entry.header.zxid for entry in chosen.entries],
        chosen.seen,
    )


E1, E2, E3 = 1 << 32, 2 << 32, 3 << 32


def test_who_is_up_to_date_gets_an_empty_diff():
    assert plan(E1 + 3, E1 + 3, [E1 + 1, E1 + 2, E1 + 3]) == (DIFF, E1 + 3, [], E1 + 3)
    assert plan(0, 0, []) == (DIFF, 0, [], 0)


def test_who_is_behind_gets_what_it_lacks():
    expected = (DIFF, E1 + 3, [E1 + 2, E1 + 3], E1 + 3)
    assert plan(E1 + 1, E1 + 3, [E1 + 1, E1 + 2, E1 + 3]) == expected


def test_who_is_ahead_is_cut_off():
    assert plan(E1 + 9, E2, [E1 + 1, E1 + 2]) == (TRUNC, E1 + 2, [], E1 + 2)


def test_a_new_leaders_own_zxid_is_nothing_to_cut_off():
    assert plan(E2, E1 + 2, [E1 + 1, E1 + 2]) == (SNAP, E1 + 2, [], E1 + 2)
    assert plan(E2, E3 + 1, [E1 + 2, E3 + 1]) == (DIFF, E3 + 1, [E3 + 1], E3 + 1)


def test_who_left_the_history_in_the_same_epoch_is_cut_off_and_gets_the_rest():
    committed = [E1 + 1, E1 + 2, E1 + 4]
    assert plan(E1 + 3, E1 + 4, committed) == (TRUNC, E1 + 2, [E1 + 4], E1 + 4)


def test_who_left_the_history_in_an_older_epoch_gets_a_snapshot():
    assert plan(E1 + 3, E2 + 1, [E1 + 1, E1 + 2, E2 + 1]) == (SNAP, E2 + 1, [], E2 + 1)


def test_who_is_far_behind_gets_a_snapshot_without_the_log():
    assert plan(E1 + 1, E1 + 9, [E1 + 8, E1 + 9]) == (SNAP, E1 + 9, [], E1 + 9)
    assert plan(E1 + 1, E1 + 9, [E1 + 8, E1 + 9], []) == (SNAP, E1 + 9, [], E1 + 9)


def test_the_log_helps_who_is_far_behind():
    logged = [E1 + 1, E1 + 2, E1 + 3, E1 + 4, E1 + 5]
    expected = (DIFF, E1 + 5, [E1 + 3, E1 + 4, E1 + 5], E1 + 5)
    assert plan(E1 + 2, E1 + 5, [E1 + 4, E1 + 5], logged) == expected


def test_what_the_log_has_of_another_epoch_may_never_have_been_committed():
    logged = [E1 + 1, E1 + 2, E1 + 3, E2 + 1, E2 + 2]  # E1 + 3 was replaced by a snapshot
    committed = [E2 + 1, E2 + 2]
    assert plan(E1 + 2, E2 + 2, committed, logged) == (SNAP, E2 + 2, [], E2 + 2)
    trusting = plan(E1 + 2, E2 + 2, committed, logged, trust_log=True)
    assert trusting == (DIFF, E2 + 2, [E1 + 3, E2 + 1, E2 + 2], E2 + 2)


def test_a_log_with_a_gap_is_not_used():
    logged = [E1 + 1, E1 + 2, E1 + 4, E1 + 5]
    assert plan(E1 + 1, E1 + 5, [E1 + 5], logged) == (SNAP, E1 + 5, [], E1 + 5)
