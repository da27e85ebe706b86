"""A walk through a server's tree, against a server that is a table."""

import random
import struct

import pytest

from rumpus.harness.tree_walk import AT_ONCE, TreeWalk

SESSION = 0x7200_0000_0000_0001
NO_NODE, NO_AUTH = -101, -102
NAMES = {4: "getData", 6: "getACL", 9: "sync", 12: "getChildren2", -11: "close"}


def framed(body):
    return struct.pack(">i", len(body)) + body


def welcome(session=SESSION, timeout=2000):
    return framed(struct.pack(">iiqi16s?", 0, timeout, session, 16, bytes(16), False))


class Table:
    """Answers requests from a table: path -> names of its children, or an error."""

    def __init__(self, tree):
        self.tree = tree
        self.zxid = 0
        self.seen = []
        self.connect = None
        self._data = b""

    def asked(self, data):
        """The answers to these bytes, a frame each."""
        self._data += data
        answers = []
        while len(self._data) >= 4:
            (length,) = struct.unpack_from(">i", self._data)
            frame, self._data = self._data[4 : 4 + length], self._data[4 + length :]
            answers.append(self._answer(frame))
        return answers

    def _answer(self, frame):
        if self.connect is None:
            self.connect = struct.unpack(">iqiqi16s?", frame)
            return welcome()
        xid, opcode = struct.unpack_from(">ii", frame)
        path = frame[12:].rstrip(b"\0").decode()
        self.seen.append((NAMES[opcode], path))
        if opcode in (4, 12):
            assert frame[-1] == 0, "it leaves no watch"
        self.zxid += 1
        told = self.tree.get(path) if opcode in (4, 6, 12) else []
        error = told if isinstance(told, int) else 0
        body = b""
        if opcode == 12 and not error:
            names = [name.encode() for name in told]
            body = struct.pack(">i", len(names))
            body += b"".join(framed(name) for name in names) + bytes(68)
        return framed(struct.pack(">iqi", xid, self.zxid, error) + body)


def walked(tree, *, seed=None):
    """A walk and the table, once the session is closed; bytes come in pieces if there is a seed."""
    walk, table = TreeWalk(2000), Table(tree)
    waiting = b"".join(table.asked(walk.begin()))
    rng = random.Random(seed)
    while waiting:
        size = len(waiting) if seed is None else rng.randint(1, 40)
        piece, waiting = waiting[:size], waiting[size:]
        waiting += b"".join(table.asked(walk.take(piece)))
    return walk, table


TREE = {
    "/": ["zookeeper", "a", "ä"],
    "/zookeeper": ["config", "quota"],
    "/a": ["b"],
    "/a/b": [],
    "/ä": [],
}
ASKED_OF_A_ZNODE = ["getData", "getACL", "getChildren2"]


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_every_znode_is_asked_for_its_data_acl_and_children_after_a_sync(seed):
    walk, table = walked(TREE, seed=seed)
    assert walk.over
    assert (walk.znodes, walk.session) == (5, SESSION)
    assert table.seen[0] == ("sync", "/")
    assert table.seen[-1] == ("close", "")
    assert table.seen[1:-1] == [
        (name, path)
        for path in ("/", "/zookeeper", "/a", "/ä", "/a/b")
        for name in ASKED_OF_A_ZNODE
    ]
    assert walk.zxid == table.zxid
    assert table.connect == (0, 0, 2000, 0, 16, bytes(16), False)


def test_a_znode_that_may_not_be_read_counts_and_one_that_is_gone_does_not():
    walk, table = walked({"/": ["secret", "gone"], "/secret": NO_AUTH, "/gone": NO_NODE})
    assert walk.znodes == 2
    assert ("getChildren2", "/gone") in table.seen


def test_many_requests_are_on_their_way_but_not_more_than_a_server_takes():
    names = [f"n{number}" for number in range(2000)]
    walk, table = TreeWalk(2000), Table({"/": names, **{f"/{name}": [] for name in names}})
    waiting = table.asked(walk.begin())
    most = 0
    while waiting:
        most = max(most, len(waiting))
        waiting += table.asked(walk.take(waiting.pop(0)))
    assert walk.znodes == 2001
    assert most == 3 * AT_ONCE


def test_a_walk_that_is_stopped_awaits_what_it_has_asked_for_and_closes_its_session():
    walk, table = TreeWalk(2000), Table(TREE)
    waiting = table.asked(walk.begin())
    while ("getChildren2", "/") not in table.seen:
        waiting = table.asked(walk.take(b"".join(waiting)))
    last = table.asked(walk.stop())
    assert walk.stop() == b""
    assert table.asked(walk.take(b"".join(waiting))) == []
    assert not walk.over
    assert walk.znodes == 1
    assert walk.take(b"".join(last)) == b""
    assert walk.over


def test_a_walk_without_a_session_is_over_when_it_is_stopped():
    walk = TreeWalk(2000)
    walk.begin()
    assert walk.stop() == b""
    assert walk.over


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([welcome(timeout=0)], "no session"),
        ([welcome(session=0)], "without an id"),
        ([welcome(), framed(struct.pack(">iqi", 1, 7, -4))], "refused to sync: error -4"),
        ([welcome(), framed(struct.pack(">iqi", 9, 7, 0))], "carries xid 9 where 1 was due"),
        ([welcome(), framed(b"short")], "cut short"),
        ([b"HTTP/1.1 400 Bad Request\r\n"], "not ZooKeeper's protocol"),
    ],
)
def test_what_no_server_answers_is_an_error(answers, said):
    walk = TreeWalk(2000)
    walk.begin()
    for answer in answers[:-1]:
        walk.take(answer)
    with pytest.raises(ValueError, match=said):
        walk.take(answers[-1])


def test_children_that_are_cut_short_are_an_error():
    walk = TreeWalk(2000)
    walk.begin()
    for answer in (welcome(), framed(struct.pack(">iqi", 1, 7, 0))):
        walk.take(answer)
    for xid in (2, 3):
        walk.take(framed(struct.pack(">iqi", xid, 7, 0)))
    with pytest.raises(ValueError, match="cut short"):
        walk.take(framed(struct.pack(">iqiii", 4, 7, 0, 2, 1) + b"a"))


def test_watch_events_and_pings_are_no_answers():
    walk = TreeWalk(2000)
    walk.begin()
    walk.take(welcome())
    for xid in (-1, -2):
        assert walk.take(framed(struct.pack(">iqi", xid, 0, 0))) == b""
    assert walk.take(framed(struct.pack(">iqi", 1, 7, 0))) != b""
