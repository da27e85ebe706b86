"""A night goes on while its store cannot be written, and tells it; a failed notice is told."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.nights.documents import notifying
from rumpus.nights.documents.joining import load_night
from rumpus.nights.documents.notifying import notify
from rumpus.nights.documents.outputs import write_outputs
from rumpus.nights.keeping import Keeping
from rumpus.results.store_error import StoreError
from tests.rumpus.nights.documents import document


class Flaky:
    """A store that cannot be written for a while."""

    def __init__(self):
        self.full, self.written = False, []

    def write(self, number):
        if self.full:
            raise StoreError(Path("nights.sqlite"), "the disk is full", "free some space")
        self.written.append(number)


def keep(keeping, number):
    keeping.keep(lambda store: store.write(number))


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_nothing_is_lost_and_the_order_is_kept(fulls):
    store = Flaky()
    keeping = Keeping(store)
    for number, store.full in enumerate(fulls):
        keep(keeping, number)
        assert store.written == list(range(len(store.written)))
        if not store.full:
            assert len(store.written) == number + 1
    assert bool(keeping.troubles) == any(fulls)
    if fulls[-1]:
        (trouble,) = keeping.troubles
        assert trouble.runs == len(fulls) - len(store.written)
        assert trouble.kind == "store"
        assert "the disk is full" in trouble.what
    store.full = False
    keep(keeping, len(fulls))
    assert store.written == list(range(len(fulls) + 1))


def test_a_store_that_was_late_is_told():
    store = Flaky()
    keeping = Keeping(store)
    for number, store.full in enumerate([True, False]):
        keep(keeping, number)
    (trouble,) = keeping.troubles
    assert "the store was late: nights.sqlite: the disk is full" in trouble.what


@pytest.fixture
def told(tmp_path):
    """A night whose documents are written, and what a command made of it."""
    made = document()
    write_outputs(made, tmp_path, {})

    def tell(text, *words):
        script = tmp_path / "tell.py"
        script.write_text(text)
        command = " ".join([sys.executable, str(script), *words])
        return notify(command, made, tmp_path)

    return tell


def test_the_command_gets_path_and_text(told, tmp_path):
    after = told(
        "import sys, pathlib\n"
        "assert pathlib.Path(sys.argv[-1]).read_text() == sys.stdin.read() != ''\n"
        f"pathlib.Path({str(tmp_path / 'said')!r}).write_text(repr(sys.argv[1:]))\n",
        "'two words'",
    )
    assert after.night.troubles == ()
    assert (tmp_path / "said").read_text() == repr(["two words", str(tmp_path / "night.json")])


def trouble_of(after, tmp_path):
    """The trouble of a notice that failed, as the documents tell it, too."""
    (trouble,) = after.night.troubles
    assert trouble.kind == "notify"
    assert after.exit_code == 4
    assert load_night(tmp_path / "night.json") == after
    assert after.night.exit_code == 4
    assert "IN TROUBLE" in after.night.headline
    assert "IN TROUBLE" in (tmp_path / "summary.md").read_text()
    return trouble.what


def test_a_command_that_fails_is_trouble(told, tmp_path):
    what = trouble_of(told("import sys\nsys.exit('no route')"), tmp_path)
    assert "ended with 1: no route" in what


def test_a_command_that_takes_too_long_is_trouble(told, tmp_path, monkeypatch):
    monkeypatch.setattr(notifying, "PATIENCE_S", 0.1)
    what = trouble_of(told("import signal\nsignal.pause()"), tmp_path)
    assert "timed out" in what


@pytest.mark.parametrize("command", ["/nonexistent/tell", "", "'unclosed"])
def test_a_command_that_is_none_is_trouble(told, tmp_path, command):
    made = told("")
    assert command in trouble_of(notify(command, made, tmp_path), tmp_path)
