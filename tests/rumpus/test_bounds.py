"""Each range is declared once: a value beyond it is refused wherever it can be given, and soon."""

import json
import resource
from contextlib import contextmanager

import msgspec
import pytest

from rumpus.campaigns.case import decode_case
from rumpus.campaigns.merging import Part, campaign, check_parts, load_part, told_of
from rumpus.nemesis.plan import MOST_ENTRIES, PlanError, decode_plan
from rumpus.nights.night_file import night_file_of
from rumpus.nights.subjects import on_trial
from rumpus.option_values import Seconds, Whole
from rumpus.project_names import names_here
from rumpus.project_settings import find_settings
from rumpus.results.store_error import UnreadableRun
from rumpus.runs.judging import judge_run
from rumpus.runs.recorded_settings import settings_of_words
from rumpus.runs.run_settings import OPTIONS, RunSettings, command_line
from rumpus.trial import run
from rumpus.usage_error import UsageError
from tests.rumpus.conftest import turns

RANGED = {
    name: option
    for name, option in OPTIONS.items()
    if isinstance(option.option.values, Whole | Seconds)
}
BEYOND = [
    (name, value)
    for name, option in RANGED.items()
    for value in (
        option.option.values.least - 1,
        option.option.values.most + 1,
        option.option.values.most * 10**9,
    )
]
OF_RECORD = ("nodes", "clients", "time_limit", "session_timeout", "seed")
PLAN = {"version": 1, "entries": []}
EXPECTS = {"kind": "deadlock", "operations": [], "faults": []}


@contextmanager
def little():
    """No more memory than there was but for some megabytes."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 200_000


@pytest.mark.parametrize(("name", "value"), BEYOND)
class TestBeyondARange:
    def refused(self, error, name):
        assert name.replace("_", "-") in str(error.value).replace("_", "-")
        assert "is not from" in str(error.value) or "64 bit" in str(error.value)

    def test_on_the_command_line(self, rumpus, name, value):
        flag = OPTIONS[name].flag
        with little():
            answer = rumpus("run", "lock", f"{flag}={value}")
        assert answer.code == 2
        assert flag in answer.err
        assert "is not from" in " ".join(answer.err.split())

    def test_in_a_call(self, name, value):
        with little(), pytest.raises(UsageError) as error:
            run("lock", **{name: value})
        self.refused(error, name)

    def test_in_a_case(self, name, value):
        settings = {"workload": "lock"}
        seed = 1
        if OPTIONS[name].option.in_case:
            settings[name] = value
        elif name == "seed":
            seed = value
        else:
            pytest.skip("no setting of a case")
        case = {"settings": settings, "seed": seed, "plan": PLAN, "expects": EXPECTS}
        with little(), pytest.raises(UsageError) as error:
            decode_case(json.dumps(case).encode(), "c.json")
        self.refused(error, name)

    def test_in_a_project(self, tmp_path, name, value):
        key = OPTIONS[name].key
        (tmp_path / "pyproject.toml").write_text(f"[tool.rumpus.defaults]\n{key} = {value}")
        with little(), pytest.raises(UsageError) as error:
            find_settings(tmp_path)
        self.refused(error, name)

    def test_in_a_part(self, tmp_path, name, value):
        with little(), pytest.raises(UsageError) as error:
            load_part(part(tmp_path, campaign={**CAMPAIGN, name: value}))
        self.refused(error, name)

    def test_in_the_description_of_a_run(self, recorded_run, name, value):
        if name not in OF_RECORD:
            pytest.skip("it is not in test.json by its name")
        described = recorded_run(turns())
        record = json.loads(described.record.read_text())
        described.record.write_text(json.dumps({**record, name: value}))
        described.seal()
        with little(), pytest.raises(UnreadableRun) as error:
            judge_run(described)
        assert name in str(error.value)

    def test_in_the_file_of_a_night(self, tmp_path, name, value):
        file = night_file_of(
            {"jobs": [{"workloads": ["lock"], "options": {OPTIONS[name].key: value}}]}, "n.toml"
        )
        with little(), pytest.raises(UsageError) as error:
            on_trial(file.jobs, names_here(), tmp_path / "n.toml")
        self.refused(error, name)


@pytest.mark.parametrize("name", RANGED)
def test_the_command_that_is_printed_is_accepted(name):
    values = RANGED[name].option.values
    for value in (values.least, values.most):
        settings = RunSettings(argv=(), workload="lock", ensemble="sim", **{name: value})
        again = settings_of_words(command_line(settings)[1:])
        assert getattr(again, name) == value


CAMPAIGN = campaign(
    RunSettings(argv=(), workload="lock", seed=1),
    plan=None,
    seeds=3,
    profile=None,
    shrink=0,
    known=(),
)


def part(place, **changes):
    whole = {
        "version": 3,
        "index": 0,
        "of": 2,
        "campaign": CAMPAIGN,
        "interrupted": False,
        "runs": 1,
        "short_runs": 0,
        "virtual_seconds": 1.0,
        "cpu_seconds": 1.0,
        "outcomes": {"valid": 1},
        "short_outcomes": {},
        "signatures": [],
        "accepted": 0,
        "failures": [],
        "taken": [],
        "made": [],
        "deaths": [],
        "errors": [],
    }
    path = place / "part.json"
    told = told_of(msgspec.convert(whole, Part))
    path.write_text(json.dumps({**told, "part": {**whole, **changes}}))
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"of": 10**12},
        {"of": 10**30},
        {"index": -1},
        {"runs": -1},
        {"runs": 1 << 60},
        {"virtual_seconds": 1e300},
        {"outcomes": {"valid": -5}},
        {"signatures": [((1 << 61) - 1) * 20]},
    ],
)
def test_parts_beyond_their_bounds(tmp_path, changes):
    with little(), pytest.raises(UsageError) as error:
        load_part(part(tmp_path, **changes))
    assert "part.json" in str(error.value)


def test_of_missing_parts_a_few_are_named(tmp_path):
    path = part(tmp_path, of=1_000_000)
    with little(), pytest.raises(UsageError) as error:
        check_parts({path: load_part(path)})
    assert "1/1000000" in str(error.value)
    assert "and 999,989 more" in str(error.value)


def entry(number, **changes):
    return {
        "id": number,
        "at": 1.0,
        "kind": "client-pause",
        "duration": 1.0,
        "targets": {"names": [f"c{number % 5}"]},
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"at": 1e300}, '"at" is 1e\\+300'),
        ({"at": -1}, '"at" is -1'),
        ({"duration": 1e300}, '"duration" is 1e\\+300'),
        ({"duration": 0}, '"duration" is 0'),
        ({"id": 1 << 53}, "id"),
        ({"kind": "client-request", "options": {"number": 10**10}}, "number"),
        ({"kind": "client-request", "options": {"how": "hold-reply", "hold": 1e300}}, "hold"),
    ],
)
def test_entries_beyond_their_bounds(changes, why):
    plan = {"version": 1, "entries": [entry(1, **changes)]}
    with little(), pytest.raises(PlanError, match=why):
        decode_plan(json.dumps(plan).encode(), nodes=3, clients=5)


def test_plans_with_too_many_faults():
    many = [entry(n, at=2 * n, duration=1) for n in range(MOST_ENTRIES + 1)]
    plan = {"version": 1, "entries": many}
    with little(), pytest.raises(PlanError, match="100,001 faults; there are at most 100,000"):
        decode_plan(json.dumps(plan).encode(), nodes=3, clients=5)


def test_faults_too_many_of_which_are_in_force_at_once():
    many = [
        entry(n, kind="client-request", options={}, duration=9, targets={"role": "one"})
        for n in range(2_000)
    ]
    plan = {"version": 1, "entries": many}
    with pytest.raises(PlanError, match="conflict"):
        decode_plan(json.dumps(plan).encode(), nodes=3, clients=5)


def test_random_plans_that_would_have_too_many_faults(rumpus, tmp_path):
    with little():
        answer = rumpus(
            *("run", "lock", "--ensemble=sim", "--time-limit=10000000", "--nemesis-interval=5"),
            f"--runs={tmp_path}",
        )
    assert answer.code == 2
    assert "use a longer --nemesis-interval" in " ".join(answer.err.split())
    with little():
        answer = rumpus(
            *("run", "lock", "--ensemble=sim", "--time-limit=10000000", "--swarm"),
            f"--runs={tmp_path}",
        )
    assert answer.code == 2
    assert "use a shorter --time-limit" in " ".join(answer.err.split())
