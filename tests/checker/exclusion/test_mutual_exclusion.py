from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.exclusion import mutual_exclusion
from rumpus.checker.exclusion.mutual_exclusion import (
    count_handovers,
    crowds,
    expired_while_holding,
    judge_exclusion,
    overlaps,
)
from rumpus.checker.timeline.holds import Hold, Words, extract_holds
from rumpus.checker.timeline.ownership import Ownership, ServerView, SessionEnd
from tests.checker.recorded import MS, Recorded

WORDS = Words()
SECOND = 1000


def view(*, known=("0x1", "0x2", "0x3"), owners=(), **ended_ms):
    """The server's view; ``s1=(5, True)``: session 0x1 ended at 5 ms, by expiry."""
    ends = {
        f"0x{name[1:]}": SessionEnd(int(ms * MS), expired)
        for name, (ms, expired) in ended_ms.items()
    }
    return ServerView(ends=ends, known=frozenset(known), owners=owners)


def check(recorded, server, **kwargs):
    history = recorded.history(**kwargs)
    return judge_exclusion(history, extract_holds(history, WORDS), server)


def kinds(result):
    return sorted(anomaly.kind for anomaly in result.anomalies)


def two_believe(until=8 * SECOND):
    """c0 is granted at 1 s and believes until ``until``; c1 is granted at 5 s."""
    recorded = Recorded().acquire(900, 1000, 0).acquire(4900, 5000, 1)
    return recorded.release(until, until + 10, 0).release(6000, 6010, 1).end(20000)


def test_holds_that_follow_one_another_are_fine():
    recorded = Recorded().acquire(1, 2, 0).release(3, 4, 0).acquire(1, 5, 1).release(6, 7, 1)
    result = check(recorded.end(9), view())
    assert (result.anomalies, result.unknown) == ([], [])


def test_a_grant_at_the_very_call_of_release_is_a_tie_and_fine():
    recorded = Recorded().acquire(1, 2, 0).release(3, 4, 0).acquire(1, 3, 1).release(6, 7, 1)
    assert kinds(check(recorded.end(9), view())) == []


def test_two_believe_while_both_sessions_live():
    (anomaly,) = check(two_believe(), view()).anomalies
    assert anomaly.kind == "split-brain"
    assert (anomaly.start, anomaly.end) == (5000 * MS, 6000 * MS)
    assert anomaly.clients == [0, 1]
    assert "c0 and c1 both believed" in anomaly.description


def test_the_overlap_before_an_expiry_is_split_brain():
    (anomaly,) = check(two_believe(until=6000), view(s1=(5500, True))).anomalies
    assert anomaly.kind == "split-brain"
    assert anomaly.length_ms == 500


def test_what_is_certain_of_an_overlap_ends_where_a_session_is_in_doubt():
    doubt = replace(view(), doubts={"0x1": [(5500 * MS, 9000 * MS)]})
    (anomaly,) = check(two_believe(until=6000), doubt).anomalies
    assert (anomaly.kind, anomaly.length_ms) == ("split-brain", 500)
    before = replace(view(), doubts={"0x1": [(4000 * MS, 5001 * MS)]})
    found = check(two_believe(until=6000), before)
    assert found.anomalies == []
    assert "do not tell when their sessions ended" in found.unknown[0]


def test_however_short_an_overlap_of_living_sessions_is_split_brain():
    recorded = Recorded().acquire(1, 2, 0).acquire(1, 5, 1).release(6, 7, 0).release(8, 9, 1)
    assert kinds(check(recorded.end(20), view())) == ["split-brain"]


def test_a_holder_whose_session_expired_just_before_has_a_stale_belief():
    result = check(two_believe(until=5700), view(s1=(4990, True)))
    (anomaly,) = result.anomalies
    assert anomaly.kind == "stale-belief"
    assert anomaly.length_ms == 700
    assert result.stats["expiries_while_holding"] == 1


def test_a_running_holder_that_believes_long_after_its_expiry_is_unaware():
    (anomaly,) = check(two_believe(until=8000), view(s1=(4990, True))).anomalies
    assert anomaly.kind == "unaware-holder"
    assert anomaly.length_ms == 3010


def test_a_frozen_holder_has_no_chance_to_know_until_it_is_thawed():
    recorded = Recorded().acquire(900, 1000, 0).session(2000, 0, "paused")
    recorded.acquire(4900, 5000, 1).session(9000, 0, "resumed").release(9500, 9600, 0)
    result = check(recorded.release(9900, 9910, 1).end(20000), view(s1=(4990, True)))
    assert kinds(result) == ["stale-belief"]


def test_a_thawed_holder_that_goes_on_believing_is_unaware():
    recorded = Recorded().acquire(900, 1000, 0).session(2000, 0, "paused")
    recorded.acquire(4900, 5000, 1).session(6000, 0, "resumed").release(9500, 9600, 0)
    result = check(recorded.release(9900, 9910, 1).end(20000), view(s1=(4990, True)))
    assert kinds(result) == ["unaware-holder"]


def test_one_frozen_inside_its_acquire_has_no_chance_to_know_until_it_is_thawed():
    """The reply waited in its socket while its session expired and the lock passed on."""
    recorded = Recorded().add(900, 0, "invoke", "acquire").session(1000, 0, "paused")
    recorded.acquire(4900, 5000, 1).session(9000, 0, "resumed")
    recorded.add(9001, 0, "ok", "acquire", {"session": "0x1"}).session(9020, 0, "doubts")
    result = check(recorded.release(9900, 9910, 1).end(20000), view(s1=(4990, True)))
    assert kinds(result) == ["stale-belief"]


def test_many_short_holds_beside_a_stale_one_are_one_stale_belief():
    recorded = Recorded(clients=3).acquire(900, 1000, 0)
    for at in (5000, 5100, 5200):
        recorded.acquire(at, at + 10, 1).release(at + 50, at + 60, 1)
    recorded.release(5400, 5410, 0)
    (anomaly,) = check(recorded.end(9000), view(s1=(4990, True))).anomalies
    assert (anomaly.kind, anomaly.length_ms) == ("stale-belief", 240)


def test_without_the_servers_logs_an_overlap_is_unknown_not_an_alarm():
    for server in (None, view(known=("0x2",))):
        result = check(two_believe(), server)
        assert result.anomalies == []
        assert "do not tell when their sessions ended (0x1" in result.unknown[0]


def test_nobody_is_late_for_an_expiry_whose_time_is_in_doubt():
    recorded = Recorded().acquire(900, 1000, 0).session(8000, 0, "doubts").end(9000)
    assert kinds(check(recorded, view(s1=(4990, True)))) == ["unaware-holder"]
    assert kinds(check(recorded, view(known=("0x2",), s1=(4990, True)))) == []


def test_without_the_servers_logs_nobody_knows_whether_a_long_belief_was_a_late_one():
    def left_open(recorded, server, **kwargs):
        history = recorded.end(9000).history()
        holds = extract_holds(history, WORDS)
        return len(judge_exclusion(history, holds, server, WORDS, **kwargs).unknown)

    def lost(until):
        return Recorded().acquire(900, 1000, 0).session(until, 0, "doubts")

    for server in (None, view(known=("0x2",))):
        assert left_open(lost(8000), server, lateness_matters=True) == 1
        assert left_open(lost(8000), server) == 0
        assert left_open(lost(1900), server, lateness_matters=True) == 0
        released = Recorded().acquire(900, 1000, 0).release(8000, 8010, 0)
        assert left_open(released, server, lateness_matters=True) == 0
    assert left_open(lost(8000), view(), lateness_matters=True) == 0


def test_the_actions_of_a_stale_holder_count_once_a_later_one_has_touched_the_resource():
    recorded = Recorded().acquire(900, 1000, 0).act(1100, 0).acquire(4900, 5000, 1)
    recorded.act(4995, 0).act(5010, 1).act(5100, 0).release(5200, 5300, 0)
    result = check(recorded.release(6000, 6010, 1).end(9000), view(s1=(4990, True)))
    assert kinds(result) == ["stale-action", "stale-belief"]
    (action,) = [a for a in result.anomalies if a.kind == "stale-action"]
    assert "accepted 1 action of c0" in action.description
    assert action.start == 5100 * MS


def test_what_the_fence_refused_is_shown_as_fenced():
    recorded = Recorded().acquire(900, 1000, 0, token=5).act(1100, 0, token=5)
    recorded.acquire(4900, 5000, 1, token=6).act(5010, 1, token=6)
    recorded.act(5100, 0, token=5, accepted=False).release(5200, 5300, 0)
    result = check(recorded.release(6000, 6010, 1).end(9000), view(s1=(4990, True)))
    assert kinds(result) == ["fenced", "stale-belief"]


def owner(session, grant, loss=None, path="/l"):
    return Ownership(
        path=path,
        session=session,
        czxid=grant,
        start=grant * MS,
        grant=grant,
        end=loss * MS if loss else None,
        loss=loss,
    )


def test_owners_that_follow_one_another_on_the_server_are_fine():
    owners = [owner("0x1", 1, 4), owner("0x2", 4, 9), owner("0x1", 9)]
    assert kinds(check(Recorded().end(20), view(owners=owners))) == []


def test_two_owners_at_once_on_the_server_are_a_double_grant():
    owners = [owner("0x1", 1, 8), owner("0x2", 4, 9)]
    (anomaly,) = check(Recorded().end(20), view(owners=owners)).anomalies
    assert anomaly.kind == "double-grant"
    assert "0x1" in anomaly.description
    assert "0x2" in anomaly.description


def test_the_same_session_owning_twice_is_no_double_grant():
    owners = [owner("0x1", 1), owner("0x1", 4)]
    assert kinds(check(Recorded().end(20), view(owners=owners))) == []


def test_handovers_count_only_where_the_next_was_already_waiting():
    recorded = Recorded().acquire(1, 2, 0).release(4, 5, 0).acquire(3, 6, 1).release(7, 8, 1)
    holds = extract_holds(recorded.acquire(9, 10, 2).end(12).history(), WORDS)
    assert count_handovers(holds) == 1


def test_an_expiry_after_the_call_of_release_is_not_while_holding():
    recorded = Recorded().acquire(10, 20, 0).release(40, 45, 0)
    holds = extract_holds(recorded.end(90).history(), WORDS)
    assert expired_while_holding(holds, view(s1=(60, True))) == []
    assert expired_while_holding(holds, view(s1=(30, False))) == []
    assert len(expired_while_holding(holds, view(s1=(30, True)))) == 1


def test_an_expiry_that_removes_the_node_after_a_release_in_vain_is_while_holding():
    recorded = Recorded().acquire(10, 20, 0).release(40, 65, 0, "info")
    [hold] = extract_holds(recorded.end(90).history(), WORDS)
    hold.node = "/lock/mine"
    of_another = Ownership("/lock/another", hold.session, 1, 0, 1, 60, 9, expired=True)
    removed = Ownership(hold.node, hold.session, 1, 0, 1, 60, 9, expired=True)
    deleted = Ownership(hold.node, hold.session, 1, 0, 1, 60, 9, expired=False)
    for owners, found in [([], []), ([of_another], []), ([deleted], []), ([removed], [hold])]:
        assert expired_while_holding([hold], view(s1=(60, True), owners=owners)) == found


@st.composite
def some_holds(draw):
    holds = []
    for process in range(draw(st.integers(1, 8))):
        hold = Hold(client=process % 4, process=process % 4, called=0, granted=0)
        at = 0
        for _ in range(draw(st.integers(1, 3))):
            start = at + draw(st.integers(0, 6))
            at = start + draw(st.integers(0, 6))
            hold.beliefs.append((start, at))
        holds.append(hold)
    return holds


@given(some_holds())
def test_the_sweep_finds_exactly_the_pairs_that_overlap_by_definition(holds):
    expected = set()
    for one, hold in enumerate(holds):
        for two in range(one + 1, len(holds)):
            other = holds[two]
            if hold.process != other.process and any(
                max(a, c) < min(b, d) for a, b in hold.beliefs for c, d in other.beliefs
            ):
                expected.add((one, two))
    positions = {id(hold): number for number, hold in enumerate(holds)}
    found = {
        tuple(sorted((positions[id(a)], positions[id(b)]))): (start, end)
        for a, b, start, end in overlaps(holds)
    }
    assert set(found) == expected
    for (one, two), (start, end) in found.items():
        pieces = [
            (max(a, c), min(b, d))
            for a, b in holds[one].beliefs
            for c, d in holds[two].beliefs
            if max(a, c) < min(b, d)
        ]
        assert (start, end) == (min(a for a, _ in pieces), max(b for _, b in pieces))


@given(some_holds(), st.integers(1, 3))
def test_crowds_are_exactly_where_more_believe_than_may(holds, permits):
    found = list(crowds(holds, permits))
    for moment in range(40):
        believing = {
            hold.process for hold in holds for start, end in hold.beliefs if start <= moment < end
        }
        inside = any(crowd.start <= moment < crowd.end for crowd in found)
        assert inside == (len(believing) > permits)
    for crowd in found:
        assert len({hold.process for hold in crowd.members}) == len(crowd.members) > permits


def reading(recorded, called, returned, process):
    """Acquire in mode read."""
    recorded.add(called, process, "invoke", "acquire", {"mode": "read"})
    return recorded.add(returned, process, "ok", "acquire", {"session": f"0x{process + 1}"})


def test_readers_may_hold_together_and_a_writer_not_beside_them():
    recorded = reading(reading(Recorded(), 1, 2, 0), 1, 3, 1).release(8, 9, 0).release(8, 9, 1)
    assert kinds(check(recorded.end(20), view())) == []
    recorded.acquire(1, 5, 2).release(6, 7, 2)
    assert kinds(check(recorded.end(20), view())) == ["split-brain"] * 2


def of_three(until=8000, **ended):
    """c0 and c1 hold from 1 s to ``until`` and 9 s, c2 from 5 s to 6 s; two may at once."""
    recorded = Recorded().acquire(900, 1000, 0).acquire(900, 1000, 1).acquire(4900, 5000, 2)
    recorded.release(6000, 6010, 2).release(9000, 9010, 1).release(until, until + 10, 0)
    history = recorded.end(20000).history()
    holds = extract_holds(history, WORDS)
    return judge_exclusion(history, holds, view(**ended), WORDS, permits=2)


def test_as_many_as_may_hold_and_one_more_is_split_brain():
    (anomaly,) = of_three().anomalies
    assert (anomaly.kind, anomaly.start, anomaly.end) == ("split-brain", 5000 * MS, 6000 * MS)
    assert anomaly.clients == [0, 1, 2]
    assert of_three(until=4000).anomalies == []
    short, late = of_three(s2=(5400, True)).anomalies
    assert (short.kind, short.length_ms) == ("split-brain", 400)
    assert (late.kind, late.clients) == ("unaware-holder", [1, 2])


def test_one_of_a_crowd_whose_session_had_ended_has_a_stale_belief():
    (anomaly,) = of_three(until=5700, s1=(4990, True)).anomalies
    assert (anomaly.kind, anomaly.length_ms, anomaly.clients) == ("stale-belief", 700, [0, 2])
    assert kinds(of_three(until=8500, s1=(4990, True))) == ["unaware-holder"]


def test_without_the_logs_a_crowd_is_unknown_unless_enough_are_known_to_have_lived():
    result = of_three(known=("0x2", "0x3"))
    assert result.anomalies == []
    assert "c0 (0x1)" in result.unknown[0]
    result = of_three(known=("0x2", "0x3"), s2=(4000, True))
    assert (kinds(result), result.unknown) == (["unaware-holder"], [])


def test_more_owners_than_permits_are_a_double_grant():
    owners = [owner("0x1", 1, 8), owner("0x2", 4, 9), owner("0x3", 8, 12)]
    history = Recorded().end(20).history()
    assert judge_exclusion(history, [], view(owners=owners), WORDS, permits=2).anomalies == []
    owners[2] = owner("0x3", 7, 12)
    found = judge_exclusion(history, [], view(owners=owners), WORDS, permits=2)
    assert kinds(found) == ["double-grant"]


def test_shared_owners_stand_beside_each_other_and_not_beside_others():
    shared = [replace(owner(f"0x{n}", n, 9), shared=True) for n in (1, 2)]
    assert kinds(check(Recorded().end(20), view(owners=shared))) == []
    assert kinds(check(Recorded().end(20), view(owners=[*shared, owner("0x3", 5, 7)]))) == [
        "double-grant"
    ]


def test_a_stale_reader_harms_once_a_writer_has_touched_the_resource_not_another_reader():
    def run(second):
        recorded = reading(Recorded(), 900, 1000, 0).act(1100, 0)
        second(recorded, 4900, 5000, 1)
        recorded.act(5010, 1).act(5100, 0).release(5200, 5300, 0).release(6000, 6010, 1)
        return kinds(check(recorded.end(9000), view(s1=(4990, True))))

    assert run(reading) == []
    assert run(Recorded.acquire) == ["stale-action", "stale-belief"]


def test_a_stale_holder_of_a_permit_harms_when_as_many_others_act_as_may():
    recorded = Recorded().acquire(900, 1000, 0).act(1100, 0).acquire(900, 1000, 1).act(1100, 1)
    recorded.act(4996, 0).acquire(4900, 5000, 2).act(5005, 0).act(5010, 2).act(5100, 0)
    recorded.release(5200, 5210, 0).release(5900, 5910, 1).release(6000, 6010, 2)
    history = recorded.end(9000).history()
    holds = extract_holds(history, WORDS)
    found = judge_exclusion(history, holds, view(s1=(4990, True)), WORDS, permits=2)
    (action,) = [a for a in found.anomalies if a.kind == "stale-action"]
    assert (action.start, action.end) == (5100 * MS, 5100 * MS)


def test_a_handover_of_a_permit_needs_all_of_them_taken_at_the_call():
    recorded = Recorded().acquire(1, 2, 0).acquire(1, 3, 1).acquire(4, 6, 2).release(5, 6, 0)
    holds = extract_holds(recorded.end(12).history(), WORDS)
    assert (count_handovers(holds, 1), count_handovers(holds, 2)) == (2, 1)
    late = Recorded().acquire(1, 2, 0).acquire(1, 3, 1).release(4, 5, 0).acquire(6, 7, 2)
    assert count_handovers(extract_holds(late.end(12).history(), WORDS), 2) == 0


def test_a_client_does_not_exclude_itself():
    """c0 goes on as process 3 after an unknown outcome; the first process never said that it ended.

    Three believe only if three clients do.
    """
    holds = [
        Hold(client=n % 3, process=n, called=0, granted=n, beliefs=[(n, 20 + n)]) for n in range(4)
    ]
    assert {first.client for first, second, *_ in overlaps([holds[0], holds[3]])} == set()
    assert len([*overlaps(holds[:2])]) == 1
    assert list(crowds([holds[0], holds[1], holds[3]], 2)) == []
    assert len(list(crowds(holds, 2))) == 2


def test_of_very_many_overlaps_those_that_are_not_looked_at_are_told(monkeypatch):
    recorded = Recorded()
    for process in range(3):
        recorded.acquire(1, 2 + process, process)
    few = check(recorded.end(20), view())
    assert kinds(few) == ["split-brain"] * 3
    assert few.unknown == []
    monkeypatch.setattr(mutual_exclusion, "MOST_PAIRS", 2)
    many = check(recorded.end(20), view())
    assert kinds(many) == ["split-brain"] * 2
    told = "at least 2 pairs of beliefs overlap, and the others were not looked at"
    assert many.unknown == [told]


def test_an_expiry_ends_one_hold_of_a_path_that_all_contenders_make():
    """c0 held it three times in one session; its last release did not get through.

    Tokens tell which node it was; without them it is the node made last before the grant.
    """
    owners = [
        replace(owner("0x1", made, gone), created=made * MS, expired=gone == 90)
        for made, gone in [(10, 20), (30, 40), (50, 90)]
    ]
    for tokens in ([10, 30, 50], [None] * 3):
        recorded = Recorded()
        for token, made in zip(tokens, (10, 30, 50), strict=True):
            recorded.acquire(made - 1, made + 1, 0, node="/l", token=token)
            recorded.release(made + 5, made + 6, 0, "ok" if made < 50 else "info")
        found = extract_holds(recorded.end(99).history(), WORDS)
        expired = expired_while_holding(found, view(owners=owners, s1=(90, True)))
        assert [hold.granted for hold in expired] == [51 * MS]


def test_a_lease_that_ended_before_its_release_got_through_expired_while_it_was_held():
    recorded = Recorded()
    recorded.acquire(9, 11, 0, node="/l", token=5).release(20, 21, 0, "info")
    recorded.acquire(29, 31, 0, node="/l", token=6).release(40, 41, 0, "info")
    found = extract_holds(recorded.end(99).history(), WORDS)
    ended = view(s1=(90, True))
    for lapsed, granted in [
        (frozenset(), []),
        (frozenset({("0x1", 6)}), [31 * MS]),
        (frozenset({("0x2", 6), ("0x1", 7)}), []),
        (frozenset({("0x1", None)}), [11 * MS, 31 * MS]),
    ]:
        expired = expired_while_holding(found, replace(ended, lapsed=lapsed))
        assert [hold.granted for hold in expired] == granted


def test_a_release_that_leaves_the_lease_to_end_by_itself_is_no_expiry():
    recorded = Recorded().acquire(9, 11, 0, node="/l", token=5).release(20, 21, 0)
    found = extract_holds(recorded.end(99).history(), WORDS)
    lapsed = frozenset({("0x1", None)})
    assert expired_while_holding(found, replace(view(s1=(90, True)), lapsed=lapsed)) == []
