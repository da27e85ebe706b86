from pathlib import Path

import msgspec
import pytest

from rumpus.mutation.equivalents import NAME, Equivalents
from rumpus.mutation.fates import FateFile, State, fate_of, told_again
from rumpus.mutation.scores import score_of
from rumpus.mutation.source_mutants import SourceMutant, mutants_of
from rumpus.mutation.targets import Target
from rumpus.usage_error import UsageError

KILLED: list[State] = ["killed"] * 3

TEXT = "def held(self) -> bool:\n    self.look()\n    return self._believes\n"


def mutants() -> list[SourceMutant]:
    return mutants_of("shop.locks", TEXT)


def test_fates_are_there_for_the_next_command(tmp_path: Path) -> None:
    first, second, *_ = mutants()
    path = tmp_path / "fates" / "lock.jsonl"
    file = FateFile(path, "basis")
    file.note(fate_of(first, "killed", by=("split-brain",)))
    file.note(fate_of(second, "survived", budget=20.0))
    again = FateFile(path, "basis")
    assert again.fates == file.fates
    assert again.forgotten == 0
    again.note(fate_of(second, "killed", by=("deadlock",)))
    assert FateFile(path, "basis").fates[second.id].state == "killed"


def test_what_a_killed_command_left_half_written_is_not_taken_for_a_fate(tmp_path: Path) -> None:
    first, second, *_ = mutants()
    path = tmp_path / "lock.jsonl"
    file = FateFile(path, "basis")
    file.note(fate_of(first, "killed"))
    with path.open("ab") as tail:
        tail.write(b'{"id":"0123","module":"sho')
    again = FateFile(path, "basis")
    assert list(again.fates) == [first.id]
    again.note(fate_of(second, "killed"))
    assert list(FateFile(path, "basis").fates) == [first.id, second.id]


def test_fates_of_another_basis_are_forgotten_and_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "lock.jsonl"
    FateFile(path, "basis").note(fate_of(mutants()[0], "killed"))
    again = FateFile(path, "another")
    assert (again.forgotten, again.fates) == (1, {})
    assert FateFile(path, "basis").fates == {}


@pytest.mark.parametrize(
    "text",
    [
        b"words\n",
        b'{"a": 1}\n',
        b'{"basis":"basis"}\n{"id":1}\n{}\n',
        b'{"basis":"\xff"}\n',
        b'{"basis":"basis"}\n{"id":"\xff"}\n{}\n',
        b'{"basis":"basis"}\n{"x":' + b"[" * 5000 + b"]" * 5000 + b"}\n{}\n",
    ],
)
def test_another_file_is_refused_and_left_alone(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "lock.jsonl"
    path.write_bytes(text)
    with pytest.raises(UsageError, match=r"lock\.jsonl"):
        FateFile(path, "basis")
    assert path.read_bytes() == text


def test_what_a_file_says_of_a_mutant_itself_does_not_count() -> None:
    one = mutants()[0]
    kept = fate_of(one, "killed", by=("split-brain",))
    changed = msgspec.structs.replace(kept, module="/[link=x:///]", function="f\x1b[2J", line=-1)
    assert told_again(changed, one) == kept


@pytest.mark.parametrize(
    ("state", "spent", "wanted", "holds"),
    [
        ("killed", 1.0, 100.0, True),
        ("unreached", 1.0, 100.0, True),
        ("survived", 20.0, 20.0, True),
        ("survived", 20.0, 30.0, False),
        ("noticed", 20.0, 30.0, False),
    ],
)
def test_a_larger_budget_hunts_again_what_was_not_killed(
    state: State, spent: float, wanted: float, holds: bool
) -> None:
    assert fate_of(mutants()[0], state, budget=spent).holds(wanted) is holds


def test_the_score_is_of_mistakes_that_are_reached() -> None:
    made = mutants()[0]
    others: list[State] = ["noticed", "survived", "same", "unreached", "equivalent"]
    score = score_of([fate_of(made, state) for state in [*KILLED, *others]])
    assert (score.made, score.killed, score.noticed, score.survived) == (8, 3, 1, 2)
    assert score.share is not None
    assert score.share.value == pytest.approx(4 / 6)
    assert score_of([fate_of(made, "unreached")]).share is None


def target(folder: Path) -> Target:
    return Target(name="shop.locks", file=folder / "locks.py", is_package=False)


def equivalents(folder: Path, **other: str) -> Equivalents:
    fields = {
        "module": "shop.locks",
        "function": "held",
        "before": "self.look()",
        "after": "pass",
        "why": "nobody looks",
        **other,
    }
    words = "".join(f"{name} = {value!r}\n" for name, value in fields.items())
    (folder / NAME).write_text(f"[[equivalent]]\n{words}")
    return Equivalents([target(folder)])


def test_a_mutant_that_is_explained_is_no_mistake(tmp_path: Path) -> None:
    known = equivalents(tmp_path)
    assert [each.words for each in mutants() if known.why(each)] == ["without `self.look()`"]
    assert known.outdated(mutants()) == []


def test_an_explanation_of_nothing_is_told(tmp_path: Path) -> None:
    known = equivalents(tmp_path, before="self.listen()")
    assert [each.before for each in known.outdated(mutants())] == ["self.listen()"]


@pytest.mark.parametrize("other", [{"why": " "}, {"whyever": "x"}])
def test_an_explanation_needs_a_reason_and_no_more(tmp_path: Path, other: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"equivalents\.toml"):
        equivalents(tmp_path, **other)
