"""Servers that broke a promise are not made whole by what is taken from the record of the wire."""

import shutil

import pytest

from rumpus.command_line import main
from rumpus.results.run_directory import RunDirectory
from rumpus.results.store_error import UnreadableRun
from rumpus.runs.judging import judge_run


@pytest.fixture(scope="module")
def convicted(tmp_path_factory):
    """A run of servers that ignore the version of a deletion."""
    runs = tmp_path_factory.mktemp("runs")
    words = "run znode --server-mutant unversioned-delete --ensemble sim --seed 1 --time-limit 2"
    assert main([*words.split(), "--nemesis", "none", "--runs", str(runs)]) == 1
    return runs / "latest"


def forge(run, tmp_path, change):
    copy = RunDirectory(shutil.copytree(run.resolve(), tmp_path / "run"))
    lines = copy.wire.read_bytes().splitlines(keepends=True)
    copy.wire.write_bytes(b"".join(change(lines)))
    copy.seal()
    return judge_run(copy).verdict


def test_the_servers_are_convicted(convicted, tmp_path):
    verdict = forge(convicted, tmp_path, list)
    assert (verdict.outcome, verdict.blamed) == ("violation", "servers")
    assert {each.kind for each in verdict.anomalies if each.promised} == {"illegal-change"}


@pytest.mark.parametrize(
    "change",
    [
        lambda _lines: [],
        lambda lines: lines[: len(lines) // 2],
        lambda lines: [each for each in lines if b'"name":"delete"' not in each],
        lambda lines: [each for each in lines if b'"type":"request"' not in each],
    ],
)
def test_what_is_missing_leaves_the_verdict_open(convicted, tmp_path, change):
    verdict = forge(convicted, tmp_path, change)
    assert verdict.outcome == "unknown"
    assert any("are recorded" in reason for reason in verdict.reasons)


def test_a_line_that_is_none_is_refused(convicted, tmp_path):
    with pytest.raises(UnreadableRun, match="line 1 is no record of the wire"):
        forge(convicted, tmp_path, lambda lines: [b"{}\n", *lines])
