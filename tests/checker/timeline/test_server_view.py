import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.servers.commitment import Commitment
from rumpus.checker.servers.server_truth import ServerTruth, ZnodeLife
from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.ownership import Ownership
from rumpus.checker.timeline.server_view import _turns, server_view
from tests.checker.recorded import MS

CLOCK = WallClock([(0, 0)])


def txn(zxid, name, session=1, **fields):
    kinds = {"create": 1, "delete": 2, "createSession": -10, "closeSession": -11}
    return Txn(
        zxid=zxid,
        session=session,
        cxid=fields.pop("cxid", zxid),
        time_ms=zxid * 10,
        type=kinds[name],
        name=name,
        **fields,
    )


def view(
    *txns,
    reasons=(),
    uncertain=(),
    forked=(),
    kind="sequential",
    path="/l",
    mark="lock",
    clock=CLOCK,
    **more,
):
    truth = ServerTruth(
        Commitment(
            committed=tuple(txns),
            discarded=(),
            uncertain=tuple(uncertain),
            reasons=tuple(reasons),
            forked=tuple(forked),
        )
    )
    return server_view(truth, clock, kind=kind, path=path, mark=mark, **more)


def create(zxid, path, session=1):
    return txn(zxid, "create", session, path=path, data=b"", ephemeral=True)


def owned(seen):
    """Who owned from which zxid to which: (session, grant, loss)."""
    return [(each.session, each.grant, each.loss) for each in seen.owners]


def opened(session):
    return txn(session, "createSession", session, timeout=2000)


def test_the_lowest_number_owns_until_its_node_is_gone():
    seen = view(
        create(11, "/l/a-lock-0000000001", 1),
        create(12, "/l/b-lock-0000000002", 2),
        create(13, "/l/c-lock-0000000003", 3),
        txn(14, "delete", 2, path="/l/b-lock-0000000002"),
        txn(15, "delete", 1, path="/l/a-lock-0000000001"),
    )
    assert owned(seen) == [
        ("0x1", 11, 15),
        ("0x3", 15, None),
    ]
    assert seen.owners[0].start == 110 * MS


def test_a_node_with_a_lower_number_that_comes_later_owns_beside_the_first():
    seen = view(create(11, "/l/a-lock-0000000005", 1), create(12, "/l/b-lock-0000000004", 2))
    assert owned(seen) == [
        ("0x1", 11, None),
        ("0x2", 12, None),
    ]


def test_nodes_that_are_not_in_the_line_do_not_count():
    seen = view(
        create(11, "/l/a-other-0000000001"),
        create(12, "/l/lock"),
        create(13, "/l/deeper/x-lock-0000000001"),
    )
    assert seen.owners == []


def test_an_expired_session_ends_its_ownership():
    path = "/l/a-lock-0000000001"
    seen = view(opened(1), create(11, path), txn(12, "closeSession", 1, cxid=0, paths=(path,)))
    assert [(o.loss, o.expired) for o in seen.owners] == [(12, True)]
    assert seen.ends["0x1"].expired
    assert seen.ends["0x1"].time == 120 * MS
    assert "0x1" in seen.known


def test_turns_tell_when_each_node_came_to_be_first():
    txns = [
        create(11, "/l/a-lock-0000000001", 1),
        create(12, "/l/b-lock-0000000002", 2),
        create(13, "/l/c-lock-0000000003", 3),
        txn(14, "delete", 2, path="/l/b-lock-0000000002"),
        txn(15, "delete", 1, path="/l/a-lock-0000000001"),
    ]
    turns = {
        "a-lock-0000000001": 110 * MS,
        "b-lock-0000000002": None,
        "c-lock-0000000003": 150 * MS,
    }
    assert view(*txns).turns == {f"/l/{name}": turn for name, turn in turns.items()}
    assert view(*txns, reasons=["a gap"]).turns == {}


def test_nodes_tell_how_often_their_parent_had_been_created_again():
    seen = view(
        opened(1),
        create(2, "/l"),
        create(3, "/l/lock-0000000000"),
        txn(4, "delete", path="/l/lock-0000000000"),
        txn(5, "delete", path="/l"),
        create(6, "/l"),
        create(7, "/l/lock-b-0000000000"),
    )
    assert seen.lines_before == {"/l/lock-0000000000": 0, "/l/lock-b-0000000000": 1}
    assert [grant for _, grant, _ in owned(seen)] == [3, 7]


def test_a_single_node_is_owned_by_who_made_it():
    seen = view(
        create(11, "/l", 1), txn(12, "delete", 2, path="/l"), create(13, "/l", 2), kind="single"
    )
    assert owned(seen) == [
        ("0x1", 11, 12),
        ("0x2", 13, None),
    ]


def test_a_node_made_anew_while_it_was_there_had_two_owners():
    seen = view(create(11, "/l", 1), create(12, "/l", 2), kind="single")
    assert [(o.session, o.loss) for o in seen.owners] == [("0x1", None), ("0x2", None)]
    gap = view(create(11, "/l", 1), create(12, "/l", 2), kind="single", reasons=["a gap"])
    assert [o.loss for o in gap.owners] == [12, None]


def test_a_session_whose_end_may_be_missing_is_not_known():
    assert view(opened(1), opened(2)).known == {"0x1", "0x2"}
    closed = txn(9, "closeSession", 2, cxid=0, paths=())
    assert view(opened(1), opened(2), closed, reasons=["n2 is missing"]).known == {"0x2"}


@pytest.mark.parametrize("fate", ["uncertain", "forked"])
def test_a_session_that_may_have_ended_for_some_server_is_in_doubt_from_then_on(fate):
    closed = txn(9, "closeSession", 2, cxid=0, paths=())
    other = txn(10, "delete", 1, path="/l/a-lock-0000000001")
    seen = view(opened(1), opened(2), **{fate: [closed, other]})
    assert seen.tells("0x2", 80 * MS)
    assert not seen.tells("0x2", 90 * MS)
    assert seen.tells("0x1", 900 * MS)


def test_what_was_committed_for_a_session_ends_the_doubt_of_that_epoch():
    e = 1 << 32
    closed = txn(9, "closeSession", 2, cxid=0, paths=())

    def at(zxid, ms, name, session):
        return msgspec.structs.replace(create(zxid, name, session), time_ms=ms)

    seen = view(
        opened(1),
        opened(2),
        at(e + 1, 200, "/x", 1),
        at(e + 2, 300, "/y", 2),
        at(2 * e + 1, 400, "/z", 1),
        forked=[closed],
    )
    asked = {ms: seen.tells("0x2", ms * MS) for ms in (80, 90, 150, 200, 250, 299, 301, 400, 900)}
    assert asked == {
        80: True,
        90: False,
        150: False,
        200: True,
        250: True,
        299: True,
        301: False,
        400: False,
        900: False,
    }
    assert seen.told_until("0x2", 80 * MS) == 87 * MS
    again = msgspec.structs.replace(closed, zxid=2 * e + 2, session=2, time_ms=500)
    seen = view(opened(1), opened(2), at(2 * e + 1, 400, "/z", 1), again, forked=[closed])
    assert [seen.tells("0x2", ms * MS) for ms in (80, 90, 399, 400, 900)] == [
        True,
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize("fate", ["uncertain", "forked"])
def test_turns_behind_a_node_that_servers_differ_on_are_left_out(fate):
    first, second, third, last = (f"/l/{name}-lock-000000000{n}" for n, name in enumerate("abcd"))
    txns = [
        create(11, first, 1),
        txn(12, "delete", 1, path=first),
        create(13, second, 2),
        create(14, third, 3),
        txn(15, "delete", 2, path=second),
        txn(16, "delete", 3, path=third),
        create(17, last, 1),
    ]
    seen = view(*txns, **{fate: [txn(20, "closeSession", 2, cxid=0, paths=(second,))]})
    assert seen.turns == {first: 110 * MS, last: 170 * MS}


def test_a_single_node_that_servers_differ_on_may_have_been_deleted_between():
    txns = [create(11, "/l", 1), create(12, "/l", 2)]
    forked = [txn(13, "delete", 1, path="/l")]
    assert [o.loss for o in view(*txns, kind="single", forked=forked).owners] == [12, None]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 7)), max_size=30))
def test_owners_are_those_of_the_definition(steps):
    """Replays step by step: whoever has been first owns until its node is gone."""
    line, owning, expected, txns = {}, {}, [], []
    for zxid, (arrive, number) in enumerate(steps, start=1):
        path = f"/l/x-lock-{number:010d}"
        if arrive and number not in line:
            txns.append(create(zxid, path, number + 1))
            line[number] = zxid
        elif not arrive and number in line:
            txns.append(txn(zxid, "delete", path=path))
            del line[number]
            if number in owning:
                expected[owning.pop(number)][2] = zxid
        if line and min(line) not in owning:
            owning[min(line)] = len(expected)
            expected.append([min(line), zxid, None])
    found = [[int(o.session, 16) - 1, o.grant, o.loss] for o in view(*txns).owners]
    assert found == expected


@st.composite
def a_line(draw):
    """Nodes of a line that come and go: (number, shared, came, went); numbers as they came."""
    came = draw(st.lists(st.integers(1, 40), unique=True, max_size=8).map(sorted))
    lives = []
    for number, zxid in enumerate(came, start=1):
        went = draw(st.none() | st.integers(zxid + 1, 60))
        lives.append((number, draw(st.booleans()), zxid, went))
    return lives


@given(a_line(), st.integers(1, 3), st.booleans())
def test_who_owns_by_definition(lives, permits, sharing):
    """Among the first so many that are there; or shared, with only such before it."""
    txns = []
    for number, shared, came, went in lives:
        path = f"/l/{'r' if shared else 'w'}-lock-{number:010}"
        txns.append(create(came, path, number))
        if went is not None:
            txns.append(txn(went, "delete", number, path=path))
    txns.sort(key=lambda each: (each.zxid, each.name == "delete"))
    seen = view(*txns, shared="r-lock" if sharing else "", permits=permits)
    expected = {}
    for moment in range(1, 61):
        there = [
            (number, shared)
            for number, shared, came, went in lives
            if came <= moment and (went is None or went > moment)
        ]
        for place, (number, _) in enumerate(there):
            if place < permits or (sharing and all(s for _, s in there[: place + 1])):
                expected.setdefault(f"0x{number:x}", moment)
    assert {owner.session: owner.grant for owner in seen.owners} == expected
    assert {owner.session: owner.loss for owner in seen.owners} == {
        f"0x{number:x}": went for number, _, _, went in lives if f"0x{number:x}" in expected
    }


def test_each_node_of_a_pool_owns_from_the_beginning():
    seen = view(
        create(11, "/l/aa", 1),
        create(12, "/l/bb", 2),
        create(13, "/l/bb/deeper", 3),
        txn(14, "delete", 1, path="/l/aa"),
        kind="pool",
    )
    assert owned(seen) == [
        ("0x1", 11, 14),
        ("0x2", 12, None),
    ]


def naive_turns(lives, owners, contested):
    """Every node compared with every contested one."""
    turns = {life.path: None for life in lives} | {owner.path: owner.start for owner in owners}
    firsts = {owner.path: owner.grant for owner in owners}
    for doubtful in contested:
        for life in lives:
            behind = doubtful.deleted_zxid is None or life.czxid < doubtful.deleted_zxid
            if behind and firsts.get(life.path, doubtful.czxid) >= doubtful.czxid:
                turns.pop(life.path, None)
    return turns


@given(st.data())
def test_turns_behind_contested_nodes_are_left_out(data):
    zxids = st.integers(1, 12)
    lives = [
        ZnodeLife(f"/l/{n}", czxid, 0, "0x1", "0x1", b"", deleted_zxid=gone and czxid + gone)
        for n, (czxid, gone) in enumerate(
            data.draw(st.lists(st.tuples(zxids, st.none() | st.integers(1, 5)), max_size=6))
        )
    ]
    owners = [
        Ownership(life.path, "0x1", life.czxid, start=n, grant=data.draw(zxids))
        for n, life in enumerate(lives)
        if data.draw(st.booleans())
    ]
    contested = [life for life in lives if data.draw(st.booleans())]
    assert _turns(lives, owners, contested) == naive_turns(lives, owners, contested)
