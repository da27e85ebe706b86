"""Options of a run: each is declared once, and holds wherever it can be given."""

import json
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

from rumpus.campaigns.case import decode_case
from rumpus.project_settings import find_settings
from rumpus.runs.option import declared_by
from rumpus.runs.performing import PreparedRun
from rumpus.runs.run_options import TrialOptions
from rumpus.runs.run_settings import OPTIONS, RunSettings, command_line
from rumpus.trial import run
from rumpus.usage_error import UsageError

WRONG = [
    ("nodes", 10, "10 is not from 1 to 9"),
    ("clients", 10**9, "1000000000 is not from 1 to 300"),
    ("clients", 0, "0 is not from 1 to 300"),
    ("session_timeout", 0.5, "0.5 is not from 1 to 10 seconds"),
    ("action_time", 31, "31 is not from 0 to 30 seconds"),
    ("handler", "asyncio", "there is no 'asyncio'; there are threading, gevent, eventlet"),
    ("ensemble", "cloud", "there is no 'cloud'; there are auto, docker, sim"),
    ("usage", "hurry=1", "hurry=1: unknown usage 'hurry'; there are think"),
    ("kazoo", " ", "it is empty"),
]
"""Option, a value that it cannot have, and why not."""


@pytest.mark.parametrize(("name", "value", "why"), WRONG)
class TestTheSameRefusalEverywhere:
    def test_on_the_command_line(self, rumpus, name, value, why):
        flag = OPTIONS[name].flag
        answer = rumpus("run", "lock", flag, value)
        assert answer.code == 2
        assert f"{flag}: {why}" in " ".join(answer.err.split())

    def test_in_a_call(self, name, value, why):
        with pytest.raises(UsageError) as refused:
            run("lock", **{name: value})
        assert str(refused.value).startswith(f"{name}: {why}")

    def test_in_a_project(self, tmp_path, name, value, why):
        key = OPTIONS[name].key
        file = tmp_path / "pyproject.toml"
        file.write_text(f"[tool.rumpus.defaults.lock]\n{key} = {json.dumps(value)}")
        with pytest.raises(UsageError) as refused:
            find_settings(tmp_path)
        assert str(refused.value).startswith(f"{file}: tool.rumpus.defaults.lock.{key}: {why}")

    def test_in_a_case(self, name, value, why):
        case = {
            "settings": {"workload": "lock", name: value},
            "seed": 1,
            "plan": {"version": 1, "entries": []},
            "expects": {"kind": "deadlock", "operations": [], "faults": []},
        }
        with pytest.raises(UsageError) as refused:
            decode_case(json.dumps(case).encode(), "x.case.json")
        assert str(refused.value).startswith(f"x.case.json: not a case: {name}: {why}")

    def test_in_settings_that_a_program_makes(self, name, value, why):
        settings = RunSettings(argv=(), **{"workload": "lock", "ensemble": "sim", name: value})
        with pytest.raises(UsageError) as refused:
            PreparedRun(settings, lambda _: None)
        assert str(refused.value).startswith(f"{OPTIONS[name].flag}: {why}")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"clients": "five"}, "clients: 'five' is not a whole number"),
        ({"clients": True}, "clients: True is not a whole number"),
        ({"time_limit": "soon"}, "time_limit: 'soon' is not a number of seconds"),
        ({"strict": 1}, "strict: 1 is neither true nor false"),
        ({"promises": [3]}, "promises: 3 is no name"),
        ({"nemesis": 3}, "fault 3 is no class and no function"),
        ({"plan": 3}, "plan: 3 is no path"),
        ({"say": "aloud"}, "say: 'aloud' is no function"),
        ({"plan": "a.json", "nemesis": []}, "--plan and --nemesis exclude each other"),
        ({"image": "i", "zookeeper": "3.9"}, "--zookeeper and --image exclude each other"),
    ],
)
def test_a_call_with_something_else_is_refused(given, why):
    with pytest.raises(UsageError) as refused:
        run("lock", **given)
    assert str(refused.value).startswith(why)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ("shop,os", "'os' is of Python's library, which"),
        ("rumpus", "'rumpus' is of rumpus"),
        ("rumpus.harness", "'rumpus.harness' is of rumpus"),
    ],
)
def test_python_and_rumpus_themselves_are_not_loaded_anew(rumpus, tmp_path, names, why):
    answer = rumpus("run", "lock", "--private", names)
    assert answer.code == 2
    assert f"--private: {why}" in " ".join(answer.err.split())
    case = {
        "settings": {"workload": "lock", "private": names},
        "seed": 1,
        "plan": {"version": 1, "entries": []},
        "expects": {"kind": "deadlock", "operations": [], "faults": []},
    }
    with pytest.raises(UsageError, match=f"^x.case.json: not a case: private: {why}"):
        decode_case(json.dumps(case).encode(), "x.case.json")
    (tmp_path / "pyproject.toml").write_text(f"[tool.rumpus]\nprivate = ['{names.split(',')[-1]}']")
    if "." not in names:
        with pytest.raises(UsageError, match=rf"tool\.rumpus\.private: {why}"):
            find_settings(tmp_path)


def test_an_argument_that_there_is_not_is_a_mistake_of_the_program():
    why = r"run\(\) got an unexpected keyword argument 'client'; did you mean clients\?$"
    with pytest.raises(TypeError, match=why):
        run("lock", client=3)


def test_a_text_with_names_is_read_as_on_the_command_line(tmp_path):
    result = run("register", nemesis="none", time_limit=1, runs=tmp_path)
    assert "--nemesis none" in result.command


def test_the_arguments_of_run_are_the_options():
    options = declared_by(TrialOptions)
    parameters = signature(run).parameters
    assert list(parameters) == list(options)
    assert {*OPTIONS} <= {*options}
    for name, option in options.items():
        assert f"\n    {name}: " in run.__doc__
        assert name == "workload" or parameters[name].default == option.default


def test_every_option_is_in_the_command_that_repeats_a_run():
    shown = command_line(
        RunSettings(
            argv=(),
            workload="lock",
            promises=["fifo"],
            nemesis=[],
            plan=Path("plan.json"),
            strict=True,
            clients=3,
            session_timeout=1.5,
        )
    )
    words = "--promise fifo --clients 3 --nemesis none --plan plan.json --session-timeout 1.5"
    assert " ".join(shown) == f"rumpus run lock {words} --strict"


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Where an option is that is declared once more."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.rumpus.runs.new_option", tmp_path_factory.mktemp("new")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_new_option_is_where_options_are_given(told):
    assert "--glow N how brightly the holders glow (default: 2)" in told["help"]
    assert told["project"] == {"glow": 7}
    assert told["case"] == 7
    assert "--glow 7" in told["call"]


def test_a_new_option_has_its_range_where_options_are_given(told):
    why = "10 is not from 1 to 9"
    assert f"--glow: {why}" in told["wrong words"]
    assert told["wrong call"] == f"glow: {why}"
    assert told["wrong project"].endswith(f"pyproject.toml: tool.rumpus.defaults.glow: {why}")
    assert told["wrong case"] == f"x.case.json: not a case: glow: {why}"


def test_a_new_option_is_refused_where_it_does_not_apply(told):
    assert "--glow 7 is for simulated holders: leave it out, or" in told["elsewhere"]


def test_a_new_option_is_kept_and_shrunk(told):
    assert told["record"]["options"]["glow"] == 7
    assert told["case again"] == {"workload": "register", "glow": 7}
    assert 2 in told["shrunk"]


def test_a_new_option_is_in_the_documentation(told):
    assert "`glow`: how brightly the holders glow." in told["page of the API"]
    assert "| `--glow` | `glow` | 1 to 9 | 2 | simulated servers | `glow` |" in told["table"]
    assert "| `--glow N` | how brightly the holders glow (default: 2) |" in told["usage"]
