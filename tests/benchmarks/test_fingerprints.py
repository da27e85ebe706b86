"""Failures whose cause is known: the set that is kept, and how it is measured."""

import re
from hashlib import sha256

import msgspec
import pytest

from benchmarks.failures import NO_CAUSE, Line, Program, Shown, programs, read, run_of
from benchmarks.fingerprints import KEPT, Counts, Labelled, counted, is_held_out, labelled
from rumpus.campaigns.tasks import attempt
from rumpus.results.likeness import SIGNS
from rumpus.results.traits import Traits

PROGRAM = Program(
    cause="lock/forgets",
    what="recipe",
    base="lock / fair",
    settings={"workload": "lock", "recipe": "forgets"},
)
LINE = Line(program=PROGRAM, seed=3, shown=(Shown(number=1, traits=(Traits(kind="deadlock"),)),))


def failure(cause, run, kind="deadlock"):
    return Labelled(cause, "lock", "lock / fair", run, (), Traits(kind=kind))


def test_a_set_is_read_up_to_the_line_that_was_being_written(tmp_path):
    whole = msgspec.json.encode(LINE) + b"\n"
    file = tmp_path / "set.jsonl"
    file.write_bytes(whole + whole[:50])
    assert read(file) == [LINE]
    assert read(tmp_path / "none.jsonl") == []


def test_each_program_has_one_flaw_and_a_sound_base():
    every = list(programs())
    assert len({each.cause for each in every if not each.cause.startswith(NO_CAUSE)}) >= 60
    assert {each.what for each in every} == {"recipe", "servers", "library"}
    for each in every:
        family, _, recipe = each.base.partition(" / ")
        assert family == each.family
        assert (recipe == each.settings["recipe"]) == (each.what != "recipe")


def test_a_third_of_the_causes_is_held_out_whatever_their_family():
    names = [f"cause-{number}" for number in range(900)]
    assert 250 < sum(is_held_out(f"lock/{name}") for name in names) < 350
    assert all(is_held_out(f"lock/{name}") == is_held_out(f"queue/{name}") for name in names)


def test_pairs_of_one_run_do_not_count():
    failures = [
        failure("a", "run 1"),
        failure("a", "run 1"),
        failure("a", "run 2"),
        failure("b", "run 3"),
    ]
    assert counted(failures, [0, 0, 0, 0]) == Counts(one=2, wrongly_one=3, wrongly_apart=0)
    assert counted(failures, [0, 0, 1, 2]) == Counts(one=0, wrongly_one=0, wrongly_apart=2)
    assert Counts(one=3, wrongly_one=1, wrongly_apart=3).precision == 0.75
    assert Counts(one=3, wrongly_one=1, wrongly_apart=3).recall == 0.5


@pytest.mark.parametrize("held_out", [False, True])
def test_nothing_that_is_compared_names_a_mutants_files(held_out):
    for each in labelled(read(KEPT), held_out=held_out):
        told = " ".join(word for sign in SIGNS.values() for word in sign.words(each.traits))
        assert not re.search(r"faulty_|published_|\.py:", told), each.run


def test_a_run_of_the_set_can_be_performed_again():
    """Settings, seed and number of a short run are enough."""
    lines = [line for line in read(KEPT) if line.program.what == "recipe" and line.shown]
    line = min(lines, key=lambda each: sha256(str(each.key).encode()).digest())
    again = attempt(run_of(line, line.shown[0])).performed()
    kinds = {seen.fingerprint.kind for seen in again.seen if seen.promised}
    assert kinds & {traits.kind for traits in line.shown[0].traits}
