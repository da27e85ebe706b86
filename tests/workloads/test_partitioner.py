from itertools import pairwise
from types import SimpleNamespace

import pytest
from kazoo.exceptions import SessionExpiredError

from rumpus.checker.exclusion.partitions import (
    LISTS_STALE,
    check_ownership,
    check_shares,
    check_sizes,
    members_at_once,
    removals_of_parts,
)
from rumpus.checker.exclusion.stability import check_stability
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.holds import Words
from rumpus.checker.timeline.ownership import ServerView, SessionEnd
from rumpus.checker.timeline.timeline import Place
from rumpus.checker.wire.records import Event
from rumpus.harness.clients.messages import Acted
from rumpus.harness.generators.generator import SECOND
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.partitioner.member_partitioner import Part
from rumpus.workloads import partitioner
from rumpus.workloads.framework.workload import OpenClient
from rumpus.workloads.partitioner import LATE_S, PARTITIONER, SETTLING_S, Member
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded
from tests.harness.generators.dry_run import imperfect, perfect
from tests.workloads.dry_runs import DryRuns, invocations

PARTS = ("a", "b")
CLOCK = WallClock([(0, 0)])
DRY = DryRuns(PARTITIONER, clients=4, until=60 * SECOND)


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
    leases = ServerView(known=frozenset({"0x1", "0x2"}), **server)
    return check_shares(laid_out(history, leases=leases), parts=PARTS)


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
    result = check_shares(laid_out(two_members(["b"], ["b"])), parts=PARTS)
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
    result = check_ownership(laid_out(owning(*owned)), parts=PARTS)
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
    result = check_ownership(laid_out(recorded.end(30).history()), parts=PARTS)
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


def counted_in(logs, stale):
    """The members at once; a list may be out of date for so long (ns)."""
    return members_at_once(
        laid_out(
            Recorded().history(),
            truth=logs,
            clock=CLOCK,
            line=Place("sequential", "/p/locks"),
            path="/p",
            session_timeout=stale / LISTS_STALE / 1e9,
        )
    )


def test_members_are_counted_as_of_the_moment_at_which_they_were_most():
    lives = (
        member("members/a", 10_000),
        member("members/b", 20_000, 30_000),
        member("members/c", 40_000),
        member("members", 10_000, owner=None),
        member("locks/x/a", 10_000),
    )
    count = counted_in(Logs(*lives), 1_000 * MS)
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
    count = counted_in(Logs(doubtful=[forked]), 0)
    assert (count(0, 11_000 * MS), count(90_000 * MS, 91_000 * MS)) == (0, 1)
    assert counted_in(Logs(reasons=["no log of n2"]), 0) is None


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
    parts = [(members_at_once, counted), (removals_of_parts, {})]
    timeline = laid_out(two_members(own, ["a", "b"]), parts=parts)
    result = check_sizes(timeline, parts=PARTS)
    assert [anomaly.kind for anomaly in result.anomalies] == kinds


@pytest.mark.parametrize(
    ("frozen", "since"), [((-900, -300), -900), ((-9000, -8000), 5), ((50, 90), 5)]
)
def test_who_was_frozen_or_cut_off_may_know_the_members_of_before(frozen, since):
    asked = []

    def members(begun, ended):
        asked.append((begun // MS, ended > begun))
        return 2

    parts = [(members_at_once, members), (removals_of_parts, {})]
    spans = {0: [(frozen[0] * MS, frozen[1] * MS)]}
    history = two_members(["a"], ["a", "b"])
    timeline = laid_out(history, parts=parts, session_timeout=2.0)
    vars(timeline)["disturbances"] = spans
    check_sizes(timeline, parts=PARTS)
    (call, _), _ = history.answered("acquire")
    assert call.invoke.time == 5 * MS
    assert (since, True) in asked


@pytest.mark.parametrize(("removed", "kinds"), [(-60, ["partial-share"]), (5, []), (None, [])])
def test_a_part_whose_node_was_gone_before_it_was_asked_for_is_not_owned(removed, kinds):
    history = two_members(["a"], ["b"])
    (_, done), _ = history.answered("acquire")
    done.value["parts"]["a"] = {"node": LOCK, "token": 1, "session": "0x1"}
    gone = {} if removed is None else {LOCK: 5 * MS + removed * MS}
    timeline = laid_out(history, parts=[(members_at_once, None), (removals_of_parts, gone)])
    result = check_sizes(timeline, parts=PARTS)
    assert [anomaly.kind for anomaly in result.anomalies] == kinds


LOCK = "/p/locks/a/n-1"


def stability(*, joined, completed, locked=None, told=(), boundary=0.3, **given):
    """c0, a member since ``joined``, completes a share with part a; all in ms."""
    parts = {} if locked is None else {"a": {"node": LOCK, "token": 1, "session": "0x1"}}
    history = (
        Recorded(clients=2)
        .add(5, 0, "invoke", "acquire")
        .add(completed, 0, "ok", "acquire", {"session": "0x1", "parts": parts})
        .end(9_000)
        .history()
    )
    lives = [member("members/m", joined), member("members", 1, owner=None)]
    if locked is not None:
        lives.append((LOCK, locked, None, "0x1"))
    known = {"truth": Logs(*lives), "line": Place("sequential", "/p/locks"), **given}
    return check_stability(
        laid_out(
            history,
            time_boundary=boundary,
            words=Words(thing="share"),
            clock=CLOCK,
            path="/p",
            wire=[
                Event(client=client, connection=1, sent=at * MS, what=what, path=path)
                for client, at, what, path in told
            ],
            **known,
        )
    )


TOLD = (0, 600, "child", "/p/members")


@pytest.mark.parametrize(
    ("what", "hasty"),
    [
        ({"joined": 100, "completed": 350}, True),
        ({"joined": 100, "completed": 410}, False),
        ({"joined": 10, "locked": 650, "completed": 800, "told": [TOLD]}, True),
        ({"joined": 10, "locked": 905, "completed": 920, "told": [TOLD]}, False),
        # The event may have come when the share was complete: the lock was there already.
        ({"joined": 10, "locked": 590, "completed": 800, "told": [TOLD]}, False),
        ({"joined": 10, "locked": 650, "completed": 800, "told": [(1, *TOLD[1:])]}, False),
        (
            {
                "joined": 10,
                "locked": 650,
                "completed": 800,
                "told": [(0, 600, "child", "/p/locks/a"), (0, 610, "deleted", "/p/members")],
            },
            False,
        ),
    ],
)
def test_a_share_waits_until_members_were_the_same_for_long_enough(what, hasty):
    anomalies = stability(**what).anomalies
    assert [anomaly.kind for anomaly in anomalies] == ["hasty-share"] * hasty


def test_what_was_in_the_way_of_a_member_may_have_kept_an_event_from_it():
    late = {"joined": 10, "locked": 650, "completed": 800, "told": [TOLD]}
    assert not stability(**late, disturbances={0: [(590 * MS, 620 * MS)]}).anomalies
    assert stability(**late, disturbances={0: [(90 * MS, 120 * MS)]}).anomalies


def test_without_a_boundary_a_line_or_whole_logs_nothing_is_said_of_stability():
    early = {"joined": 100, "completed": 150}
    assert stability(**early, boundary=0.0) is None
    for given in ({"line": Place("unknown", "/p")}, {"truth": Logs(reasons=["no log of n2"])}):
        result = stability(**early, **given)
        assert not result.anomalies
        assert result.unjudged
    result = stability(**early, truth=None)
    assert (result.anomalies, result.unjudged) == ([], [])


@pytest.mark.parametrize(("recipe", "hasty"), [("hasty", True), ("kazoo", False)])
def test_kazoos_waits_for_stable_members_unless_its_boundary_is_left_out(simulate, recipe, hasty):
    _, _, verdict = simulate(4, workload="partitioner", recipe=recipe, seconds=8.0)
    kinds = {anomaly.kind for each in verdict.checks for anomaly in each.anomalies}
    assert ("hasty-share" in kinds) == hasty


def test_ours_keeps_its_promises_under_all_faults(simulate):
    _, _, verdict = simulate(1, workload="partitioner", recipe="partitioner", seconds=18.0)
    assert verdict.outcome == "valid", verdict.reasons


class Scripted:
    """A member with two parts; does what it is told to, or raises it."""

    def __init__(self, does=True):
        self.does = does
        self.held, self.changed = True, False
        self.parts = {"b": Part("/b/n-1", 7, -2), "a": Part(None, None, None)}

    def _do(self, *_):
        if isinstance(self.does, Exception):
            raise self.does
        return self.does

    acquire = release = leave = _do


@pytest.fixture
def opened(monkeypatch):
    """A client of a scripted member; time passes while it sleeps only."""
    clock = SimpleNamespace(now=0.0)

    def sleep(seconds):
        clock.now += seconds

    monkeypatch.setattr(
        partitioner, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep)
    )

    def client(does=True):
        member = Scripted(does)
        acted = Acted(accepted=True, order=0)
        context = SimpleNamespace(session=lambda: "0x1", act=lambda _token: acted)
        made = OpenClient(PARTITIONER, Member(context, member, "/p/locks"))
        return made, member, clock

    return client


def test_a_grant_tells_whose_node_makes_each_part_ones_own(opened):
    told = opened()[0].invoke("acquire", {"timeout": 1.0})
    own = {"node": "/b/n-1", "token": 7, "session": "0xfffffffffffffffe"}
    nobody = {"node": None, "token": None, "session": None}
    assert (told.type, told.value) == ("ok", {"session": "0x1", "parts": {"a": nobody, "b": own}})


@pytest.mark.parametrize(
    ("does", "outcome"),
    [
        (False, "fail"),
        (NotHeld("lost"), "fail"),
        (LockUnknown("no answer"), "info"),
        (SessionExpiredError(), "info"),
    ],
)
def test_outcomes_are_told_as_they_are(opened, does, outcome):
    client, _, _ = opened(does)
    assert client.invoke("acquire", {"timeout": 1.0}).type == outcome
    if does:
        assert client.invoke("release", None).type == outcome
        assert client.invoke("leave", {"timeout": 1.0}).type == outcome


def test_an_owner_works_until_its_time_is_over_or_the_members_change(opened):
    client, member, clock = opened()
    assert client.invoke("work", {"seconds": 0.5}).value == {"changed": False}
    assert clock.now == pytest.approx(0.5, abs=0.05)
    member.changed = True
    assert client.invoke("work", {"seconds": 9.0}).value == {"changed": True}
    assert clock.now < 1.0
    member.held = False
    assert client.invoke("work", {"seconds": 9.0}).type == "fail"


def test_an_owner_that_does_not_heed_changes_goes_on(opened):
    client, member, clock = opened()
    member.changed = True
    assert client.invoke("work", {"seconds": 0.5, "heeds": False}).type == "ok"
    assert clock.now == pytest.approx(0.5, abs=0.05)


def test_an_owner_whose_links_are_cut_goes_on_acting_but_not_for_ever():
    calls = invocations(DRY.load(cut=lambda now: 1 if now < 25 * SECOND else 0))
    stays = [op for op in calls if op.f == "work" and op.value.get("heeds") is False]
    assert {op.process for op in stays} == {0}
    assert stays[-1].time < (25 + partitioner.STAY_S) * SECOND
    own = [op for op in calls if op.process == 0]
    began = own.index(stays[0])
    left = next(op for op in own[began:] if op.f != "work")
    assert left.f == "release"
    assert (left.time - stays[0].time) / SECOND == pytest.approx(partitioner.STAY_S, abs=0.02)


def test_what_is_to_be_shared_out_anew_is_owned_no_more(opened):
    client, member, _ = opened()
    assert client.invoke("own", {"round": 0}).value == {"parts": ["a", "b"]}
    member.changed = True
    assert client.invoke("own", {"round": 0}).value == {"parts": []}


def test_what_is_acquired_is_worked_with_and_released_before_anybody_leaves():
    calls = {}
    for op in invocations(DRY.load(imperfect)):
        calls.setdefault(op.process, []).append(op)
    after = {(a.f, b.f) for each in calls.values() for a, b in pairwise(each)}
    assert after == {
        ("acquire", "acquire"),
        ("acquire", "work"),
        ("work", "release"),
        ("release", "acquire"),
        ("release", "leave"),
        ("leave", "acquire"),
    }
    asked = [op.value["timeout"] for each in calls.values() for op in each if op.f == "acquire"]
    assert {partitioner.HURRIED_S, partitioner.PATIENCE_S} <= set(asked)


def test_in_the_end_half_of_the_members_come_late_and_leave_first():
    def slow(dispatch, seed):
        return perfect(dispatch, seed)._replace(returned=SECOND // 2)

    calls = invocations(DRY.final(slow))
    left = [(op.process, op.time) for op in calls if op.f == "leave"]
    leavers = [process for process, _ in left]
    assert [sorted(leavers[at : at + 2]) for at in (0, 2)] == [[1, 3], [1, 3]]
    assert (leavers[4], sorted(leavers[5:])) == (0, [0, 1, 2, 3])
    joined = {}
    for op in calls:
        if op.f == "acquire":
            joined.setdefault(op.process, op.time)
    assert min(joined[1], joined[3]) >= max(joined[0], joined[2]) + LATE_S * SECOND
    rounds = [op for op in calls if op.f == "own"]
    assert [op.value["round"] for op in rounds] == [0] * 4 + [1] * 4 + [2] * 4
    assert rounds[0].time >= joined[1] + SETTLING_S * SECOND
    assert (calls[-1].f, calls[-1].process) == ("inspect", 0)
