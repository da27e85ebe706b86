from pathlib import Path

import msgspec

from rumpus.checker.history import History, Op
from rumpus.checker.verdict import Anomaly, CheckResult, judge
from rumpus.results.results_document import anomaly_counts, fault_counts, results_document
from tests.checker.laid_out import laid_out


def document(sample):
    results = results_document(Path("runs/lock/x"), sample.record, sample.timeline, sample.verdict)
    return msgspec.json.decode(results.to_json())


def test_says_what_scripts_ask_for(sample):
    found = document(sample)
    assert (found["valid"], found["outcome"], found["exit_code"]) == (False, "violation", 1)
    assert (found["run"], found["seed"], found["ensemble"]) == ("runs/lock/x", 7, "docker")
    assert (found["workload"], found["recipe"]) == ("lock", "fair")
    assert found["anomalies"] == [
        {"kind": "split-brain", "promised": True, "count": 1, "longest_ms": 4.0},
        {"kind": "stale-belief", "promised": False, "count": 1, "longest_ms": 2200.0},
    ]
    assert found["faults"][:2] == [
        {"kind": "kill", "count": 1, "verified": 1},
        {"kind": "pause", "count": 1, "verified": 0},
    ]
    assert found["requirements"][1]["met"] is False
    assert found["complete"] is True
    assert found["story"][0].startswith("split-brain: ")
    assert found["checks"][0]["anomalies"][0]["clients"] == [0, 2]


def test_operations_are_counted_by_outcome(sample):
    operations = sample.history.operations()
    ops = document(sample)["ops"]
    assert sum(ops.values()) == len(operations)
    assert ops["info"] == sum(1 for operation in operations if operation.outcome == "info") > 0
    assert ops["fail"] == 2


def test_an_unknown_verdict_is_told_as_the_word(sample):
    verdict = judge([CheckResult(name="exclusion", unknown=["no logs"])], [])
    results = results_document(Path("x"), sample.record, sample.timeline, verdict)
    assert msgspec.json.decode(results.to_json())["valid"] == "unknown"
    assert results.exit_code == 3
    assert results.story == []


def test_the_longest_is_none_where_length_means_nothing():
    anomalies = [Anomaly(kind="herd", description="") for _ in range(3)]
    anomalies += [Anomaly(kind="stale-belief", description="", length_ms=ms) for ms in (7.0, 9.5)]
    counts = anomaly_counts(judge([CheckResult(name="x", anomalies=anomalies)], ["herd"]))
    assert [(c.kind, c.promised, c.count, c.longest_ms) for c in counts] == [
        ("herd", True, 3, None),
        ("stale-belief", False, 2, 9.5),
    ]


def nemesis(time, type, f, verified=None):  # noqa: A002 - the field's name
    value = {"id": "1", "kind": "kill", "targets": ["n1"]}
    if verified is not None:
        value["verified"] = verified
    return Op(time=time, process="nemesis", type=type, f=f, value=value)


def test_a_fault_is_verified_only_if_seen_in_force_and_healed():
    start = [nemesis(1, "invoke", "start"), nemesis(2, "info", "start", verified=True)]
    stop = [nemesis(3, "invoke", "stop"), nemesis(4, "info", "stop", verified=True)]
    assert fault_counts(laid_out(History(start + stop)))[0].verified == 1
    assert fault_counts(laid_out(History(start)))[0].verified == 0
    unseen = [nemesis(1, "invoke", "start"), nemesis(2, "info", "start", verified=False)]
    assert fault_counts(laid_out(History(unseen + stop)))[0].verified == 0
    sick = [nemesis(3, "invoke", "stop"), nemesis(4, "info", "stop", verified=False)]
    assert fault_counts(laid_out(History(start + sick)))[0].verified == 0


def test_a_simulated_run_carries_its_digest_and_virtual_time(sample):
    found = document(sample)
    assert (found["digest"], found["virtual_seconds"]) == (None, None)
    sample.record.digest, sample.record.virtual_seconds = "ab" * 16, 71.25
    found = document(sample)
    assert (found["digest"], found["virtual_seconds"]) == ("ab" * 16, 71.25)
