"""Swarm runs: what they draw from, what is recorded, and that the command repeats them."""

import json
import shlex

import pytest

import rumpus
from rumpus.command_line import main
from rumpus.harness.docker.probe import CAPABILITIES
from rumpus.harness.ensemble import Availability
from rumpus.nemesis.registry import FAULTS, SOUND
from rumpus.nemesis.swarm import PROFILES
from rumpus.runs.performing import _sound_here

SECONDS = "4"

STUCK = {"deadlock", "stuck-waiter"}


def run(runs, *words):
    """Perform a run; its exit code, its record and its results."""
    code = main(["run", "lock", "--ensemble", "sim", *words, "--runs", str(runs)])
    latest = runs / "latest"
    return code, *(json.loads((latest / f"{n}.json").read_text()) for n in ("test", "results"))


def broken(ran):
    """The anomalies that broke a promise."""
    _, _, results = ran
    return {each["kind"] for each in results["anomalies"] if each["promised"]}


@pytest.fixture(scope="module")
def swarmed(tmp_path_factory):
    runs = tmp_path_factory.mktemp("swarm")
    return run(runs, "--swarm", "--seed", "11", "--time-limit", SECONDS), runs


def test_the_record_says_what_was_drawn(swarmed):
    (code, record, results), runs = swarmed
    assert code in (0, 3), results["reasons"]
    assert record["options"]["swarm"] == "normal"
    assert record["options"]["usage"]
    assert record["options"]["directed"]
    assert record["plan"] == json.loads((runs / "latest" / "plan.json").read_text())
    assert record["plan"]["punctual"]
    assert 2 <= record["clients"] <= 7
    assert {requirement["name"] for requirement in results["requirements"]} >= {
        "a fault in force, with operations inside, and healed"
    }


def test_the_terminal_and_the_results_tell_how_available_all_was(swarmed, capsys):
    (_, record, results), runs = swarmed
    found = results["measures"]["availability"]
    assert 0 <= found["quorum"] <= 1
    assert len(found["clients"]) == record["clients"]
    assert main(["check", str(runs / "latest")]) in (0, 3)
    told = "".join(capsys.readouterr())
    assert f"available:  quorum {found['quorum']:.0%}".replace("%", " %") in told


def test_the_command_that_is_told_repeats_the_run(swarmed, tmp_path, capsys):
    (_, record, _), runs = swarmed
    assert main(["check", str(runs / "latest")]) in (0, 3)
    told = "".join(capsys.readouterr())
    again = next(line for line in told.splitlines() if line.startswith("again:"))
    words = shlex.split(again.removeprefix("again:"))
    assert words[:4] == ["rumpus", "run", "lock", "--ensemble"]
    del words[words.index("--runs") : words.index("--runs") + 2]
    assert main([*words[1:], "--runs", str(tmp_path)]) in (0, 3)
    repeated = json.loads((tmp_path / "latest" / "test.json").read_text())
    assert repeated["digest"] == record["digest"]


def test_its_parts_repeat_it_too(swarmed, tmp_path):
    """Plan, usage and numbers given by hand are the same run, for whoever changes one of them."""
    (_, record, _), runs = swarmed
    plan = tmp_path / "plan.json"
    plan.write_bytes((runs / "latest" / "plan.json").read_bytes())
    options = record["options"]
    words = ["--plan", str(plan), "--usage", options["usage"], "--seed", "11"]
    words += ["--nodes", str(record["nodes"]), "--clients", str(record["clients"])]
    words += ["--session-timeout", str(record["session_timeout"]), "--time-limit", SECONDS]
    words += ["--preemption", options["preemption"]]
    _, repeated, _ = run(tmp_path / "runs", *words)
    assert repeated["digest"] == record["digest"]


def test_in_python_it_is_the_same(swarmed, tmp_path):
    (_, record, _), _ = swarmed
    result = rumpus.run("lock", swarm="normal", seed=11, time_limit=float(SECONDS), runs=tmp_path)
    assert result.runs[0].digest == record["digest"]
    assert "--swarm normal" in result.command


def test_a_mistake_that_needs_a_usage_shows_with_it_only(tmp_path):
    """One object that is used again finds its own node; a new one waits behind it for ever."""
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "entries": []}))
    words = ["--recipe", "tests.rumpus.runs.forgetful_lock:ForgetfulLock", "--plan", str(plan)]
    words += ["--seed", "1", "--time-limit", "6", "--clients", "3"]
    assert not broken(run(tmp_path / "usual", *words)) & STUCK
    assert broken(run(tmp_path / "fresh", *words, "--usage", "fresh=true")) & STUCK


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ["--swarm", "mild"],
            "--swarm: there is no 'mild'; there are light, normal, brutal",
        ),
        (["--usage", "hurry=1"], "unknown usage 'hurry'"),
        (["--swarm", "--time-limit", "0.5"], "leave no time for faults"),
    ],
)
def test_what_cannot_be_is_refused(words, why, tmp_path, capsys):
    command = ["run", "lock", "--ensemble", "sim", *words, "--runs", str(tmp_path)]
    try:
        code = main(command)
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert why in "".join(capsys.readouterr())


def test_an_unknown_profile_is_refused_in_python(tmp_path):
    with pytest.raises(rumpus.UsageError, match=f"there are {', '.join(PROFILES)}"):
        rumpus.run("lock", swarm="mild", runs=tmp_path)


@pytest.mark.parametrize(
    ("system", "lacking", "drawn", "not_drawn"),
    [
        ("zookeeper", (), {"kill", "follower-lag", "power-off", "client-request"}, {"clock-skew"}),
        ("zookeeper", ("delay",), {"kill", "power-off"}, {"follower-lag"}),
        ("redis-sentinel", (), {"kill", "pause"}, {"follower-lag", "power-off", "client-request"}),
        ("zookeeper", CAPABILITIES, set(), set(FAULTS)),
    ],
)
def test_on_real_servers_a_swarm_draws_from_what_the_host_allows(
    monkeypatch, system, lacking, drawn, not_drawn
):
    found = {each: Availability(each not in lacking) for each in CAPABILITIES}
    monkeypatch.setattr("rumpus.harness.docker.ensemble.probe_engine", lambda: found)
    kinds = {*_sound_here(system)}
    assert drawn <= kinds <= {*SOUND} - not_drawn
