"""The parts of a night become one, and the store says what is new; hostile files do no harm."""

import json
import re

import msgspec
import pytest
from hypothesis import given

from rumpus.campaigns.case import load_case
from rumpus.nights.documents.document import CaseResult, NightDocument, to_json
from rumpus.nights.documents.joining import check_night_parts, is_night, join, load_night
from rumpus.nights.documents.summary import headed
from rumpus.nights.memory.store import Store
from rumpus.nights.records import RunRow
from rumpus.usage_error import UsageError
from tests.rumpus.nights.conftest import night
from tests.rumpus.nights.documents import VALID_RUN, as_written, document, documents, failed, row
from tests.rumpus.nights.made import case_of_kind


def part(number, of=2, **more):
    return document(shard=f"{number}/{of}", **more)


@pytest.fixture
def parts(tmp_path):
    """Parts in directories of their own, as they are read again."""

    def write(*documents):
        found = {}
        for number, made in enumerate(documents):
            path = tmp_path / f"part{number}" / "night.json"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(to_json(made))
            found[path] = load_night(path)
        return found

    return write


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        ([part(0)], "parts are missing: 1/2"),
        ([part(2, 3)], "parts are missing: 0/3, 1/3"),
        ([part(0), part(0)], "is part 0/2 like"),
        ([part(0), part(1, 3)], "not of the same night"),
        ([part(0), part(1, seed=5)], "not of the same night"),
        ([part(0), document()], "a whole night"),
    ],
)
def test_parts_that_make_no_whole_are_refused(parts, documents, words):
    with pytest.raises(UsageError, match=words):
        check_night_parts(parts(*documents))


def changed(tmp_path, **night):
    """A part whose ``night.json`` was changed: fields of the document, and its exit code."""
    path = tmp_path / "night.json"
    told = ended(part(0))
    told["night"] |= night.pop("night", {})
    path.write_text(json.dumps(told | night))
    return path


RUN = {"role": "run", "subject": "lock / fair, sim", "kind": "usual", "outcome": "violation"}
BACK = {**RUN, "role": "case", "name": "x", "found": "regression"}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"runs": [{**RUN, "failures": ["0123456789"]}]}, "with 0, and what it says is 1"),
        ({"runs": [BACK]}, "the case x has come back"),
        ({"night": {"exit_code": 1}}, "with 1, and what it says is 0"),
        ({"runs": [RUN], "night": {"exit_code": 0}}, "with 0, and what it says is 1"),
    ],
)
def test_a_part_that_contradicts_itself_is_refused(tmp_path, fields, why):
    assert load_night(changed(tmp_path))
    with pytest.raises(UsageError, match=f"contradicts itself: .*{why}"):
        load_night(changed(tmp_path, **fields))


def ended(made):
    """A part as it is when its night has ended, as plain data."""
    night_ = msgspec.structs.replace(made.night, ended=1.0)
    return json.loads(to_json(headed(msgspec.structs.replace(made, night=night_))))


VALID = json.loads(msgspec.json.encode(VALID_RUN))
SHOWN = RunRow(
    role="run", subject="lock / fair, sim", outcome="violation", exit_code=1, why="it is broken",
    failures=(row().id,),
)  # fmt: skip


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (lambda told: told["runs"][0].update(outcome="valid"), "is valid, and has the exit code 1"),
        (
            lambda told: told["runs"][0].update(outcome="valid", exit_code=0),
            "is valid, and has failures",
        ),
        (
            lambda told: told["runs"][0].update(outcome="valid", exit_code=0, failures=[]),
            "is valid, and has the reason 'it is broken'",
        ),
        (lambda told: told.update(runs=[VALID], failures=[]), "its counts are 2 runs, 1 broken"),
        (lambda told: told["night"].update(headline="a is green: x"), "its headline is 'a is"),
        (lambda told: told.update(headline="a is green: x"), "its headline is 'a is green'"),
        (lambda told: told.update(counts={}), "its counts is {}, and"),
        (lambda told: told["runs"][0].pop("outcome"), "is not performed, and has the exit code"),
        (lambda told: told["failures"][0].update(id="0123456789"), "is '0123456789'"),
    ],
)
def test_a_part_whose_words_are_forged_is_refused(tmp_path, forge, why):
    path = tmp_path / "night.json"
    told = ended(part(0, runs=[SHOWN, VALID_RUN], failures=[failed()]))
    path.write_text(json.dumps(told))
    assert load_night(path).exit_code == 1
    forge(told)
    exit_code = 0 if not told["failures"] else 1
    told["night"]["exit_code"] = told["exit_code"] = exit_code
    if "outcome" not in told["runs"][0]:
        told["runs"][0].update(exit_code=0, why="", failures=[])
    path.write_text(json.dumps(told))
    with pytest.raises(UsageError, match=f"contradicts itself: .*{re.escape(why)}"):
        load_night(path)


@given(documents)
def test_what_a_night_writes_does_not_contradict_itself(tmp_path_factory, made):
    written = as_written(made)
    path = tmp_path_factory.mktemp("night") / "night.json"
    path.write_bytes(to_json(written))
    assert load_night(path) == written


def test_parts_that_make_a_whole_are_taken(parts):
    check_night_parts(parts(part(1), part(0)))


def test_a_part_that_is_none_is_refused(parts):
    with pytest.raises(UsageError, match="part0"):
        check_night_parts(parts(document(shard="x/y"), part(1)))


def test_the_store_says_what_is_new(parts, store, tmp_path):
    known = row("deadlock")
    store.begin_night(night(1))
    store.note_failure(known)
    failures = (failed("known"), failed("new", "deadlock"), failed("expected", "herd"))
    shown = [each.failure.id for each in failures]
    run = RunRow(
        role="run",
        subject="lock / fair, sim",
        outcome="violation",
        exit_code=1,
        failures=(shown[0], "gone"),
    )
    joined = join(parts(part(0, failures=failures), part(1, runs=[run])), store, tmp_path)
    assert [each.state for each in joined.failures] == ["new", "known", "expected"]
    assert joined.night.shard == ""
    assert joined.night.headline.startswith("2026-11-26 is BROKEN")
    assert (joined.night.exit_code, joined.night.counts) == (1, joined.counts)
    assert [each.name for each in store.nights()][-1] == joined.night.name
    assert store.runs(joined.night.name)[-1].failures == (shown[0],)
    assert {each.id: each.runs for each in store.failures()}[shown[0]] == 1
    assert (tmp_path / "night.json").exists()
    kept = store.documents(NightDocument)[joined.night.name]
    assert [each.state for each in kept.failures] == ["new", "known", "expected"]
    assert not kept.runs


def test_a_second_night_of_a_day_has_its_own_name(parts, store, tmp_path):
    names = [join(parts(part(0), part(1)), store, tmp_path).night.name for _ in range(2)]
    assert names == ["2026-11-26", "2026-11-26.2"]


def test_cases_of_the_parts_are_brought_along(parts, store, tmp_path):
    moved = CaseResult(name="a", state="shown", moved="cases/moved/a.case.json")
    failure = failed(file="cases/b.case.json")
    failure = type(failure)(
        failure=row(case=case_of_kind()), state="new", runs=1, file="cases/b.case.json"
    )
    found = parts(part(0, cases=(moved,)), part(1, failures=(failure,)))
    source = next(iter(found)).parent / moved.moved
    source.parent.mkdir(parents=True)
    source.write_bytes(case_of_kind().to_json())
    target = tmp_path / "whole"
    target.mkdir()
    join(found, store, target)
    assert load_case(target / moved.moved) == case_of_kind()
    assert (target / "cases" / "b.case.json").is_file()


@pytest.mark.parametrize(
    "place",
    ["../a.case.json", "/a.case.json", "cases/../../a.case.json", ".bashrc", "cases/conftest.py"],
)
@pytest.mark.parametrize("key", ["file", "moved"])
def test_no_file_leads_out_of_the_directory(parts, place, key):
    hostile = (
        {"failures": (failed(file=place),)}
        if key == "file"
        else {"cases": (CaseResult(name="a", state="shown", moved=place),)}
    )
    with pytest.raises(UsageError, match="part0"):
        parts(part(0, **hostile))


@pytest.mark.parametrize("name", ["/home", "..", "a/b", "", "2026-11-26.x"])
def test_no_name_leads_out_of_the_directory_of_nights(tmp_path, name):
    with pytest.raises(UsageError, match="a night is named by its day"):
        load_night(changed(tmp_path, night={"name": name}))


def test_of_what_lies_beside_a_part_only_cases_are_brought_along(parts, store, tmp_path):
    moved = CaseResult(name="a", state="shown", moved="cases/moved/a.case.json")
    found = parts(part(0, cases=(moved,)), part(1))
    (tmp_path / "secret").write_text("a password")
    source = next(iter(found)).parent / moved.moved
    source.parent.mkdir(parents=True)
    source.symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match="not a case"):
        join(found, store, tmp_path)
    assert not store.nights()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda told: told | {"version": 2}, "has version 2"),
        (lambda told: told | {"runs": 5}, "not what"),
        (lambda told: told | {"night": {}}, "not what"),
        (lambda told: [told], "not what"),
        (lambda _: {"night": {}}, "has version 0"),
        (lambda told: told | {"night": told["night"] | {"seed": 2**63}}, "64 bits"),
        (
            lambda told: told | {"night": told["night"] | {"asked": {"a": [{"b": -(10**400)}]}}},
            "a whole number in it has more than 64 bits",
        ),
    ],
)
def test_a_malformed_night_is_refused(tmp_path, change, words):
    path = tmp_path / "night.json"
    path.write_text(json.dumps(change(json.loads(to_json(document())))))
    with pytest.raises(UsageError) as refused:
        load_night(path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 10_000])
def test_what_is_no_json_is_refused(tmp_path, text):
    path = tmp_path / "night.json"
    path.write_bytes(text)
    assert not is_night(path)
    with pytest.raises(UsageError):
        load_night(path)


def test_nights_are_told_from_other_documents(tmp_path):
    path = tmp_path / "night.json"
    path.write_bytes(to_json(document()))
    assert is_night(path)
    path.write_text('{"version": 1}')
    assert not is_night(path)
    path.write_text('{"version": 9, "night": {}}')
    assert is_night(path), "of a newer program"


def test_the_store_is_as_it_was_for_readers(path, parts, tmp_path):
    with Store.opened(path, write=True) as store:
        join(parts(part(0), part(1)), store, tmp_path)
    with Store.opened(path) as store:
        assert [each.exit_code for each in store.nights()] == [0]
