"""The torture in short; ``make torture`` is the whole of it."""

import pytest

from tests.sampling import one_in
from tests.torture import bad_places, load, troubled_runs
from tests.torture.accidents import ACCIDENTS
from tests.torture.bases import bases
from tests.torture.damaged_runs import accidents
from tests.torture.ended_commands import SIGNALS, ended_command, prepared
from tests.torture.hostile_histories import hostile_histories
from tests.torture.table import Row


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return bases(tmp_path_factory.mktemp("bases"), ["lock", "register"])


def assert_clean(row):
    assert isinstance(row, Row)
    assert row.ways
    assert not row.defects, "\n".join(row.defects[:5])


@one_in(3)
def test_damaged_run_directories(made, tmp_path):
    row = accidents(made, len(ACCIDENTS), tmp_path)
    assert_clean(row)
    assert row.ways["unknown"] > len(ACCIDENTS) // 2


@one_in(4)
def test_damaged_histories(made, tmp_path):
    row = hostile_histories(made, 60, tmp_path)
    assert_clean(row)
    assert row.ways.keys() >= {"exit code 0", "exit code 1", "exit code 2"}


@one_in(2)
def test_full_disks(tmp_path):
    assert_clean(troubled_runs.short_of_disk("sim", tmp_path, sizes=[8_192], disks=[2]))


@one_in(4)
def test_interruptions(tmp_path):
    assert_clean(troubled_runs.interrupted("sim", 3, tmp_path))


@one_in(3)
def test_kills(tmp_path):
    assert_clean(troubled_runs.killed_outright("sim", 1, tmp_path))


@one_in(8)
def test_read_only_places(tmp_path):
    assert_clean(bad_places.read_only(tmp_path, docker=False))


@one_in(4)
def test_clocks_that_step(tmp_path):
    assert_clean(bad_places.stepped_clock("sim", tmp_path))


@one_in(4)
def test_explorations_in_one_process(tmp_path):
    row = load.many_explorations(10, tmp_path / "here", look=lambda _: None)
    assert_clean(row)


@one_in(3)
def test_ends_of_a_command(tmp_path):
    made = prepared(tmp_path / "made")
    assert_clean(ended_command("merge", made, len(SIGNALS), tmp_path / "ended"))
