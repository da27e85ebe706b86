"""``rumpus bundle``: a zip that has all that is needed, and nothing of the host."""

import getpass
import json
import os
import socket
import zipfile
from pathlib import Path

import msgspec
import pytest

from rumpus.campaigns.case import decode_case, load_case
from rumpus.commands import bundle_command
from rumpus.nights.memory.store import DEFAULT, Store
from rumpus.nights.records import FailureRow
from tests.rumpus.campaigns.conftest import DEADLOCK
from tests.rumpus.commands.refusals import refused

VERSIONS = {"kazoo": "2.11.0", "rumpus": "0.1.0", "python": "3.11.2"}
CASE = msgspec.structs.replace(
    decode_case(DEADLOCK.encode(), "deadlock"),
    versions=VERSIONS,
    story=("c0 waits for c1", "c1 waits\x1b for nobody"),
)
ELSEWHERE = msgspec.structs.replace(CASE, settings={**CASE.settings, "ensemble": "docker"})
MODULE = "from kazoo.recipe.lock import Lock\n\n\nclass Own(Lock):\n    pass\n"


@pytest.fixture(autouse=True)
def _host(tmp_path, monkeypatch):
    """A host and a user that can be told from any other word."""
    home = tmp_path / "home-of-zaphod"
    here = home / "secret-project"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LOGNAME", "zaphod")
    monkeypatch.setenv("TOKEN", "hunter2-is-secret")
    monkeypatch.setattr(socket, "gethostname", lambda: "heart-of-gold")


def kept(case):
    row = FailureRow(
        workload="lock", recipe=str(case.settings["recipe"]), fingerprint=case.expects, case=case
    )
    with Store.opened(DEFAULT, write=True) as store:
        store.note_failure(row)
    return row.id


def members(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def private():
    told = [socket.gethostname(), getpass.getuser(), str(Path.home()), str(Path.cwd())]
    return [*told, os.environ["TOKEN"], "zaphod"]


def test_a_bundle_shows_the_failure_and_can_be_performed(rumpus, tmp_path):
    name = kept(CASE)
    answer = rumpus("bundle", name, "--trust", "-o", "it.zip")
    assert (answer.code, answer.out) == (0, f"it.zip: lock / kazoo-bare: {CASE.expects}\n")
    found = members("it.zip")
    assert found.keys() == {
        "case.case.json",
        "story.txt",
        "report.html",
        "versions.txt",
        "README.txt",
    }
    for text in found.values():
        assert not [each for each in private() if each in text]
    assert found["story.txt"].endswith("c0 waits for c1\nc1 waits\\x1b for nobody\n")
    assert found["versions.txt"] == "kazoo==2.11.0\npython==3.11.2\nrumpus==0.1.0\n"
    assert (
        "  pip install kazoo==2.11.0 rumpus==0.1.0\n  rumpus replay case.case.json\n"
        in (found["README.txt"])
    )
    assert "report.html shows the run" in found["README.txt"]
    assert "deadlock" in found["report.html"]
    assert "rumpus replay case.case.json" in found["report.html"]
    case = tmp_path / "unpacked.case.json"
    case.write_text(found["case.case.json"])
    assert load_case(case) == CASE
    replayed = rumpus("replay", case, "--json")
    assert json.loads(replayed.out)["reproduced"] is True


def test_a_bundle_is_the_same_whenever_it_is_made(rumpus):
    name = kept(ELSEWHERE)
    for file in ("a.zip", "b.zip"):
        assert rumpus("bundle", name, "--trust", "-o", file).code == 0
    assert Path("a.zip").read_bytes() == Path("b.zip").read_bytes()


def test_without_a_simulated_run_there_is_no_report_and_it_is_said(rumpus):
    answer = rumpus("bundle", kept(ELSEWHERE), "--trust", "-o", "it.zip", "--json")
    told = json.loads(answer.out)
    assert (answer.code, told["report"]) == (0, False)
    assert "real servers" in told["why_no_report"]
    found = members("it.zip")
    assert "report.html" not in found
    assert "There is no report: its run is on real servers" in found["README.txt"]


def test_a_failure_that_is_gone_has_no_report_and_it_is_said(rumpus):
    gone = msgspec.structs.replace(
        CASE, settings={"workload": "lock", "recipe": "fair", "clients": 2, "time_limit": 1.1}
    )
    answer = rumpus("bundle", kept(gone), "--trust", "-o", "it.zip")
    assert answer.code == 0
    assert "without a report: this version of the software does not show the failure" in answer.out
    assert "report.html" not in members("it.zip")


@pytest.fixture
def own():
    """A case of a recipe of the project's own."""
    Path("shop").mkdir()
    Path("shop/__init__.py").touch()
    Path("shop/locks.py").write_text(MODULE)
    settings = {**ELSEWHERE.settings, "recipe": "shop.locks:Own"}
    return kept(msgspec.structs.replace(ELSEWHERE, settings=settings))


def test_the_module_of_ones_own_recipe_goes_with_it(rumpus, own):
    answer = rumpus("bundle", own, "--trust", "-o", "it.zip")
    assert answer.code == 0
    assert "with the source shop/locks.py" in answer.out
    found = members("it.zip")
    assert found["source/shop/locks.py"] == MODULE
    assert found["source/shop/__init__.py"] == ""
    assert "cd source && rumpus replay ../case.case.json" in found["README.txt"]
    assert rumpus("bundle", own, "--trust", "-o", "it.zip", "--without-source").code == 0
    assert not [name for name in members("it.zip") if name.startswith("source")]


def test_what_is_installed_or_lies_elsewhere_stays_out(rumpus, tmp_path):
    (tmp_path / "other.py").write_text(MODULE)
    Path("linked.py").symlink_to(tmp_path / "other.py")
    for recipe in ("kazoo.recipe.lock:Lock", "linked:Own"):
        settings = {**ELSEWHERE.settings, "recipe": recipe}
        name = kept(msgspec.structs.replace(ELSEWHERE, settings=settings))
        assert rumpus("bundle", name, "--trust", "-o", "it.zip").code == 0
        assert not [name for name in members("it.zip") if name.startswith("source")]


@pytest.mark.parametrize("secret", ["zaphod", "heart-of-gold", "HOME"])
def test_source_that_tells_of_the_host_is_refused(rumpus, own, secret):
    word = os.environ.get(secret, secret)
    Path("shop/locks.py").write_text(f"{MODULE}\nPLACE = 'ssh://{word}/it'\n")
    answer = rumpus("bundle", own, "--trust", "-o", "it.zip")
    assert answer.code == 2
    assert f"shop/locks.py has '{word}' in it" in answer.err
    assert "--without-source" in answer.err
    assert not Path("it.zip").exists()


def test_a_case_that_tells_of_the_host_is_refused(rumpus):
    settings = {**ELSEWHERE.settings, "kazoo": f"{Path.home()}/kazoo"}
    name = kept(msgspec.structs.replace(ELSEWHERE, settings=settings))
    answer = rumpus("bundle", name, "--trust", "-o", "it.zip")
    assert answer.code == 2
    assert "case.case.json has" in answer.err


def test_a_story_that_tells_of_the_host_is_refused(rumpus):
    name = kept(msgspec.structs.replace(ELSEWHERE, story=(f"File {Path.cwd()}/a.py, line 1",)))
    assert "tells of this host" in rumpus("bundle", name, "--trust", "-o", "it.zip").err


def test_a_failure_without_a_case_makes_no_bundle(rumpus):
    row = FailureRow(workload="lock", recipe="fair", fingerprint=CASE.expects)
    with Store.opened(DEFAULT, write=True) as store:
        store.note_failure(row)
    assert "nothing to perform" in refused(rumpus("bundle", row.id, "--trust", "-o", "it.zip"))


def test_names_that_tell_of_nobody_are_not_looked_for(monkeypatch):
    monkeypatch.setenv("LOGNAME", "root")
    monkeypatch.setattr(socket, "gethostname", lambda: "localhost")
    assert {secret for secret, _ in bundle_command.private_words()} == {
        str(Path.home()),
        str(Path.cwd()),
    }
