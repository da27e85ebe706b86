"""What a track record prints."""

from rumpus.track_record.record_file import Sight
from rumpus.track_record.record_tables import as_data, counts, first_sight, in_markdown
from tests.rumpus.track_record.ours import OURS


def sights(*each):
    return [Sight(runs=runs, cpu_seconds=60.0 * runs, seen=seen) for runs, seen in each]


def test_the_median_of_five_explorations():
    five = sights((1, True), (9, True), (3, True), (2, True), (8, True))
    assert first_sight(five) == "3 runs, 3.00 CPU min"
    assert first_sight(sights((1, True))) == "1 run, 1.00 CPU min"


def test_one_that_gave_up_would_have_taken_longer_than_those_that_saw_it():
    assert first_sight(sights((5, True), (2, False), (4, True))) == (
        "5 runs, 5.00 CPU min; 2 of 3 saw it"
    )


def test_if_most_see_nothing_there_is_no_median():
    assert first_sight(sights((1, True), (7, False), (6, False))) == "1 of 3 saw it in 7.0 CPU min"
    assert first_sight([]) == ""


def test_the_counts_are_those_of_the_flaws():
    counted = counts(OURS)
    assert counted["flaws"] == len(OURS.flaws) == len(as_data(OURS)["flaws"])
    assert sum(counted.values()) == 2 * counted["flaws"]


def test_every_flaw_miss_and_false_alarm_has_a_row():
    printed = in_markdown(OURS)
    rows = [line for line in printed.splitlines() if line.startswith("| ")]
    heads = 2 * 3
    assert len(rows) == heads + len(OURS.flaws) + len(OURS.misses) + len(OURS.false_alarms)
    assert "| `08-queue-loses-element`, " in printed
    assert "| `rumpus run counter --recipe curator-shared-count`, " in printed
    assert all(each.what in printed for each in OURS.misses)


def test_the_data_of_a_case_has_what_its_finding_says():
    (flaw,) = (each for each in as_data(OURS)["flaws"] if each.get("number") == 3)
    assert flaw["anomalies"] == ["early-exit", "early-entry"]
    assert flaw["what"].startswith("`DoubleBarrier`")
