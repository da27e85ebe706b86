"""What is taken from the record of the wire, or denied by it, leaves the verdict open."""

import json
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


def forged(run, tmp_path, *, wire=None, history=lambda records: records, described=()):
    """The verdict of a copy in which the wire, the history or the description was changed."""
    copy = RunDirectory(shutil.copytree(run.resolve(), tmp_path / "run"))
    if wire is not None:
        lines = copy.wire.read_bytes().splitlines(keepends=True)
        copy.wire.write_bytes(b"".join(wire(lines)))
    records = [json.loads(line) for line in copy.history.read_text().splitlines()]
    records = list(history(records))
    for index, record in enumerate(records):
        record["index"] = index
    copy.history.write_text("".join(json.dumps(record) + "\n" for record in records))
    document = json.loads(copy.record.read_text())
    copy.record.write_text(json.dumps({**document, **dict(described)}))
    copy.seal()
    return copy


def without_counts(records):
    return (r for r in records if (r["process"], r["f"]) != ("link", "wire"))


@pytest.mark.parametrize("left", [None, b""])
def test_a_run_without_a_wire_and_its_counts_is_not_valid(convicted, tmp_path, left):
    copy = forged(convicted, tmp_path, wire=lambda _lines: [], history=without_counts)
    if left is None:
        copy.wire.unlink()
        copy.seal()
    verdict = judge_run(copy).verdict
    assert verdict.outcome == "unknown"
    assert any("the links of c0 was not counted" in reason for reason in verdict.reasons)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A sound run of clients that keep their sessions and get watch events."""
    runs = tmp_path_factory.mktemp("runs")
    words = "run lock --ensemble sim --seed 1 --time-limit 12 --nemesis none"
    assert main([*words.split(), "--runs", str(runs)]) == 0
    return runs / "latest"


def reasons(run):
    verdict = judge_run(run).verdict
    return verdict.outcome, " ".join(verdict.reasons)


def test_what_was_only_copied_is_valid(sound, tmp_path):
    assert reasons(forged(sound, tmp_path, wire=list)) == ("valid", "")


def no_events(lines):
    return (each for each in lines if b'"type":"event"' not in each)


def no_events_counted(records):
    for record in records:
        if (record["process"], record["f"]) == ("link", "wire"):
            record["value"]["events"] = 0
        yield record


def test_events_that_are_missing_are_told(sound, tmp_path):
    outcome, words = reasons(forged(sound, tmp_path, wire=no_events))
    assert outcome == "unknown"
    assert "watch events of c0 had passed on its links, and 0 are recorded" in words


def test_events_that_clients_got_were_sent(sound, tmp_path):
    copy = forged(sound, tmp_path, wire=no_events, history=no_events_counted)
    outcome, words = reasons(copy)
    assert outcome == "unknown"
    assert "but servers sent 0" in words


def test_a_session_timeout_that_no_client_asked_for_is_told(sound, tmp_path):
    def longer(records):
        records[0]["value"]["session_timeout"] = 9.0
        return records

    copy = forged(sound, tmp_path, history=longer, described={"session_timeout": 9.0})
    outcome, words = reasons(copy)
    assert outcome == "unknown"
    assert "the run's session timeout was 9 s, but clients asked for 2 s" in words
    assert words.endswith("but in the servers' logs the clients' sessions have 2 s")


@pytest.mark.parametrize("f", ["suspended", "lost"])
def test_a_connection_that_goes_on_was_not_lost(sound, tmp_path, f):
    def told(records):
        connected = next(
            at for at, r in enumerate(records) if (r["process"], r["f"]) == ("session", "connected")
        )
        later = {**records[connected], "f": f, "time": records[connected]["time"] + 3 * 10**9}
        at = next(at for at, r in enumerate(records) if r["time"] > later["time"])
        return [*records[:at], later, *records[at:]]

    outcome, words = reasons(forged(sound, tmp_path, history=told))
    assert outcome == "unknown"
    assert "lost its connection, but 1, which it had, carried its requests for" in words


def test_a_line_that_is_none_is_refused(convicted, tmp_path):
    with pytest.raises(UnreadableRun, match="line 1 is no record of the wire"):
        forge(convicted, tmp_path, lambda lines: [b"{}\n", *lines])
