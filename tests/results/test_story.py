from rumpus.checker.verdict import Anomaly, CheckResult, judge
from rumpus.results.story import MOST_LINES, story
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
    lines = story(history(), verdict(overlap()))
    assert [
        line.partition("  ")[2].strip() or line for line in (each.strip() for each in lines)
    ] == [
        "fault: client-partition c0",
        "c0 calls acquire",
        "c0 acquire: ok session='0x1'",
        "c1 calls acquire",
        "c0 loses its connection",
        "c1 acquire: ok session='0x2'",
        "healed: client-partition c0",
        "so: split-brain: c0 and c1 both believed",
    ]
    assert lines[0].strip().startswith("1.000 s")


def test_what_other_clients_and_later_times_saw_is_left_out():
    told = "\n".join(story(history(), verdict(overlap())))
    assert "c2" not in told
    assert "release" not in told


def test_a_broken_promise_comes_before_an_earlier_hazard():
    hazard = Anomaly(kind="herd", description="many", start=0, end=1)
    assert story(history(), verdict(hazard, overlap()))[-1].startswith("so: split-brain")
    assert story(history(), verdict(hazard))[-1] == "so: herd: many"


def test_nothing_happened_nothing_is_told():
    assert story(history(), verdict()) == []


def test_of_many_calls_the_first_and_the_last_are_told():
    recorded = Recorded()
    for number in range(40):
        recorded.acquire(number * 10, number * 10 + 5, 0)
    records = recorded.history()
    cited = [op.index for op in records]
    anomaly = Anomaly(kind="split-brain", description="it", ops=cited, clients=[0])
    times = [float(line.split()[0]) for line in story(records, verdict(anomaly))[:-1]]
    assert times == [0, 0.005, 0.39, 0.395]


def test_a_long_story_is_cut_in_the_middle():
    recorded = Recorded()
    for number in range(80):
        recorded.session(number, 0, "suspended" if number % 2 else "connected")
    anomaly = Anomaly(kind="split-brain", description="it", clients=[0], end=500_000_000)
    lines = story(recorded.history(), verdict(anomaly))
    assert len(lines) == MOST_LINES + 2
    assert f"... {80 - MOST_LINES} more" in lines[MOST_LINES // 2]
