"""Servers that keep ZooKeeper's rules have no anomaly, whatever is asked; others are found out."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.server_promises.answers import check_server_answers
from rumpus.checker.server_promises.replay import conversations
from rumpus.checker.server_promises.rules import check_server_rules
from rumpus.checker.wire.records import Request
from rumpus.harness import probes
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.settings import Settings
from rumpus.simulation.zookeeper.tree.transactions import CloseSessionTxn
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.error_codes import NO_AUTH, Refusal
from rumpus.simulation.zookeeper.wire.jute import write_string
from rumpus.simulation.zookeeper.wire.permissions import OPEN
from rumpus.simulation.zookeeper.wire.request import Request as Submitted
from tests.checker.wire.recorded_engine import RecordedEngine, asking, granting, packet, proven
from tests.sampling import sampled
from tests.simulation.zookeeper.engine import check_op, create_op, delete_op, get_op, set_op

CHANGES = ("create", "delete")
LOCKED = [(31, "digest", proven("somebody:secret")), (1, "digest", "other:hash")]
PATHS = st.sampled_from(["/", "/a", "/b", "/a/c", "/a/c/d", "/b/e", "/a/", "/missing/x"])
VERSIONS = st.integers(-2, 3)
FLAGS = st.sampled_from([0, 0, 0, 1, 2, 3])
DATA = st.sampled_from([b"", b"x", b"yy", None])


def found(engine):
    """Kind and words of every anomaly."""
    timeline = engine.timeline()
    rules, answers = check_server_rules(timeline), check_server_answers(timeline)
    assert [each for each in rules.unjudged if "what had to come of" not in each] == []
    return [(each.kind, each.description) for each in (*rules.anomalies, *answers.anomalies)]


def kinds(engine):
    return sorted({kind for kind, _ in found(engine)})


PART = st.one_of(
    st.builds(create_op, PATHS, FLAGS),
    st.builds(delete_op, PATHS, VERSIONS),
    st.builds(set_op, PATHS, st.just(b"z"), VERSIONS),
    st.builds(check_op, PATHS, VERSIONS),
)
WRITE = st.one_of(
    st.tuples(st.just("create"), PATHS, DATA, st.sampled_from([OPEN, OPEN, LOCKED]), FLAGS),
    st.tuples(st.just("delete"), PATHS, VERSIONS),
    st.tuples(st.just("set"), PATHS, DATA, VERSIONS),
    st.tuples(st.just("set_acl"), PATHS, st.sampled_from([OPEN, LOCKED]), VERSIONS),
    st.tuples(st.just("multi"), st.lists(PART, max_size=4)),
)
READ = st.one_of(
    st.tuples(st.sampled_from(["exists", "get", "children", "acl"]), PATHS),
    st.tuples(st.just("children2"), PATHS),
    st.tuples(st.just("count"), PATHS),
    st.tuples(st.just("ephemerals"), PATHS),
    st.tuples(st.just("multi_read"), st.lists(PATHS, max_size=3)),
    st.just(("close",)),
)


def do(client, name, *arguments):
    if name == "children2":
        client.ask(opcodes.GET_CHILDREN2, write_string(arguments[0]) + b"\0")
    elif name == "count":
        client.ask(opcodes.GET_ALL_CHILDREN_NUMBER, write_string(arguments[0]))
    elif name == "ephemerals":
        client.ask(opcodes.GET_EPHEMERALS, write_string(arguments[0]))
    elif name == "multi":
        client.multi(*arguments[0])
    elif name == "multi_read":
        client.multi(*map(get_op, arguments[0]), kind=opcodes.MULTI_READ)
    else:
        getattr(client, name)(*arguments)


@given(st.lists(st.tuples(st.integers(0, 1), st.one_of(WRITE, WRITE, READ)), max_size=40))
def test_a_sound_server_keeps_every_rule(steps):
    engine = RecordedEngine()
    clients = [engine.connect(), engine.connect()]
    clients[1].prove("somebody:secret")
    for number, step in steps:
        do(clients[number], *step)
        if step == ("close",):
            clients[number] = engine.connect()
    assert found(engine) == []
    wire = engine.timeline().wire
    asked = [
        each for each in wire if isinstance(each, Request) and each.name in ("create", "delete")
    ]
    matched = conversations(engine.timeline()).transactions.values()
    assert len(asked) == sum(wire.request_at(place) in asked for place in matched)


def mistaken(**methods):
    """An engine whose leader has methods of its own."""

    class Mistaken(Preparer):
        def prepare(self, request):
            entry = super().prepare(request)
            return entry and entry._replace(digest=None)

    for name, method in methods.items():
        setattr(Mistaken, name, method)

    class Engine(RecordedEngine):
        def new_preparer(self):
            settings = self.settings
            return Mistaken(self.tree, lambda *_: 0, lambda: self.now, settings, self.next_zxid)

    return Engine()


def anything(*_):
    """A check that lets everything pass."""


def a_delete_at_a_wrong_version(client):
    client.create("/a")
    client.delete("/a", 7)


def a_setacl_at_a_wrong_version(client):
    client.create("/a")
    client.set_acl("/a", OPEN, 7)


def a_set_at_a_wrong_version(client):
    client.create("/a")
    client.set("/a", b"x", 7)


def a_check_at_a_wrong_version(client):
    client.create("/a")
    client.multi(check_op("/a", 7), set_op("/a"))


@pytest.mark.parametrize(
    "ask",
    [
        a_delete_at_a_wrong_version,
        a_setacl_at_a_wrong_version,
        a_set_at_a_wrong_version,
        a_check_at_a_wrong_version,
    ],
)
def test_a_version_that_is_ignored_is_an_illegal_change(ask):
    engine = mistaken(_check_version=anything)
    ask(engine.connect())
    assert kinds(engine) == ["illegal-change"]
    (what,) = {words for _, words in found(engine)}
    assert "version 7" in what
    assert "BadVersion" in what
    sound = RecordedEngine()
    ask(sound.connect())
    assert kinds(sound) == []


def test_a_number_that_is_not_the_next_is_an_illegal_change():
    engine = mistaken(_next_number=lambda _, parent: parent.child_count)
    client = engine.connect()
    client.create("/s")
    first = client.create("/s/n-", flags=2)
    client.delete(first)
    client.create("/s/n-", flags=2)
    assert [kind for kind, _ in found(engine)] == ["illegal-change"]


LARGEST = 0x7FFFFFFF


@given(
    st.integers(LARGEST - 4, LARGEST - 1),
    st.lists(
        st.one_of(
            st.tuples(st.just("create"), st.just("/s/n-"), DATA, st.just(OPEN), st.just(2)),
            st.tuples(st.just("create"), st.sampled_from(["/s/a", "/s/b", "/s/c"])),
            st.tuples(st.just("delete"), st.sampled_from(["/s/a", "/s/b", "/s/c"])),
            st.tuples(
                st.just("multi"),
                st.lists(st.just(create_op("/s/m-", 2)), min_size=1, max_size=3),
            ),
            st.tuples(st.sampled_from(["exists", "children"]), st.just("/s")),
        ),
        max_size=20,
    ),
)
def test_numbers_at_the_end_of_their_range_are_those_of_a_real_server(made, steps):
    # Beyond the end a leader's digests are not those of its tree, as on real servers.
    engine = near_the_end(mistaken(), made)
    client = engine.connect()
    client.create("/s/first")
    for step in steps:
        do(client, *step)
    assert found(engine) == []


def near_the_end(engine, made):
    """A znode that has had so many children."""
    engine.connect().create("/s")
    engine.tree.nodes["/s"].cversion = made
    engine.preparer = engine.new_preparer()
    return engine


@pytest.mark.parametrize("number", [0, LARGEST, LARGEST - 1, -LARGEST - 1])
def test_the_last_number_is_the_largest_int(number):
    engine = near_the_end(mistaken(_next_number=lambda *_: number), LARGEST - 1)
    client = engine.connect()
    client.create("/s/first")
    client.create("/s/n-", flags=2)
    assert kinds(engine) == ([] if number == LARGEST else ["illegal-change"])


def test_rights_that_everybody_has_are_not_refused():
    def refuse(*_):
        raise Refusal(NO_AUTH)

    engine = mistaken(_check_permission=refuse)
    client = engine.connect()
    client.create("/a")
    assert kinds(engine) == ["wrong-answer"]


@pytest.mark.parametrize("owner", ["somebody:secret", "other:secret"])
def test_a_right_that_a_client_lacks_is_refused(owner):
    engine = mistaken(_check_permission=anything)
    client = engine.connect()
    client.prove("somebody:secret")
    client.create("/a", acl=[(31, "digest", proven(owner))])
    client.set("/a", b"x")
    assert kinds(engine) == ([] if owner.startswith("somebody") else ["illegal-change"])


def test_data_that_a_client_may_not_read_are_not_told():
    engine = RecordedEngine()
    client, owner = engine.connect(), engine.connect()
    owner.prove("somebody:secret")
    owner.create("/a", b"x", acl=[(31, "digest", proven("somebody:secret"))])
    client.get("/a")
    assert kinds(engine) == []
    owner.tap, client.tap = client.tap, owner.tap  # as if the other had asked
    owner.get("/a")
    assert kinds(engine) == ["wrong-answer"]


def told(name):
    """A server that answers one kind of request wrongly."""
    lies = {
        "data": (opcodes.GET_DATA, lambda body: body.replace(b"right", b"wrong")),
        "stat": (opcodes.EXISTS, lambda body: body[:-1] + bytes([body[-1] ^ 1])),
        "child": (opcodes.GET_CHILDREN, lambda body: body.replace(b"kid", b"kit")),
        "list": (opcodes.GET_ACL, lambda body: body.replace(b"anyone", b"nobody")),
        "count": (opcodes.GET_ALL_CHILDREN_NUMBER, lambda body: body[:-1] + b"\x09"),
        "made": (opcodes.CREATE, lambda body: body.replace(b"kid", b"kit")),
    }
    return lies[name]


@sampled("lie", ["data", "stat", "child", "list", "count", "made"], of=6)
def test_an_answer_that_is_not_the_trees_is_found(lie):
    engine = RecordedEngine()
    client = engine.connect()
    kind, spoil = told(lie)
    client.create("/a", b"right")
    client.spoil = lambda asked, error, body: (error, spoil(body) if asked == kind else body)
    client.create("/a/kid")
    for read in ("exists", "get", "children", "acl"):
        getattr(client, read)("/a")
    client.ask(opcodes.GET_ALL_CHILDREN_NUMBER, write_string("/a"))
    assert [each for each, _ in found(engine)] == ["wrong-answer"]


def test_an_existing_znode_that_is_denied_is_found():
    engine = RecordedEngine()
    client = engine.connect()
    client.create("/a")
    client.spoil = lambda _kind, _error, _body: (-101, b"")
    client.exists("/a")
    client.create("/b")
    assert kinds(engine) == ["wrong-answer"]


def test_a_write_that_no_log_has_is_lost():
    engine = RecordedEngine()
    client = engine.connect()
    client.create("/a")
    client.set("/a", b"x")
    engine.entries.pop()
    assert "lost-transaction" in kinds(engine)


def test_a_write_that_was_not_answered_is_judged_too():
    engine = mistaken(_check_version=anything)
    client = engine.connect()
    client.create("/a")
    client.answered = False
    client.delete("/a", 7)
    assert kinds(engine) == ["illegal-change"]


def test_a_change_after_the_end_of_its_session_is_found():
    engine = RecordedEngine()
    client = engine.connect()
    client.ask(opcodes.CLOSE_SESSION, b"")
    client.create("/a")
    assert kinds(engine) == ["revived-session"]


def test_an_ephemeral_that_outlives_its_session_is_found():
    engine = mistaken(_prepare_close_session=lambda *_: CloseSessionTxn(()))
    client = engine.connect()
    client.create("/a", flags=1)
    client.ask(opcodes.CLOSE_SESSION, b"")
    assert "lingering-ephemeral" in kinds(engine)


@pytest.mark.parametrize("second", ["/second", "/fir"])
def test_answers_to_an_earlier_request_of_the_same_number_are_not_held_against_the_servers(second):
    engine = RecordedEngine()
    client = engine.connect()
    client.answered = False
    client.create("/first")
    lost = engine.entries[-1]
    engine.attach(client, asking(client.session, bytes(range(16))), granting(client.session))
    client.answered = True
    client.xid = 0
    client.spoil = lambda *_: (0, write_string("/first"))
    client.create(second)
    engine.entries[-1:] = []  # the server answers before it is carried out
    assert engine.entries[-1] is lost
    timeline = engine.timeline()
    assert len(conversations(timeline).mistaken) == 1
    result = check_server_rules(timeline)
    assert result.anomalies == []
    assert "1 answer to an earlier request" in result.unjudged[0]


def test_an_ephemeral_that_is_none_is_an_illegal_change():
    def create(self, path, data, acl, flags):
        return Preparer._create(self, path, data, acl, flags & 2)

    engine = mistaken(_create=create)
    client = engine.connect()
    client.create("/a", flags=1)
    ((kind, words), *_) = found(engine)
    assert (kind, "the znode is not ephemeral" in words) == ("illegal-change", True)


def test_a_container_that_is_none_is_an_illegal_change():
    def prepare(self, request):
        if request.type == opcodes.CREATE_CONTAINER:
            request.type = opcodes.CREATE2
        return Preparer.prepare(self, request)

    sound, engine = RecordedEngine(), mistaken(prepare=prepare)
    for each in (sound, engine):
        each.connect().create("/a", flags=4, kind=opcodes.CREATE_CONTAINER)
    assert found(sound) == []
    ((kind, words), *_) = found(engine)
    assert (kind, "the znode is no container" in words) == ("illegal-change", True)


def test_a_list_that_is_not_the_one_asked_for_is_an_illegal_change():
    def create(self, path, data, acl, flags):
        return Preparer._create(self, path, data, LOCKED if acl == OPEN else acl, flags)

    engine = mistaken(_create=create)
    client = engine.connect()
    client.create("/a")
    ((kind, words), *_) = found(engine)
    assert (kind, "everybody was to have all rights" in words) == ("illegal-change", True)


def test_an_answer_that_overtakes_another_is_found():
    engine = RecordedEngine()
    client = engine.connect()
    first, second = (packet(struct.pack(">iii", xid, 3, 1) + b"/\0") for xid in (1, 2))
    answers = [packet(struct.pack(">iqi", xid, client.zxid, -8)) for xid in (1, 2)]
    client.xid = 2
    for ask in (first, second):
        client.tap.to_server(ask, engine.time)
    for answer in reversed(answers):
        client.tap.from_server(answer, engine.time)
    client.exists("/")
    ((kind, words),) = found(engine)
    assert (kind, "after a request that the client sent later" in words) == ("wrong-answer", True)


def test_whoever_proved_what_is_not_known_here_is_not_judged_by_rights():
    engine = mistaken(_check_permission=anything)
    client = engine.connect()
    client.tap.to_server(packet(struct.pack(">ii", -4, 102) + b"\0\0\0\0"), engine.time)
    client.create("/a", acl=LOCKED)
    client.set("/a", b"x")
    assert kinds(engine) == []
    rules = check_server_rules(engine.timeline())
    assert (rules.stats["writes"], rules.stats["undecided"]) == (2, 1)
    assert "what had to come of 1 of 2 writes" in rules.unjudged[0]


def test_what_a_transaction_breaks_is_told_with_its_zxid_once():
    engine = mistaken(_prepare_close_session=lambda *_: CloseSessionTxn(()))
    client = engine.connect()
    client.create("/a", flags=1)
    client.tap = engine.log.tap(0, 9, "n1")  # nobody saw who asks now
    client.ask(opcodes.CLOSE_SESSION, b"")
    words = [words for kind, words in found(engine) if kind == "lingering-ephemeral"]
    assert [each.count("(0x") for each in words] == [1]


REMOVED = [
    ("used", ""),
    ("unused", "a container that never had a child"),
    ("full", "not empty"),
    ("short", ""),
    ("long", "may stay for 3600000 ms"),
    ("plain", "neither a container"),
]


def removing(path, *, set_at=None, after=1_000):
    """Servers that remove a znode by themselves after a time (ms)."""
    engine = mistaken(_check_no_children=anything)
    engine.settings = Settings(extended_types=True)
    engine.preparer = engine.new_preparer()
    client = engine.connect()
    client.create("/audit")
    for kind, body in probes.of_containers("/audit"):
        client.ask(kind, body)
    client.create("/audit/plain")
    if set_at is not None:
        engine.tick(set_at)
        client.set("/audit/short", b"x")
        after -= set_at
    engine.tick(after)
    removed(engine, f"/audit/{path}")
    return engine


def removed(engine, path):
    engine.do(Submitted(0, 0, opcodes.DELETE_CONTAINER, path.encode(), (), None, None))


@pytest.mark.parametrize(("path", "why"), REMOVED)
def test_what_servers_remove_by_themselves_must_be_due(path, why):
    told = found(removing(path))
    assert [kind for kind, _ in told] == ["illegal-change"] * bool(why)
    assert all(why in words for _, words in told)


def test_a_time_to_live_counts_from_the_last_change_of_the_data():
    assert kinds(removing("short", after=150)) == ["illegal-change"]
    assert kinds(removing("short", set_at=150, after=30_000)) == []
    # A server may have looked just before the data were set.
    assert kinds(removing("short", set_at=1_000, after=1_010)) == []
    assert kinds(removing("long", after=3_600_100)) == []


def test_a_server_may_take_a_znode_for_a_former_one_of_its_path():
    engine = removing("used")
    client = engine.connect()
    client.create("/audit/used")
    removed(engine, "/audit/used")
    assert kinds(engine) == []


def test_containers_that_were_never_used_may_go_where_settings_are_not_known():
    timeline = removing("unused").timeline(settings=None)
    assert check_server_rules(timeline).anomalies == []


PLACES = ["/q", "/q/a", "/q/b", "/q/a/c", "/p", "/qq"]
COUNT = "/zookeeper/quota/q/zookeeper_stats"
STEP = st.one_of(
    st.tuples(st.just("create"), st.sampled_from(PLACES), DATA, st.just(OPEN), FLAGS),
    st.tuples(st.just("delete"), st.sampled_from(PLACES)),
    st.tuples(st.just("set"), st.sampled_from(PLACES), DATA),
    st.tuples(st.just("get"), st.just(COUNT)),
    st.just(("close",)),
)


def limited(engine):
    """A client, and a quota on what it has made."""
    client = engine.connect()
    client.create("/q", b"root")
    client.create("/zookeeper/quota/q")
    client.create("/zookeeper/quota/q/zookeeper_limits", b"count=9,bytes=-1")
    client.create(COUNT, b"count=0,bytes=0")
    return client


@given(st.lists(STEP, max_size=30))
def test_a_sound_server_counts_what_has_a_quota(steps):
    engine = RecordedEngine()
    client = limited(engine)
    for step in steps:
        do(client, *step)
        if step == ("close",):
            client = engine.connect()
    client.get(COUNT)
    assert found(engine) == []


def counted(*before, spoil=b"count=2,bytes=9", right=b"count=2,bytes=5"):
    """A server that counts wrongly, in the end."""
    engine = RecordedEngine()
    client = limited(engine)
    for step in before:
        do(client, *step)
    client.create("/q/a", b"x")
    client.spoil = lambda _kind, error, body: (error, body.replace(right, spoil))
    client.get(COUNT)
    return engine


def test_a_count_that_is_not_the_trees_is_a_wrong_answer():
    ((kind, words),) = found(counted())
    assert kind == "wrong-answer"
    assert "was told another count than count=2,bytes=5" in words


@pytest.mark.parametrize(
    "before",
    [
        [("set", COUNT, b"count=2,bytes=4")],
        [("delete", "/zookeeper/quota/q/zookeeper_limits")],
        [
            ("create", "/zookeeper/quota/q/a"),
            ("create", "/zookeeper/quota/q/a/zookeeper_limits", b"count=9,bytes=-1"),
        ],
    ],
)
def test_a_count_with_another_beginning_is_not_judged(before):
    assert kinds(counted(*before)) == []
