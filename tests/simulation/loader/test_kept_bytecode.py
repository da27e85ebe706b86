"""Bytecode of modules with ordered sets is kept beside Python's, and used only if it is right."""

import itertools
import marshal
import os
import sys
from importlib.util import cache_from_source

import pytest

from rumpus.simulation.loader import module_code as subject

ORDERED = "LETTERS = [*{'c', 'a', 'b'}]\n"


@pytest.fixture
def program(world, monkeypatch):
    """Writes a module, and loads it as a process of another program would: from the disk."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    return Program(world, monkeypatch)


class Program:
    def __init__(self, world, monkeypatch):
        self._world = world
        self._monkeypatch = monkeypatch
        self._hosts = map("h{}".format, itertools.count())
        self.name = world.write(ORDERED)
        self.file = world.directory / f"{self.name}.py"

    def load(self):
        self._monkeypatch.setattr(subject, "_cache", {})
        return self._world.space(self.name, host=next(self._hosts)).load(self.name)

    def kept(self):
        """The files of bytecode that are ours."""
        own = cache_from_source(str(self.file), optimization=subject._tag())
        return [file for file in (self.file.parent / "__pycache__").glob("*") if str(file) == own]

    def plant(self, source, name=None):
        """Put other code where the module's own is kept; what makes it valid stays."""
        (kept,) = self.kept()
        code = compile(source, name or str(self.file), "exec")
        kept.write_bytes(kept.read_bytes()[:16] + marshal.dumps(code))


def test_it_is_kept_and_taken_from_there(program):
    assert program.kept() == []
    assert program.load().LETTERS == ["c", "a", "b"]
    program.plant("LETTERS = 'planted'")
    assert program.load().LETTERS == "planted"


def test_a_changed_source_file_is_compiled_again(program):
    program.load()
    program.plant("LETTERS = 'planted'")
    program.file.write_text("LETTERS = [*{'x', 'd', 'c', 'a'}]\n")
    assert program.load().LETTERS == ["x", "d", "c", "a"]
    program.plant("LETTERS = 'planted'")
    os.utime(program.file, (1, 1))  # the same size at another time
    assert program.load().LETTERS == ["x", "d", "c", "a"]


@pytest.mark.parametrize("content", [lambda kept: kept[:20], lambda _: b"", lambda kept: kept[16:]])
def test_a_torn_file_is_not_used(program, content):
    program.load()
    (kept,) = program.kept()
    kept.write_bytes(content(kept.read_bytes()))
    assert program.load().LETTERS == ["c", "a", "b"]


def test_bytecode_of_a_file_that_was_moved_is_not_used(program):
    program.load()
    program.plant("LETTERS = 'planted'", name="/elsewhere/program.py")
    assert program.load().LETTERS == ["c", "a", "b"]


def test_nothing_is_written_if_python_may_not_write_bytecode(program, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert program.load().LETTERS == ["c", "a", "b"]
    assert program.kept() == []


def test_where_nothing_can_be_written_it_is_compiled_each_time(program):
    (program.file.parent / "__pycache__").write_text("not a directory")
    assert program.load().LETTERS == ["c", "a", "b"]
    assert program.load().LETTERS == ["c", "a", "b"]


def test_other_rewriting_has_other_files(monkeypatch, tmp_path):
    before = subject._tag()
    changed = tmp_path / "set_literals.py"
    changed.write_text("# something else\n")
    monkeypatch.setattr(subject.set_literals, "__file__", str(changed))
    subject._tag.cache_clear()
    try:
        assert subject._tag() != before
    finally:
        monkeypatch.undo()
        subject._tag.cache_clear()
    assert subject._tag() == before
