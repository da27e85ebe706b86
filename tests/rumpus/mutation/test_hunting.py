from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rumpus.mutation.fates import Fate
from rumpus.mutation.hunting import Hunt
from rumpus.mutation.source_mutants import SourceMutant, mutants_of
from rumpus.mutation.targets import Target
from rumpus.mutation.trials import LEAST_LIMIT_S, AsItIs, Piece, Shown, pieces

TEXT = "def acquire(self):\n    self.enter()\n    self.wait()\n    return True\n"

ENTER = "without `self.enter()`"
WAIT = "without `self.wait()`"


def shown(*broken: str, digest: str = "as it is", valid: bool = True, **other: object) -> Shown:
    fields = {
        "broken": frozenset(broken),
        "hazards": frozenset[str](),
        "of_servers": frozenset[str](),
        "valid": frozenset({0} if valid else ()),
        "failed": (),
        "digests": (digest,),
        "runs": 1,
        "cpu_seconds": 1.0,
    }
    return Shown(**{**fields, **other})  # type: ignore[arg-type]  # by name


@dataclass
class FakeSubject:
    """A recipe whose runs show what a test says, by the kind of run."""

    mutated: dict[str, Shown] = field(default_factory=dict)
    usual: dict[str, Shown] = field(default_factory=dict)
    lines: frozenset[tuple[str, int]] = frozenset({("shop.locks", 2), ("shop.locks", 3)})
    name: str = "stock"
    targets: tuple[Target, ...] = (
        Target(name="shop.locks", file=Path("shop/locks.py"), is_package=False),
    )
    performed: list[Piece] = field(default_factory=list)

    def perform(self, piece: Piece, patch: Path | None = None, limit: float = 0.0) -> Shown:
        assert patch is not None
        assert limit == LEAST_LIMIT_S
        assert patch.read_text().startswith("--- a/shop/locks.py")
        self.performed.append(piece)
        return self.mutated.get(piece.kind, shown(digest="another"))

    def as_it_is(self, piece: Piece) -> AsItIs:
        return AsItIs(self.usual.get(piece.kind, shown()), self.lines)

    def broken(self) -> Counter[str]:
        return Counter(kind for each in self.usual.values() for kind in each.broken)

    def hazards(self) -> frozenset[str]:
        return frozenset(kind for each in self.usual.values() for kind in each.hazards)


def mutant(words: str = ENTER) -> SourceMutant:
    return next(each for each in mutants_of("shop.locks", TEXT) if each.words == words)


def fate(subject: FakeSubject, tmp_path: Path, words: str = ENTER, budget: float = 6.0) -> Fate:
    return Hunt([subject], tmp_path, budget=budget).fate(mutant(words))  # type: ignore[list-item]


def test_a_broken_promise_kills_and_ends_the_hunt(tmp_path: Path) -> None:
    subject = FakeSubject(mutated={"systematic": shown("split-brain", digest="another")})
    told = fate(subject, tmp_path)
    assert (told.state, told.by, told.kind) == ("killed", ("split-brain",), "systematic")
    assert [piece.kind for piece in subject.performed] == ["usual", "systematic"]
    assert told.runs == 2
    assert list(tmp_path.iterdir()) == []


def test_a_promise_that_the_recipe_breaks_anyway_kills_nothing(tmp_path: Path) -> None:
    broken = shown("split-brain", digest="another")
    subject = FakeSubject(
        mutated=dict.fromkeys(("usual", "short"), broken), usual={"swarm": shown("split-brain")}
    )
    assert fate(subject, tmp_path).state == "survived"


def test_a_run_that_cannot_be_performed_kills_if_it_can_be_without_the_mistake(
    tmp_path: Path,
) -> None:
    cannot = shown(failed=("AttributeError: no _turn\nmore",))
    told = fate(FakeSubject(mutated={"usual": cannot}), tmp_path)
    assert (told.state, told.by) == ("killed", ("no run: AttributeError: no _turn",))
    neither = FakeSubject(mutated={"usual": cannot}, usual={"usual": cannot})
    assert fate(neither, tmp_path).state == "survived"


def test_too_little_that_happens_is_noticed_and_the_hunt_goes_on(tmp_path: Path) -> None:
    little = shown(digest="another", valid=False)
    subject = FakeSubject(mutated={"usual": little})
    told = fate(subject, tmp_path)
    assert (told.state, told.kind) == ("noticed", "usual")
    assert len(subject.performed) > 1
    short = FakeSubject(mutated={"short": little})  # short runs are mostly too short for a verdict
    assert fate(short, tmp_path).state == "survived"


def test_a_line_that_is_not_reached_is_not_run(tmp_path: Path) -> None:
    subject = FakeSubject(lines=frozenset({("shop.locks", 2)}))
    assert fate(subject, tmp_path, WAIT).state == "unreached"
    assert subject.performed == []


def test_a_mutant_without_a_run_that_differs_is_given_up_after_a_round(tmp_path: Path) -> None:
    subject = FakeSubject(mutated=dict.fromkeys(("usual", "systematic", "short", "swarm"), shown()))
    assert fate(subject, tmp_path, budget=100.0).state == "same"
    assert len(subject.performed) == 4


def test_a_hunt_ends_with_its_budget(tmp_path: Path) -> None:
    subject = FakeSubject()
    told = fate(subject, tmp_path, budget=6.0)
    assert (told.state, told.runs, told.cpu_seconds, told.budget) == ("survived", 6, 6.0, 6.0)


def test_what_has_killed_a_neighbour_is_tried_first(tmp_path: Path) -> None:
    subject = FakeSubject(mutated={"short": shown("split-brain", digest="another")})
    hunt = Hunt([subject], tmp_path, budget=6.0)  # type: ignore[list-item]  # a double
    hunt.fate(mutant(ENTER))
    subject.performed.clear()
    hunt.fate(mutant(WAIT))
    assert [piece.kind for piece in subject.performed] == ["short"]


def test_servers_that_are_blamed_for_a_recipe_are_told(tmp_path: Path) -> None:
    blamed = shown(digest="another", of_servers=frozenset({"lost-write"}))
    told = fate(FakeSubject(mutated={"usual": blamed}), tmp_path)
    assert told.servers_blamed
    assert told.state == "survived"


def test_what_the_recipe_does_not_promise_to_prevent_is_told_and_kills_nothing(
    tmp_path: Path,
) -> None:
    late = shown(digest="another", hazards=frozenset({"overdue-call", "herd"}))
    usual = shown(hazards=frozenset({"herd"}))
    subject = FakeSubject(mutated={"usual": late}, usual={"usual": usual})
    told = fate(subject, tmp_path)
    assert (told.state, told.hazards) == ("survived", ("overdue-call",))


def test_fates_are_noted_as_they_come(tmp_path: Path) -> None:
    noted: list[Fate] = []
    hunt = Hunt([FakeSubject()], tmp_path, budget=1.0)  # type: ignore[list-item]  # a double
    hunt.hunt([mutant(ENTER), mutant(WAIT)], noted.append, 2)
    assert {each.words for each in noted} == {ENTER, WAIT}


@pytest.mark.parametrize("first", [0, 8])
def test_each_round_has_runs_of_each_kind(first: int) -> None:
    some = [piece for piece, _ in zip(pieces(first), range(8), strict=False)]
    assert Counter(each.kind for each in some) == dict.fromkeys(
        ("usual", "swarm", "short", "systematic"), 2
    )
    assert {each.seed for each in some} == set(range(first, first + 8))
