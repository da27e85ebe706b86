"""Which piece of a night comes next: pure, so that the order can be tested without a night.

In each world: runs that have to be looked at a second time; cases; canaries; what is new or has
changed, what failed last, and what has not run for longest, once each; then all by their weights.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from rumpus.campaigns.pieces import RunKind
from rumpus.checker.verdict import Outcome
from rumpus.nights.canaries import Canary
from rumpus.nights.memory.store_rows import SubjectPast
from rumpus.nights.pieces import Piece, trial_piece
from rumpus.nights.records import Ensemble
from rumpus.nights.subjects import OnTrial

CASES: Final = 0.5
"""The share of the budget that cases may take. What is left of them comes first next time."""

NEAR: Final = 0.1
"""The share that runs near the plans of stale cases may take."""

REAL_SPARE_S: Final = 40.0
"""How much longer than its load a run on real servers may well take: to start and end them."""

MORE: Final = 2
"""So many pieces more a subject gets at first, as long as too little happens in its runs."""

AGAIN: Final = 20
"""Of so many simulated runs one is performed twice."""


def rank(on: OnTrial, past: SubjectPast | None) -> tuple[int, float, str]:
    """The order of subjects: changed or new ones, those that failed last, the longest not run."""
    if past is None or past.source != on.source:
        return 0, float(past is None), on.subject.key
    return (1 if past.failed or past.unperformed else 2), past.last, on.subject.key


@dataclass
class Turn:
    """A subject, and what was done about it this night.

    Attributes:
        on: the subject.
        first: how many pieces it gets before others get their second ones.
        number: how many pieces it has got.
        more: how many of them it got because too little had happened in those before.
        exercised: whether something has happened in one of its runs.
        spent: seconds of its pieces by kind.
    """

    on: OnTrial
    first: int
    number: int = 0
    more: int = 0
    exercised: bool = False
    spent: dict[RunKind, float] = field(default_factory=dict)

    @property
    def cost(self) -> float:
        """What it has had of its share."""
        return sum(self.spent.values()) / self.on.weight

    def note(self, outcome: Outcome) -> None:
        """Note the outcome of one of its runs: if all of them are inconclusive it gets more."""
        self.exercised = self.exercised or outcome != "inconclusive"
        if not self.exercised and self.number >= self.first and self.more < MORE:
            self.more += 1
            self.first += 1

    def piece(self, seed: int) -> Piece:
        """Its next piece, of the kind that has had the least time."""
        kinds = self.on.kinds
        kind = min(kinds, key=lambda each: (self.spent.get(each, 0.0), kinds.index(each)))
        self.spent.setdefault(kind, 0.0)
        self.spent[kind] += 1e-3  # those under way count a little, so that kinds take turns
        self.number += 1
        return trial_piece(self.on, kind, seed)


class Schedule:
    """The pieces of a night, in order.

    Args:
        budget: seconds.
        threads: world -> how many of its pieces are performed at once.
        random: seeds and choices.
        cases: pieces of cases, the most wanted first.
        canaries: known mistakes, likewise.
        canary_share: of the budget, that canaries may take.
        subjects: what is on trial, in order (``rank``), with how often each comes at first.

    Attributes:
        cases_left: how many cases had no turn.
        turns: the subjects.
    """

    def __init__(
        self,
        *,
        budget: float,
        threads: dict[Ensemble, int],
        random: Random,
        cases: Sequence[Piece] = (),
        canaries: Sequence[Canary] = (),
        canary_share: float = 0.0,
        subjects: Sequence[tuple[OnTrial, int]] = (),
    ) -> None:
        self.turns = {on.subject.key: Turn(on, first) for on, first in subjects}
        self.canaries = {each.name: each for each in canaries}
        self.tried: dict[str, int] = {}
        self._order = list(self.turns.values())
        self._budget, self._threads = budget, threads
        self._random = random
        self._cases = {world: deque(p for p in cases if p.world == world) for world in threads}
        self._soon: dict[Ensemble, deque[Piece]] = {world: deque() for world in threads}
        self._later: dict[Ensemble, deque[Iterator[Piece]]] = {world: deque() for world in threads}
        self._canaries = deque(canaries)
        self._canary_share = canary_share
        self._spent: dict[tuple[Ensemble, str], float] = {}
        self._closed: set[Ensemble] = set()
        self._ended = 0

    @property
    def cases_left(self) -> int:
        """How many cases had no turn."""
        again = sum(p.role == p.kind == "case" for soon in self._soon.values() for p in soon)
        return sum(map(len, self._cases.values())) + again

    @property
    def worlds(self) -> Sequence[Ensemble]:
        """Where something can still be performed."""
        return [world for world in self._threads if world not in self._closed]

    def next(self, world: Ensemble, left: float) -> Piece | None:
        """The next piece in a world; None if there is none for now.

        Args:
            world: where there is a place.
            left: seconds until the end of the budget.
        """
        if world in self._closed or left <= 0:
            return None
        if self._soon[world]:
            return self._soon[world].popleft()
        if self._share(world, "case") < CASES and (case := self._next_case(world, left)):
            return case
        if world == "sim" and self._canaries and self._share(world, "canary") < self._canary_share:
            canary = self._canaries.popleft()
            return self._canary(canary)
        near = self._next_near(world)
        return near if near is not None else self._next_turn(world, left)

    def spent(self, piece: Piece, seconds: float) -> None:
        """Note how long a piece took."""
        key = (piece.world, "near" if piece.kind == "near" else piece.role)
        self._spent[key] = self._spent.get(key, 0.0) + seconds
        turn = self.turns.get(piece.subject)
        if piece.role == "run" and turn is not None:
            kind: RunKind = piece.kind  # type: ignore[assignment]  # of a run it is one
            turn.spent[kind] = turn.spent.get(kind, 0.0) + seconds

    def soon(self, piece: Piece) -> None:
        """Have a piece performed next."""
        self._soon[piece.world].append(piece)

    def look_near(self, world: Ensemble, pieces: Iterator[Piece]) -> None:
        """Have runs performed that look for a case's failure; the first round comes between."""
        self._later[world].append(pieces)

    def found_near(self, pieces: Iterator[Piece]) -> None:
        """Look no further for a case's failure."""
        for waiting in self._later.values():
            if pieces in waiting:
                waiting.remove(pieces)

    def missed(self, canary: Canary) -> bool:
        """Whether a canary has been missed as often as chance allows; else it is tried again."""
        if self.tried.get(canary.name, 0) >= canary.tries:
            return True
        self.soon(self._canary(canary))
        return False

    def is_twice(self) -> bool:
        """Whether the next run is to be performed a second time: the first one, then one of 20."""
        self._ended += 1
        return self._ended % AGAIN == 1

    def drop(self, subject: str) -> None:
        """Give a subject no further turn."""
        self._order = [turn for turn in self._order if turn.on.subject.key != subject]

    def has(self, subject: str) -> bool:
        """Whether a subject may have further turns."""
        return any(turn.on.subject.key == subject for turn in self._order)

    def close(self, world: Ensemble) -> None:
        """Perform nothing more there."""
        self._closed.add(world)

    def seed(self) -> int:
        """A fresh seed."""
        return self._random.randrange(2**31)

    def _canary(self, canary: Canary) -> Piece:
        self.tried[canary.name] = self.tried.get(canary.name, 0) + 1
        return canary.piece(self.seed())

    def _share(self, world: Ensemble, role: str) -> float:
        """Which share of the budget a world's pieces of a role have had."""
        return self._spent.get((world, role), 0.0) / (self._budget * self._threads[world])

    def _next_case(self, world: Ensemble, left: float) -> Piece | None:
        """The first case whose run ends in time, as far as that is known before."""
        for case in self._cases[world]:
            if world == "sim" or case.task.settings.time_limit + REAL_SPARE_S <= left:
                self._cases[world].remove(case)
                return case
        return None

    def _next_near(self, world: Ensemble) -> Piece | None:
        while self._later[world] and self._share(world, "near") < NEAR:
            pieces = self._later[world][0]
            self._later[world].rotate(-1)
            piece = next(pieces, None)
            if piece is not None:
                return piece
            self._later[world].remove(pieces)
        return None

    def _next_turn(self, world: Ensemble, left: float) -> Piece | None:
        turns = [
            turn
            for turn in self._order
            if turn.on.subject.world == world and (world == "sim" or longest_s(turn.on) <= left)
        ]
        early = [turn for turn in turns if turn.number < turn.first]
        first = min(early, key=lambda each: each.number, default=None)
        turn = first or min(turns, key=lambda each: each.cost, default=None)
        return None if turn is None else turn.piece(self.seed())


def longest_s(on: OnTrial) -> float:
    """How long a run on real servers may well take, in seconds."""
    return on.settings.time_limit + REAL_SPARE_S
