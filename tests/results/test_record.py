from datetime import UTC, datetime

import msgspec
import pytest

from rumpus.recipes.promises import Line, Promises
from rumpus.results.record import ClockAnchor, RunRecord, read_record, write_record
from rumpus.results.store_error import StoreError, UnreadableRun


@pytest.fixture
def record():
    return RunRecord(
        run="r1",
        rumpus="0.1.0",
        started=datetime(2026, 11, 21, 3, 47, 26, 123000, tzinfo=UTC),
        argv=["rumpus", "run", "lock"],
        workload="lock",
        recipe="fair",
        promises=Promises(prevents=frozenset({"split-brain", "herd"}), wakeups=1, tokens=True),
        line=Line("sequential", "/rumpus/lock", "__lock__"),
        ensemble="docker",
        nodes=3,
        clients=5,
        time_limit=30,
        nemesis=["kill", "pause"],
        nemesis_interval=10,
        plan=[{"at": 3.5, "kind": "kill", "targets": ["n1"]}],
        seed=7,
        session_timeout=4,
        tick_ms=500,
        clock_anchors=[ClockAnchor(1_000, 1_700_000), ClockAnchor(9_000, 1_708_500)],
    )


def test_reads_back_what_was_written(tmp_path, record):
    path = tmp_path / "test.json"
    write_record(path, record)
    assert read_record(path) == record
    assert [entry.name for entry in tmp_path.iterdir()] == ["test.json"]


def test_on_disk_it_is_plain_json_with_a_version_and_utc_time(tmp_path, record):
    path = tmp_path / "test.json"
    write_record(path, record)
    document = msgspec.json.decode(path.read_bytes())
    assert document["format"] == 1
    assert document["started"] == "2026-11-21T03:47:26.123000Z"
    assert document["promises"]["prevents"] == ["herd", "split-brain"]
    assert document["line"] == {
        "kind": "sequential",
        "path": "/rumpus/lock",
        "mark": "__lock__",
        "shared": "",
    }


def test_its_anchors_lay_server_times_on_the_monotonic_clock(record):
    record.clock_anchors = [ClockAnchor(0, 1_000_000_000), ClockAnchor(4_000_000, 1_005_000_000)]
    assert record.wall_clock().monotonic(1_005) == 4_000_000
    record.clock_anchors = []
    with pytest.raises(ValueError, match="no reading of the clocks"):
        record.wall_clock()


def test_the_command_line_spells_out_the_seed_and_quotes(record):
    record.argv = ["/opt/venv/bin/rumpus", "run", "lock", "--runs", "my runs"]
    assert record.command_line() == "rumpus run lock --runs 'my runs' --seed 7"
    record.argv = ["rumpus", "run", "lock", "--seed=7"]
    assert record.command_line() == "rumpus run lock --seed=7"


def test_the_command_line_of_a_simulated_run_asks_for_the_simulation(record):
    record.ensemble = "sim"
    record.argv = ["rumpus", "run", "lock", "--seed=7", "--ensemble", "auto"]
    assert record.command_line() == "rumpus run lock --seed=7 --ensemble auto --ensemble sim"
    record.argv = ["rumpus", "run", "lock", "--seed=7", "--ensemble", "sim"]
    assert record.command_line() == "rumpus run lock --seed=7 --ensemble sim"
    record.argv = ["rumpus", "run", "lock", "--ensemble=sim", "--seed=7"]
    assert record.command_line() == "rumpus run lock --ensemble=sim --seed=7"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ([], ["--preemption", "lines"]),
        (["--preemption", "auto"], ["--preemption", "auto", "--preemption", "lines"]),
        (["--preemption=lines"], ["--preemption=lines"]),
    ],
)
def test_the_command_line_of_a_simulated_run_names_its_schedule(record, asked, told):
    record.ensemble = "sim"
    record.options = {"preemption": "lines"}
    record.argv = ["rumpus", "run", "lock", "--seed=7", "--ensemble=sim", *asked]
    expected = ["rumpus", "run", "lock", "--seed=7", "--ensemble=sim", *told]
    assert record.command_line() == " ".join(expected)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not a run's description"),
        (b"\xff\xfe", "not a run's description"),
        (b"[" * 100_000, "not a run's description"),
        (b'{"format": 1}', "missing required field"),
        (b'{"format": 2}', "newer rumpus"),
        (b'{"format": "1"}', r"\$.format"),
    ],
)
def test_a_malformed_record_names_the_file_and_the_remedy(tmp_path, content, says):
    path = tmp_path / "test.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableRun, match=says) as error:
        read_record(path)
    assert str(path) in str(error.value)
    assert error.value.exit_code == 2


def test_a_missing_record_is_an_unreadable_run(tmp_path):
    with pytest.raises(UnreadableRun, match="check that the path exists"):
        read_record(tmp_path / "test.json")


def test_a_full_disk_names_the_path_and_the_remedy(tmp_path, record, monkeypatch):
    def no_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rumpus.results.atomic_file._write_draft", no_space)
    with pytest.raises(StoreError, match="free some space") as error:
        write_record(tmp_path / "test.json", record)
    assert error.value.path == tmp_path / "test.json"
    assert error.value.exit_code == 4
