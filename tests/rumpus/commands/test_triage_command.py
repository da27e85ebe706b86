"""Failures of a copied kazoo with a flaw, and changes of which one mends it."""

import difflib
import json

import pytest

from rumpus.command_line import main
from tests.copied_kazoo import NO_QUEUE, copied_kazoo
from tests.rumpus.campaigns.conftest import DEADLOCK
from tests.sampling import one_in

LOCK = "kazoo/recipe/lock.py"
TRIAGE = ["triage", "--trust"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def flawed(tmp_path):
    """A directory with a kazoo whose lock everybody has at once."""
    return copied_kazoo(tmp_path / "flawed", **NO_QUEUE)


@pytest.fixture
def case(tmp_path, flawed):
    document = json.loads(DEADLOCK)
    document["settings"] |= {"preemption": "none", "kazoo": str(flawed)}
    document["plan"]["entries"] = []
    document["expects"] = {"kind": "split-brain"}
    path = tmp_path / "it.case.json"
    path.write_text(json.dumps(document))
    return path


def change(flawed, place, old, new):
    """A unified diff that replaces a text in the flawed lock."""
    place.parent.mkdir(exist_ok=True)
    before = (flawed / LOCK).read_text()
    assert before.count(old) == 1
    texts = [text.splitlines(keepends=True) for text in (before, before.replace(old, new))]
    place.write_text("".join(difflib.unified_diff(*texts, f"a/{LOCK}", f"b/{LOCK}")))


@pytest.fixture
def mends(tmp_path, flawed):
    place = tmp_path / "mends"
    sound, none = NO_QUEUE["recipe__lock"]
    change(flawed, place / "queue.diff", none, sound)
    change(flawed, place / "words.diff", "Acquire the semaphore.", "Get the semaphore.")
    return place


@one_in(3)
def test_the_change_that_mends_a_failure_is_its_cause(case, mends, capsys):
    (mends / "misfit.patch").write_text(f"--- a/{LOCK}\n+++ b/{LOCK}\n@@ -1 +1 @@\n-x\n+y\n")
    assert main([*TRIAGE, str(case), "--mends", str(mends), "--jobs", "1", "--json"]) == 1
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    (found,) = group["cases"]
    assert (group["cause"], found["case"], found["state"]) == ("queue", "it", "known")
    (cause,) = found["causes"]
    assert cause["mended"] == {"shown": 0, "runs": 5}
    assert cause["alone"] == cause["unchanged"] == {"shown": 5, "runs": 5}
    assert list(found["errors"]) == ["misfit"]
    assert "does not fit" in found["errors"]["misfit"]


def test_what_no_change_mends_is_told_with_its_looks(case, mends, tmp_path, capsys):
    words = ["--mends", str(mends / "words.diff"), "--jobs", "1"]
    rulings = tmp_path / "rulings.toml"
    assert main([*TRIAGE, str(case), *words]) == 1
    told = capsys.readouterr().out
    assert "1 case: 0 known causes, 1 unknown" in told
    assert "it: it is there with all changes; it is a split-brain" in told
    rulings.write_text('[[apart]]\ncases = ["it"]\nwhy = "seen in the source"\n')
    assert main([*TRIAGE, str(case), *words, "--rulings", str(rulings)]) == 1
    assert "it: apart from others by a ruling: seen in the source" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rulings", "told"),
    [
        ('[[one]]\ncases = ["a"]\n', "`why`"),
        ("[[same]]\n", "unknown field `same`"),
        ("[[", "tables [[one]] and [[apart]] with cases and why"),
    ],
)
def test_rulings_that_are_none_are_refused(case, mends, tmp_path, capsys, rulings, told):
    path = tmp_path / "rulings.toml"
    path.write_text(rulings)
    assert main([*TRIAGE, str(case), "--mends", str(mends), "--rulings", str(path)]) == 2
    assert told in capsys.readouterr().err


def test_two_of_one_name_are_refused(case, mends, tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    for each in (case, mends / "words.diff"):
        (other / each.name).write_bytes(each.read_bytes())
    assert main([*TRIAGE, str(case), str(other / case.name), "--mends", str(mends)]) == 2
    assert "two cases are called it" in capsys.readouterr().err
    assert main([*TRIAGE, str(case), "--mends", str(mends), str(other)]) == 2
    assert "two changes are called words" in capsys.readouterr().err


def test_a_run_that_cannot_be_performed_is_no_green(case, mends, tmp_path, capsys):
    document = json.loads(case.read_text())
    document["settings"]["kazoo"] = str(tmp_path / "gone")
    case.write_text(json.dumps(document))
    assert main([*TRIAGE, str(case), "--mends", str(mends / "words.diff"), "--jobs", "1"]) == 2
    told = capsys.readouterr()
    assert "its own run cannot be performed" in told.out
    assert "gone" in told.err


def test_a_directory_without_changes_is_refused(case, tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main([*TRIAGE, str(case), "--mends", str(empty)]) == 2
    assert "no file with a change" in capsys.readouterr().err
