import msgspec

from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.timeline.changes import Change
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.verdict import Anomaly, CheckResult, judge
from rumpus.results.story import MOST_LINES, story, story_lines
from rumpus.results.story_subject import MOST_ZNODES
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def verdict(*anomalies, promised=("split-brain",)):
    return judge([CheckResult(name="exclusion", anomalies=list(anomalies))], promised)


def history():
    return (
        Recorded()
        .add(0, "control", "info", "test")
        .add(900, "nemesis", "invoke", "start", {"id": "1", "kind": "client-partition"})
        .add(1000, "nemesis", "info", "start", {"id": "1", "targets": ["c0"], "verified": True})
        .acquire(1100, 1200, 0, session="0x1")
        .session(1300, 0, "suspended")
        .acquire(1250, 1400, 1, session="0x2")
        .session(1350, 2, "lost")
        .add(1500, "nemesis", "invoke", "stop", {"id": "1"})
        .add(1600, "nemesis", "info", "stop", {"verified": True})
        .release(9000, 9100, 1)
        .history()
    )


def overlap(**more):
    records = history()
    cited = [op.index for op in records if op.f == "acquire"]
    return Anomaly(
        kind="split-brain",
        description="c0 and c1 both believed",
        ops=cited,
        clients=[0, 1],
        start=1_400_000_000,
        end=1_700_000_000,
        **more,
    )


def test_what_led_to_an_anomaly_is_told_in_order_of_time():
    first, *lines = story(laid_out(history()), verdict(overlap()))
    assert first == "split-brain: c0 and c1 both believed"
    assert [line.partition(" s  ")[2] for line in lines] == [
        "fault: client-partition c0",
        "c0 calls acquire",
        "c0 acquire: ok session='0x1'",
        "c1 calls acquire",
        "c0 loses its connection",
        "c1 acquire: ok session='0x2'",
        "healed: client-partition c0",
    ]
    assert lines[0].strip().startswith("1.000 s")


def test_what_other_clients_and_later_times_saw_is_left_out():
    told = "\n".join(story(laid_out(history()), verdict(overlap())))
    assert "c2" not in told
    assert "release" not in told


def test_a_broken_promise_comes_before_an_earlier_hazard():
    hazard = Anomaly(kind="herd", description="many", start=0, end=1)
    assert story(laid_out(history()), verdict(hazard, overlap()))[0].startswith("split-brain: ")
    assert story(laid_out(history()), verdict(hazard))[0] == "herd: many"


def test_nothing_happened_nothing_is_told():
    assert story(laid_out(history()), verdict()) == []


def test_of_a_long_story_what_is_nearest_to_the_anomaly_is_told():
    recorded = Recorded()
    for number in range(80):
        recorded.session(number, 0, "suspended" if number % 2 else "connected")
    anomaly = Anomaly(kind="split-brain", description="it", clients=[0], start=40_000_000)
    anomaly.end = 500_000_000
    _, *lines = story(laid_out(recorded.history()), verdict(anomaly))
    times = [float(line.split()[0]) for line in lines]
    assert len(times) == MOST_LINES
    assert times == sorted(times)
    assert max(abs(time - 0.04) for time in times) < 0.01


def test_a_fault_that_touched_nobody_of_the_story_is_left_out():
    recorded = Recorded()
    for number, target in enumerate(["c0", "c2", "n1"]):
        named = {"id": str(number), "kind": "client-pause" if target != "n1" else "kill"}
        recorded.add(100 + 20 * number, "nemesis", "invoke", "start", named)
        told = {"id": str(number), "targets": [target], "verified": True}
        recorded.add(110 + 20 * number, "nemesis", "info", "start", told)
    recorded.acquire(200, 300, 0).acquire(250, 350, 1)
    anomaly = Anomaly(kind="split-brain", description="it", clients=[0, 1], start=300_000_000)
    told = "\n".join(story(laid_out(recorded.history()), verdict(anomaly)))
    assert "client-pause c0" in told
    assert "c2" not in told
    assert "n1" not in told


class Truth:
    """The servers' logs: a znode of c0 that the session of c2 deleted."""

    committed = ()

    def znodes(self):
        life = ZnodeLife("/l/n-0000000007", 7, 1_150, "0x1", "0x1", b"", 9, 1_380, "0x3", "deleted")
        return [life]

    def sessions(self):
        return {}


def test_a_client_that_the_anomaly_does_not_name_is_told_if_it_deleted_a_znode_of_it():
    recorded = Recorded().session(0, 2, "connected", session="0x3")
    recorded.session(0, 0, "connected", session="0x1")
    recorded.acquire(1100, 1200, 0, session="0x1", node="/l/n-0000000007")
    recorded.add(1370, 2, "invoke", "release").add(1390, 2, "ok", "release")
    recorded.acquire(1250, 1400, 1, session="0x2").end(2000)
    recorded.ops.sort(key=lambda op: op.time)
    records = recorded.history()
    cited = [op.index for op in records if op.f == "acquire"]
    anomaly = Anomaly(kind="split-brain", description="it", ops=cited, clients=[0, 1])
    anomaly.start = anomaly.end = 1_400_000_000
    timeline = laid_out(records, truth=Truth(), clock=WallClock([(0, 0)]))
    told = "    1.380 s  c2 deletes 7, which c0 had made, in its release"
    assert told in story(timeline, verdict(anomaly))
    (line,) = (each for each in story_lines(timeline, anomaly) if each.words.startswith("c2 del"))
    release = next(op for op in records if op.f == "release")
    assert (line.client, line.record) == (2, release.index)


def test_lines_name_the_records_that_show_them():
    records = history()
    by_index = {op.index: op for op in records}
    lines = story_lines(laid_out(records), overlap())
    assert {line.record for line in lines} <= by_index.keys()
    assert all(by_index[line.record].time == line.time for line in lines)


def test_the_same_value_of_another_key_is_another_thing():
    recorded = Recorded()
    for client, key in enumerate(("t0", "t1", "t0")):
        vote = {"key": key, "value": "yes"}
        recorded.add(10 * client, client, "invoke", "vote", vote)
        recorded.add(10 * client + 5, client, "ok", "vote", vote)
    decided = {"key": "t0", "value": "abort"}
    recorded.add(40, 0, "invoke", "decide", decided).add(50, 0, "ok", "decide", decided)
    records = recorded.history()
    ops = [op.index for op in records if op.f == "decide"]
    wrong = Anomaly(kind="not-linearizable", description="c0 decided abort", ops=ops)
    wrong.start, wrong.end = 40_000_000, 50_000_000
    told = "\n".join(story(laid_out(records), verdict(wrong)))
    assert "c2 calls vote key='t0'" in told
    assert "t1" not in told


def test_of_a_session_that_ended_it_tells_when_the_connection_was_lost_and_where_the_client_stood():
    recorded = Recorded().acquire(0, 10, 0, session="0x1")
    recorded.add(20, "session", "info", "suspended", {"client": 0, "at": "my_lock.py:41 in wait"})
    recorded.session(400, 0, "lost")
    for number in range(20):
        recorded.acquire(500 + 20 * number, 510 + 20 * number, 1, session="0x2")
        recorded.release(512 + 20 * number, 515 + 20 * number, 1)
    records = recorded.history()
    late = Anomaly(kind="split-brain", description="c0 believed", clients=[0])
    late.ops = [op.index for op in records if op.process == 0]
    late.start, late.end = 600_000_000, 900_000_000
    told = "\n".join(story(laid_out(records), verdict(late)))
    assert "c0 loses its connection, at my_lock.py:41 in wait" in told
    assert "c0 learns that its session has ended" in told


def test_who_wrote_its_name_into_a_persistent_znode_is_told():
    """A lock of compare-and-set has no znode that is a contender's own."""
    recorded = Recorded().session(0, 0, "connected", session="0x1")
    recorded.session(0, 1, "connected", session="0x2")
    recorded.acquire(1100, 1200, 0, session="0x1").acquire(1250, 1400, 1, session="0x2").end(2000)
    records = recorded.history()
    cited = [op.index for op in records if op.f == "acquire"]
    anomaly = Anomaly(kind="split-brain", description="both believed", ops=cited, clients=[0, 1])
    anomaly.start, anomaly.end = 1_400_000_000, 1_500_000_000
    changes = {"/l/owner": [*written_by_both(records)]}
    told = "\n".join(story(laid_out(records, znodes=changes), verdict(anomaly)))
    assert "1.150 s  c0 writes owner b'0x1', in its acquire" in told
    assert "1.350 s  c1 writes owner b'0x2', in its acquire" in told


def written_by_both(records):
    calls = [call for call in records.operations() if call.invoke.f == "acquire"]
    yield Change(1_000_000, 1, "created", "/l/owner", "0x1", client=0)
    for client, (call, time) in enumerate(zip(calls, (1_150, 1_350), strict=True)):
        session = f"0x{client + 1}"
        change = Change(time * 1_000_000, 2 + client, "written", "/l/owner", session, client=client)
        yield change._replace(call=call, data=session.encode())


def test_of_more_znodes_alike_those_are_told_whose_paths_come_first():
    paths = [f"/l/n{number:02}" for number in range(2 * MOST_ZNODES)]
    znodes = {
        path: [Change(1_300_000_000, 1, "created", path, "0x9", 2, owner="0x9")] for path in paths
    }
    found = msgspec.structs.replace(overlap(), description=f"left: {', '.join(paths)}")
    told = [line.words for line in story_lines(laid_out(history(), znodes=znodes), found)]
    named = [words for words in told if words.startswith("c2 creates ephemeral node")]
    assert named == [f"c2 creates ephemeral node n{number:02}" for number in range(MOST_ZNODES)]
