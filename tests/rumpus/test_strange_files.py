"""Files that no run writes, and those that came only in part: told for what they are."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from rumpus.command_line import main
from rumpus.results.run_directory import RunDirectory

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
WORDS = "--ensemble sim --seed 1 --time-limit 6 --nemesis client-pause"
KNOWN = {
    "counter": "counter --recipe adds-one",
    "fence": "lock --recipe look-then-write",
    "lock": "lock",
    "queue": "queue",
}


@pytest.fixture(scope="module")
def performed(tmp_path_factory):
    """A counter that loses what was added, a fence that lets pass, and a sound lock and queue."""
    place = tmp_path_factory.mktemp("runs")
    for name, words in KNOWN.items():
        code = main(["run", *words.split(), *WORDS.split(), "--runs", str(place / name)])
        assert code == (name in ("counter", "fence"))
    return {name: (place / name / "latest").resolve() for name in KNOWN}


@pytest.fixture
def copied(performed, tmp_path):
    return lambda name: RunDirectory(shutil.copytree(performed[name], tmp_path / name))


def outcome(capsys, *words):
    code = main(["check", *map(str, words), "--json"])
    captured = capsys.readouterr()
    assert "defect" not in captured.err
    return code, json.loads(captured.out)


@pytest.mark.parametrize("what", ["enqueue", "release", "connected", "lead"])
def test_a_history_alone_whose_lines_were_lost_accuses_nobody(performed, tmp_path, capsys, what):
    for name in ("lock", "queue"):
        lines = (performed[name] / "history.jsonl").read_text().splitlines(keepends=True)
        left = [line for line in lines if f'"f":"{what}"' not in line]
        (tmp_path / "left.jsonl").write_text("".join(left))
        code, told = outcome(capsys, tmp_path / "left.jsonl", "--believe")
        if len(left) < len(lines):
            assert (code, told["outcome"]) == (3, "unknown")
            assert "missing from the history" in told["reasons"][0]


@pytest.mark.parametrize("shift", [-30 * 10**9, -(10**12), 10**15])
def test_where_the_clock_begins_does_not_matter(performed, tmp_path, capsys, shift):
    for name in ("lock", "counter"):
        told = []
        for by in (0, shift):
            records = map(json.loads, (performed[name] / "history.jsonl").read_text().splitlines())
            lines = [json.dumps({**each, "time": each["time"] + by}) for each in records]
            (tmp_path / "shifted.jsonl").write_text("\n".join(lines) + "\n")
            told.append(outcome(capsys, tmp_path / "shifted.jsonl", "--believe")[1])
        assert told[0]["outcome"] == told[1]["outcome"]
        kinds = [[(each["kind"], each["count"]) for each in one["anomalies"]] for one in told]
        assert kinds[0] == kinds[1]


@pytest.mark.parametrize("writes", ["null", "5", "[3]", '[["a"]]', '"ab"'])
def test_a_value_that_a_check_cannot_read_is_no_defect(copied, capsys, writes):
    run = copied("fence")
    text = run.history.read_text()
    changed, number = re.subn(r'"writes":\[[^"]*?\]\]', f'"writes":{writes}', text)
    assert number
    run.history.write_text(changed)
    run.seal()
    assert outcome(capsys, run.path)[0] in (1, 2, 3)


def test_an_event_that_there_is_not(copied, capsys):
    run = copied("lock")
    wire = run.path / "wire.jsonl"
    wire.write_text(wire.read_text().replace('"what":"deleted"', '"what":"x"'))
    run.seal()
    code, told = outcome(capsys, run.path)
    assert code == 2
    assert "no record of the wire" in told["reasons"][0]


@pytest.mark.parametrize("command", [["shrink"], ["replay"], ["cause"]])
def test_what_a_changed_run_shows_is_not_looked_for(copied, capsys, command):
    run = copied("counter")
    (run.path / "note.txt").touch()
    code = main([*command, str(run.path)])
    assert code == 2
    assert "note.txt has come since" in capsys.readouterr().err
    _, told = outcome(capsys, run.path)
    assert not any("end at 0x0" in reason for reason in told["reasons"])


def test_what_was_performed_again_and_broke_a_promise_is_told(copied, capsys):
    """The promises were taken out of both files that name them."""
    run = copied("counter")
    first, *rest = run.history.read_text().splitlines(keepends=True)
    for record in (
        (test := json.loads(first))["value"],
        told := json.loads(run.record.read_text()),
    ):
        record["promises"]["prevents"] = []
    run.history.write_text("".join([json.dumps(test) + "\n", *rest]))
    run.record.write_text(json.dumps(told))
    run.seal()
    assert outcome(capsys, run.path, "--perform")[0] == 3
    main(["check", str(run.path), "--perform"])
    said = " ".join(capsys.readouterr().err.split())
    assert "but was violation, and unknown by its files" in said


@pytest.mark.parametrize("option", ["--perform", "--believe"])
def test_a_model_judges_operations_and_takes_no_other_evidence(performed, capsys, option):
    assert main(["check", str(performed["counter"]), "--model", "counter", option]) == 2
    assert f"{option} cannot be given with --model" in capsys.readouterr().err


def test_a_mutants_case_that_is_anothers_is_none_of_its(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ours = ROOT / "cases" / "mutants" / "counter"
    folder = tmp_path / "cases" / "counter"
    folder.mkdir(parents=True)
    for each in ours.iterdir():
        shutil.copy(ours / "adds-one.case.json", folder / each.name)
    main(["mutants", "--family", "counter", "--cases", "cases", "--budget", "1", "--shrink", "0"])
    captured = capsys.readouterr()
    kept = [line for line in (captured.out + captured.err).splitlines() if ": kept" in line]
    assert len(kept) == 1
    assert "counter / adds-one: kept" in kept[0]


def test_a_name_that_a_terminal_acts_upon_is_refused(pytester):
    (pytester.path / "a\x1b]0;title\x07.case.json").write_text("{}")
    done = pytester.runpytest("-p", "no:cacheprovider", "-p", "rumpus.pytest_plugin")
    assert done.ret == pytest.ExitCode.INTERRUPTED
    done.stdout.fnmatch_lines(["*x1b]0;title*rename it, its name cannot be printed"])
    assert "\x1b]0;" not in done.stdout.str() + done.stderr.str()


@pytest.mark.parametrize("words", [["--kazoo", "+pipe.diff"], ["--kazoo", "+changes"]])
def test_a_pipe_among_changes_is_refused(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "changes").mkdir()
    for place in ("pipe.diff", "changes/pipe.diff"):
        os.mkfifo(place)
    case = ROOT / "cases" / "mutants" / "counter" / "adds-one.case.json"
    assert main(["replay", str(case), *words]) == 2
    assert "it is a pipe or a device" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["clock-jump", "clock-skew"])
@pytest.mark.parametrize("family", ["lock", "znode"])
def test_a_clock_that_jumps_makes_no_sound_server_a_liar(tmp_path, family, kind):
    """Stats have the times of the leader's clock, right or wrong."""
    words = f"run {family} --ensemble sim --seed 1 --time-limit 6 --nemesis {kind},kill"
    assert main([*words.split(), "--runs", str(tmp_path)]) in (0, 3)


def test_modules_that_nobody_can_read_hold_up_no_search_for_recipes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.py")
    Path("deep.py").write_text("a" + ".a" * 100_000)
    Path("minus.py").write_text("-" * 100_000 + "1")
    assert main(["init", "--nightly", "cron"]) == 2  # there is no recipe
    assert "defect" not in capsys.readouterr().err


def test_a_link_in_the_place_of_the_cases_leads_no_case_elsewhere(performed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    Path("cases").symlink_to(tmp_path / "mine")
    assert main(["shrink", str(performed["counter"]), "--budget", "1"]) == 4
    assert list((tmp_path / "mine").iterdir()) == []
