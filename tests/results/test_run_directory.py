from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from rumpus.checker.history import Op
from rumpus.results.results_document import results_document
from rumpus.results.run_directory import create, open_run
from rumpus.results.store_error import StoreError, UnreadableRun
from tests.checker.laid_out import laid_out

NOW = datetime(2026, 11, 21, 4, 47, 26, 123456, tzinfo=timezone(timedelta(hours=1)))


def test_is_named_by_its_start_in_utc_and_linked_as_latest(tmp_path):
    runs = tmp_path / "some" / "runs"
    run = create(runs, "lock", NOW)
    assert run.path == runs / "lock" / "20261121T034726.123Z"
    assert (runs / "lock" / "latest").readlink() == Path("20261121T034726.123Z")
    assert (runs / "latest").resolve() == run.path.resolve()
    assert run.nodes.is_dir()


def test_two_runs_of_one_millisecond_get_directories_of_their_own(tmp_path):
    first, second = create(tmp_path, "lock", NOW), create(tmp_path, "lock", NOW)
    assert [first.path.name, second.path.name] == ["20261121T034726.123Z", "20261121T034726.124Z"]
    assert (tmp_path / "latest").resolve() == second.path.resolve()
    election = create(tmp_path, "election", NOW)
    assert (tmp_path / "lock" / "latest").resolve() == second.path.resolve()
    assert (tmp_path / "latest").resolve() == election.path.resolve()


@pytest.mark.parametrize("workload", ["latest", "", "..", "a/b", ".hidden"])
def test_refuses_workloads_that_cannot_name_a_directory(tmp_path, workload):
    with pytest.raises(ValueError, match="cannot be called"):
        create(tmp_path, workload, NOW)


def test_something_in_the_way_is_named_with_the_remedy(tmp_path):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(StoreError, match="--runs") as error:
        create(tmp_path / "runs", "lock", NOW)
    assert str(tmp_path / "runs") in str(error.value)


def test_a_directory_where_the_latest_link_belongs_is_not_replaced(tmp_path):
    (tmp_path / "latest").mkdir()
    with pytest.raises(StoreError, match="move it out of the way"):
        create(tmp_path, "lock", NOW)
    assert (tmp_path / "latest").is_dir()


def write_history(run):
    with run.history_writer() as writer:
        writer.append(Op(time=1, process=0, type="invoke", f="acquire"))


def test_a_run_opens_by_its_directory_its_link_or_its_history(tmp_path):
    run = create(tmp_path, "lock", NOW)
    write_history(run)
    run.record.write_text("{}")
    for path in (run.path, tmp_path / "latest", run.path / "history.jsonl"):
        opened = open_run(path)
        assert opened.history.samefile(run.history)
        assert not opened.bare


def test_a_history_on_its_own_opens_without_a_record(tmp_path):
    path = tmp_path / "found.jsonl"
    path.write_text('{"time": 1, "process": 0, "type": "invoke", "f": "acquire"}\n')
    opened = open_run(path)
    assert opened.bare
    assert len(opened.read_history()) == 1
    assert opened.read_history().truncated


def test_what_is_no_run_is_said_with_a_hint(tmp_path):
    with pytest.raises(UnreadableRun, match="does not exist"):
        open_run(tmp_path / "nowhere")
    create(tmp_path, "lock", datetime.now(UTC))
    with pytest.raises(UnreadableRun, match=r"did you mean .*latest"):
        open_run(tmp_path / "lock")


def test_finishing_writes_what_people_and_machines_read(tmp_path, make_sample):
    sample = make_sample(seconds=5)
    run = create(tmp_path, "lock", NOW)
    run.write_record(sample.record)
    with run.history_writer() as writer:
        for op in sample.history:
            writer.append(op)
    record, history = run.read_record(), run.read_history()
    timeline = laid_out(history)
    results = results_document(run.path, record, timeline, sample.verdict)
    run.finish(record, timeline, sample.verdict, results)
    assert msgspec.json.decode(run.results.read_bytes())["exit_code"] == 1
    assert ET.fromstring(run.junit.read_bytes()).tag == "testsuites"
    assert run.summary.read_text().startswith("# ✘")
    assert run.report.read_text().startswith("<!DOCTYPE html>")
    assert {path.name for path in run.path.iterdir()} == {
        *("test.json", "history.jsonl", "results.json", "junit.xml", "summary.md", "report.html"),
        *("nodes", "clients"),
    }


def test_a_file_that_cannot_be_written_is_named(tmp_path, make_sample):
    sample = make_sample(seconds=5)
    run = create(tmp_path, "lock", NOW)
    run.report.mkdir()
    results = results_document(run.path, sample.record, sample.timeline, sample.verdict)
    with pytest.raises(StoreError, match="a directory stands") as error:
        run.finish(sample.record, sample.timeline, sample.verdict, results)
    assert error.value.path == run.report
    assert run.results.exists()
