import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.campaigns.case import Case, Finding, decode_case, load_case, save_case
from rumpus.nemesis.plan import FaultPlan
from rumpus.results.fingerprint import Fingerprint
from rumpus.results.store_error import StoreError, UnreadableRun
from rumpus.usage_error import UsageError
from tests.rumpus.campaigns.conftest import DEADLOCK

WORDS = st.lists(st.text(max_size=20), max_size=3).map(tuple)
ENTRIES = [
    {"id": 4, "at": 1.5, "kind": "kill", "targets": {"role": "leader"}, "duration": 2.0},
    {
        "id": 9,
        "at": 1.5,
        "kind": "client-partition",
        "targets": {"names": ["c0"]},
        "duration": 0.5,
        "options": {"how": "reset"},
    },
]
CASES = st.builds(
    Case,
    settings=st.fixed_dictionaries(
        {"workload": st.just("lock")},
        optional={"clients": st.integers(2, 5), "recipe": st.text(max_size=9)},
    ),
    seed=st.integers(0, 2**31),
    plan=st.lists(st.sampled_from(ENTRIES), unique_by=lambda entry: entry["id"]).map(
        lambda entries: msgspec.convert({"version": 1, "entries": entries}, FaultPlan)
    ),
    expects=st.builds(Fingerprint, kind=st.text(), operations=WORDS, faults=WORDS),
    promised=st.booleans(),
    story=WORDS,
    versions=st.dictionaries(st.text(), st.text(), max_size=2),
    digest=st.none() | st.text(),
    finding=st.none()
    | st.builds(Finding, number=st.integers(), what=st.text(), also=WORDS, since=st.text()),
    upstream=st.none() | st.text(),
    mutant=st.booleans(),
    known=st.booleans(),
)


@given(CASES)
def test_what_is_written_is_read(case):
    assert decode_case(case.to_json(), "it") == case


def test_a_file_is_written_for_people(deadlock, tmp_path):
    save_case(deadlock, tmp_path / "cases" / "x.case.json")
    text = (tmp_path / "cases" / "x.case.json").read_text()
    assert '\n    {"id": 1, "at": 1.0, "kind": "pause", ' in text
    assert len(text.splitlines()) < 15
    assert load_case(tmp_path / "cases" / "x.case.json") == deadlock


def test_its_run_is_simulated_unless_it_says_otherwise(deadlock):
    assert deadlock.task().settings.ensemble == "sim"
    assert deadlock.task(ensemble="docker").settings.ensemble == "docker"
    assert deadlock.task().settings.seed == 0


def test_its_name_tells_what_fails(deadlock):
    assert deadlock.name() == "lock-kazoo-bare-deadlock"
    mine = msgspec.structs.replace(
        deadlock, settings={"workload": "lock", "recipe": "mine.locks:MyLock"}
    )
    assert mine.name() == "lock-locks-MyLock-deadlock"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": "x"}, "seed"),
        ({"version": 7}, "version 7"),
        ({"more": 1}, "more"),
        ({"settings": {}}, "workload"),
        ({"settings": {"workload": "lock", "client": 3}}, "client"),
        ({"settings": {"workload": "lock", "clients": "three"}}, "clients"),
        ({"settings": {"workload": "lock", "plan": "a"}}, "plan"),
        ({"plan": {"version": 1, "entries": [{"at": 1}]}}, "kind"),
        (
            {
                "plan": {
                    "version": 1,
                    "entries": [
                        {"at": 1, "kind": "kill", "targets": {"names": ["n9"]}, "duration": 1}
                    ],
                }
            },
            "n9",
        ),
    ],
)
def test_a_wrong_case_is_refused_by_name(change, words):
    document = json.dumps({**json.loads(DEADLOCK), **change}).encode()
    with pytest.raises(UsageError, match=f"(?s)x.case.json.*{words}"):
        decode_case(document, "x.case.json")


@pytest.mark.parametrize("document", [b"", b"[]", b"{}", b"\xff", b'{"plan": 3}'])
def test_what_is_no_case_is_refused(document):
    with pytest.raises(UsageError, match="x: not a case"):
        decode_case(document, "x")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UnreadableRun, match=r"no\.case\.json"):
        load_case(tmp_path / "no.case.json")


def test_a_place_for_cases_that_cannot_be_is_named(deadlock, tmp_path):
    (tmp_path / "cases").write_text("in the way")
    with pytest.raises(StoreError, match=r"cases: cannot make the directory of cases \("):
        save_case(deadlock, tmp_path / "cases" / "it.case.json")
