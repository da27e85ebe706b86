"""The file of the track record: what is read of it, and what is refused."""

import datetime as dt

import pytest

from rumpus.campaigns.case import load_case
from rumpus.track_record.record_file import (
    FILE,
    Measured,
    Sight,
    read_measured,
    read_record,
    write_measured,
)
from rumpus.usage_error import UsageError
from tests.rumpus.track_record.ours import OURS, ROOT

WHOLE = """\
[[flaw]]
program = "x"
discovered = "aimed"
date = 2026-11-22
upstream = "not reported"
what = "it hangs"
where = "`f`"
fault = "none"
anomalies = ["deadlock"]
command = "rumpus run lock"
"""


def written(tmp_path, text):
    path = tmp_path / "record.toml"
    path.write_text(text)
    return path


def test_every_case_of_a_finding_is_in_our_record():
    named = {flaw.record.case for flaw in OURS.flaws if flaw.record.case}
    there = {f"findings/{each.name}" for each in (ROOT / "cases/findings").iterdir()}
    assert named == there


def test_the_cases_say_the_same_of_upstream():
    for flaw in OURS.flaws:
        if flaw.case is not None and flaw.case.upstream:
            assert flaw.case.upstream in flaw.record.upstream


def test_a_flaw_of_real_servers_says_itself_what_it_is(tmp_path):
    (flaw,) = read_record(written(tmp_path, WHOLE)).flaws
    assert (flaw.record.what, flaw.record.date, flaw.case) == (
        "it hangs",
        dt.date(2026, 11, 22),
        None,
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("what =", "wat ="), "contains unknown field `wat`"),
        (('discovered = "aimed"', 'discovered = "lucky"'), "Invalid enum value 'lucky'"),
        (('command = "rumpus run lock"\n', ""), "flaw 1 lacks command, or a case"),
        (("date = 2026-11-22", "date = tomorrow"), "Invalid value"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, change, says):
    with pytest.raises(UsageError, match=says):
        read_record(written(tmp_path, WHOLE.replace(*change)))


def test_a_case_says_for_itself_what_it_shows(tmp_path):
    (folder := tmp_path / "findings").mkdir()
    (folder / "a.case.json").write_bytes((ROOT / FILE).parent.joinpath(CASE).read_bytes())
    with pytest.raises(UsageError, match="itself says what, where, fault, anomalies: take it out"):
        read_record(written(tmp_path, WHOLE + 'case = "findings/a.case.json"\n'))
    bare = 'case = "findings/a.case.json"\nprogram = "x"\ndiscovered = "aimed"\n'
    bare += 'date = 2026-11-22\nupstream = "not reported"\n'
    (flaw,) = read_record(written(tmp_path, f"[[flaw]]\n{bare}")).flaws
    assert flaw.case == load_case(folder / "a.case.json")


CASE = "findings/01-barrier-wait.case.json"


def test_what_was_measured_is_read_again(tmp_path):
    path = written(tmp_path, WHOLE)
    assert read_measured(path) == {}
    sights = (Sight(runs=3, cpu_seconds=1.5, seen=True),)
    measured = {"a": Measured(sights=sights, reproduced=dt.date(2026, 11, 26))}
    write_measured(path, measured)
    assert read_measured(path) == measured
    path.with_suffix(".measured.json").write_text("{")
    with pytest.raises(UsageError, match=r"record\.measured\.json: Input data was truncated"):
        read_measured(path)
