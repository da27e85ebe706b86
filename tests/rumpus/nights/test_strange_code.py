"""A night imports nothing that only a store or a case names; it says what it has left out."""

import json

import msgspec
import pytest

from rumpus.campaigns.case import decode_case
from rumpus.command_line import main
from rumpus.commands import nightly_command
from rumpus.nights.memory.store import DEFAULT, Store
from rumpus.nights.night_file import Canaries, Job, NightFile
from rumpus.nights.records import FailureRow, NightRow, RunRow
from rumpus.results.fingerprint import Fingerprint
from rumpus.trust import trusted_places
from tests.rumpus.campaigns.conftest import DEADLOCK
from tests.rumpus.test_trust import EVIL
from tests.sampling import one_in, sampled

SOUND = msgspec.structs.replace(
    decode_case(DEADLOCK.encode(), "deadlock"),
    settings={"workload": "lock", "recipe": "fair", "clients": 2, "time_limit": 1.1},
)
OWN = """
[canaries]
share = 0

[[jobs]]
workloads = ["lock"]
recipes = ["{}"]
kinds = ["usual"]
options = {{ time-limit = 2, nemesis = ["client-pause"] }}
"""
SMALL = {"time-limit": 2, "nemesis": ["client-pause"]}
USUAL = Job(workloads=("lock",), recipes=("fair",), kinds=("usual",), options=SMALL)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with a stranger's module, and a directory with a changed kazoo."""
    place = tmp_path / "here"
    place.mkdir()
    (place / "evil_lock.py").write_text(EVIL)
    (place / "evil.diff").write_text("--- a/kazoo/client.py\n")
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(place))
    return place


def ran(here):
    return (here / "it-ran").exists()


def evil(**settings):
    settings = {"recipe": "evil_lock:Lock"} | settings
    return msgspec.structs.replace(SOUND, settings=SOUND.settings | settings)


def store_of(*, jobs=(), cases=()):
    """A store that a stranger has made: of a night that was ended early, and of failures."""
    with Store.opened(DEFAULT, write=True) as store:
        file = NightFile(jobs=tuple(jobs), canaries=Canaries(share=0))
        asked = {"file": msgspec.to_builtins(file), "path": "nightly.toml", "notes": []}
        store.begin_night(NightRow(name="2026-11-01", began=0.0, interrupted=True, asked=asked))
        for case in cases:
            row = FailureRow(
                workload="lock", recipe="fair", fingerprint=case.expects, case=case,
                first_night="2026-11-01", last_night="2026-11-01",
            )  # fmt: skip
            store.note_failure(row)


def night(capsys, *words, budget="1"):
    """The exit code of a night, and its document."""
    code = main(["nightly", "--budget", budget, "--jobs", "1", "--json", *words])
    return code, json.loads(capsys.readouterr().out)


def troubles(document):
    return [each["what"] for each in document["troubles"]]


SUBJECT = 'lock / fair, sim, nemesis=["client-pause"], time-limit=2'
CODE = [{}, {"recipe": "fair", "kazoo": "+evil.diff"}]
JOBS = [
    {"recipes": ("evil_lock:Lock",)},
    {"workloads": ("evil_lock:Load",), "recipes": "built-in"},
    {"options": SMALL | {"nemesis": ["evil_lock:Fault"]}},
    {"kazoo": ("+evil.diff",)},
    {"options": SMALL | {"kazoo": "+evil.diff"}},
]


@sampled("job", JOBS, of=3, ids=str)
def test_a_night_goes_on_without_the_jobs_whose_code_only_the_store_names(here, capsys, job):
    store_of(jobs=[msgspec.structs.replace(USUAL, **job), USUAL])
    code, told = night(capsys, "--resume")
    assert code == 2, told["headline"]
    assert len(troubles(told)) == 1, troubles(told)
    (what,) = troubles(told)
    assert what.startswith("jobs[0] of the night 2026-11-01 is left out: runs/nights.sqlite names")
    assert "(rumpus nightly FILE --resume)" in what
    assert "evil" in what
    assert {run["subject"] for run in told["runs"]} == {SUBJECT}
    assert len(told["night"]["asked"]["file"]["jobs"]) == 2, "it can go on with them once trusted"
    assert not ran(here)
    assert trusted_places() == []


def test_a_night_goes_on_with_code_that_the_users_own_file_names(here, capsys):
    (here / "nightly.toml").write_text(OWN.format("evil_lock:Lock"))
    store_of(jobs=[msgspec.structs.replace(USUAL, recipes=("evil_lock:Lock",))])
    code, told = night(capsys, "--resume")
    assert (troubles(told), code) == ([], told["exit_code"])
    assert ran(here)


@one_in(2)
def test_a_night_goes_on_with_code_that_was_trusted_once(here, capsys):
    assert not ran(here)
    assert main(["run", "lock", "--recipe", "evil_lock:Lock", "--ensemble", "sim",
                 "--time-limit", "1", "--nemesis", "none"]) in (0, 1, 3)  # fmt: skip
    capsys.readouterr()
    store_of(jobs=[msgspec.structs.replace(USUAL, recipes=("evil_lock:Lock",))])
    assert troubles(night(capsys, "--resume")[1]) == []


@pytest.mark.parametrize("settings", CODE)
def test_a_failure_of_the_store_is_not_performed_again_with_strange_code(here, capsys, settings):
    (here / "nightly.toml").write_text(OWN.format("fair"))
    store_of(cases=[evil(**settings)])
    code, told = night(capsys)
    assert code == 2, told["headline"]
    (what,) = troubles(told)
    assert "was not performed again: runs/nights.sqlite names code" in what
    assert {run["kind"] for run in told["runs"]} != {"case"}
    assert not ran(here)
    assert trusted_places() == []


@pytest.mark.parametrize("settings", CODE)
def test_a_kept_case_with_strange_code_is_told_and_the_others_are_performed(here, capsys, settings):
    (here / "nightly.toml").write_text("[canaries]\nshare = 0\n")
    for name, case in (("evil", evil(**settings)), ("sound", SOUND)):
        path = here / "cases" / f"{name}.case.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(case.to_json())
    code, told = night(capsys)
    assert code == 2, told["headline"]
    states = {each["name"]: each["state"] for each in told["cases"]}
    assert states.pop("evil") == "unperformed"
    assert states["sound"] in ("mended", "undecided")
    (what,) = troubles(told)
    assert what.startswith("case evil: cases/evil.case.json names code that is not imported")
    assert "rumpus replay cases/evil.case.json --trust" in what
    assert not ran(here)
    assert trusted_places() == []


def test_a_kept_case_of_what_the_nights_file_names_is_performed(here, capsys):
    (here / "nightly.toml").write_text(OWN.format("evil_lock:Lock"))
    path = here / "cases" / "mine.case.json"
    path.parent.mkdir()
    path.write_bytes(evil().to_json())
    _, told = night(capsys)
    assert troubles(told) == []
    assert [each["name"] for each in told["cases"]] == ["mine"]


class Base:
    """A change that touches all, and what is asked of its base."""

    base = "1234567"

    def __init__(self, *_):
        Base.asked = []

    def of(self, plan, _):
        return plan

    def without(self, cases, *_):
        Base.asked += cases
        return frozenset()


def test_a_failure_with_strange_code_is_not_performed_at_the_base_of_a_change(
    here, capsys, monkeypatch
):
    """There a replay trusts the code: it is another commit of the user's own."""
    monkeypatch.setattr(nightly_command, "Change", Base)
    (here / "nightly.toml").write_text(OWN.format("fair"))
    known = [evil(), msgspec.structs.replace(SOUND, expects=Fingerprint(kind="double-grant"))]
    store_of(jobs=[USUAL], cases=known)
    with Store.opened(DEFAULT, write=True) as store:
        failures = tuple(row.id for row in store.failures())
        run = RunRow(role="run", subject="lock / fair, sim", failures=failures)
        store.note_run("2026-11-01", run)
    _, told = night(capsys, "--resume", "--changed")
    assert len(troubles(told)) == 1
    assert [case.settings["recipe"] for _, case in Base.asked] == ["fair"]
    assert not ran(here)


def test_modules_that_lie_where_those_of_canaries_will_are_not_imported(here, capsys):
    """kazoo imports ``puresasl`` if it is there."""
    store_of(jobs=[USUAL])
    folder = here / "runs" / "nights" / "2026-11-01" / "canaries"
    folder.mkdir(parents=True)
    (folder / "puresasl.py").write_text(EVIL.replace(".with_name", ".parents[4].joinpath"))
    code, told = night(capsys, "--resume")
    assert code in (0, 1, 3, 5), told["headline"]
    assert not (folder / "puresasl.py").exists()
    assert not ran(here)


def test_a_link_in_the_place_of_a_nights_folder_is_refused(here, tmp_path, capsys):
    store_of(jobs=[USUAL])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "summary.md").write_text("words of mine")
    (here / "runs" / "nights").mkdir(exist_ok=True)
    (here / "runs" / "nights" / "2026-11-01").symlink_to(tmp_path / "mine")
    assert main(["nightly", "--resume", "--budget", "1", "--jobs", "1"]) == 4
    assert "it is a link" in capsys.readouterr().err
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["summary.md"]
    assert (tmp_path / "mine" / "summary.md").read_text() == "words of mine"
