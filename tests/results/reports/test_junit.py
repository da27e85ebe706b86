from xml.etree import ElementTree as ET

import msgspec

from rumpus.checker.verdict import Anomaly, CheckResult, Requirement, judge
from rumpus.results.reports.junit import junit


def suite(sample, verdict=None):
    document = junit(sample.record, sample.history, verdict or sample.verdict)
    return ET.fromstring(document).find("testsuite")


def outcomes(cases):
    return {
        case.get("name"): [child.tag for child in case if child.tag != "system-out"]
        for case in cases.findall("testcase")
    }


def test_a_broken_promise_is_a_failure_and_a_quiet_run_an_error(sample):
    found = suite(sample)
    assert outcomes(found) == {"exclusion": ["failure"], "order": [], "exercise": ["error"]}
    assert (found.get("tests"), found.get("failures"), found.get("errors")) == ("3", "1", "1")
    failure = found.find("testcase/failure")
    assert failure.get("type") == "split-brain"
    assert "records 5" in failure.text
    assert "stale-belief" not in failure.text
    assert "stale-belief" in found.find("testcase/system-out").text


def test_says_with_which_versions_it_ran(sample):
    versions = {"kazoo": "2.10.0", "python": "3.11.9"}
    record = msgspec.structs.replace(sample.record, versions=versions)
    document = ET.fromstring(junit(record, sample.history, sample.verdict))
    properties = {p.get("name"): p.get("value") for p in document.iter("property")}
    assert properties["version.kazoo"] == "2.10.0"
    assert properties["version.python"] == "3.11.9"


def test_what_cannot_be_decided_is_an_error(sample):
    verdict = judge([CheckResult(name="exclusion", unknown=["the logs are missing"])], [])
    found = suite(sample, verdict)
    assert found.find("testcase/error").get("message") == "undecided: the logs are missing"


def test_what_is_doubtful_of_the_whole_run_is_an_error(sample):
    verdict = judge([CheckResult(name="exclusion")], [])
    verdict.outcome, verdict.reasons = "unknown", ["it came from elsewhere"]
    found = suite(sample, verdict)
    assert outcomes(found) == {"exclusion": [], "verdict": ["error"]}
    assert found.find("testcase/error").get("message") == "undecided: it came from elsewhere"


def test_a_valid_run_with_hazards_is_green(sample):
    checks = [
        CheckResult(
            name="exclusion",
            anomalies=[Anomaly(kind="stale-belief", description="late")],
            requirements=[Requirement(name="handovers", needed=1, observed=1)],
        )
    ]
    assert outcomes(suite(sample, judge(checks, []))) == {"exclusion": []}


def test_with_strict_hazards_fail_but_the_fence_at_work_does_not(make_sample):
    sample = make_sample(seconds=5)
    sample.record.strict = True
    checks = [
        CheckResult(name="a", anomalies=[Anomaly(kind="fenced", description="refused")]),
        CheckResult(name="b", anomalies=[Anomaly(kind="stale-belief", description="late")]),
    ]
    found = suite(sample, judge(checks, [], strict=True))
    assert outcomes(found) == {"a": [], "b": ["failure"]}


def test_stays_xml_whatever_the_text(sample):
    nasty = "null \x00 bell \x07 half \ud800 <tag> & ]]> \ufffe"
    checks = [
        CheckResult(name=nasty, anomalies=[Anomaly(kind="split-brain", description=nasty)]),
    ]
    found = suite(sample, judge(checks, ["split-brain"]))
    assert "<tag> & ]]>" in found.find("testcase/failure").text


def test_many_anomalies_are_cut_with_a_word(sample):
    many = [Anomaly(kind="split-brain", description=f"number {n}") for n in range(70)]
    verdict = judge([CheckResult(name="exclusion", anomalies=many)], ["split-brain"])
    failure = suite(sample, verdict).find("testcase/failure").text
    assert "number 49" in failure
    assert "number 50" not in failure
    assert "20 more" in failure
