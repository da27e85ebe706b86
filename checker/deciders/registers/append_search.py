"""Appends to one value by the general search, over the texts that some read shows.

**States.** Over `checker.models.append.AppendRegister` there are too many states: k concurrent
appends make k! texts, most of which no read shows. Call a text *live* if it is a prefix of the
result of an acknowledged read of the history, and *dead* otherwise. An append to a dead text gives
a dead text, no read of the history is legal in it, and the state after a put does not depend on the
text before. So all dead texts are equivalent (bisimilar for the operations of the history), and
are one state. There are no more states than characters in the results.

**Unknown outcomes.** A put or append of unknown outcome that makes a dead text is not needed: until
the next put no read follows, and everything else is as legal without it. So it is not legal here,
and what no read can show is left out.

**Witness.** Found by forgetting operations (`checker.deciders.forgetting`), first all but those
near the operation that cannot follow. When a read is forgotten, fewer texts are live: with few
reads left there are few states, though nearly all writes are of unknown outcome then.

**Cost**: exponential in the operations that are open at once, else linear in the total length of
the texts.

Source: the search: `checker.linearizability.windowed_search`.
"""

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from rumpus.checker.deciders.decision import Budget, Decision, refused
from rumpus.checker.deciders.forgetting import forgetting, minimal_witness
from rumpus.checker.deciders.operation_table import FAIL, INFO, OK, OperationTable
from rumpus.checker.deciders.registers.append_eras import (
    APPENDS,
    PUTS,
    READS,
    Undecidable,
    kind_of,
    short,
    told,
)
from rumpus.checker.deciders.values import Ints, freeze
from rumpus.checker.deciders.wording import at
from rumpus.checker.linearizability.explanation import NAMED_STATES
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.append import AppendRegister
from rumpus.checker.models.model import ILLEGAL, UNKNOWN, Model

DEAD = (-1, 0)
"""The state of all texts that no read shows."""
FIRST_NEAR = 32
"""A witness is first looked for among so many operations around the one that cannot follow."""
LONGEST_WITNESS_S = 5.0
"""Seconds for the search of a minimal witness."""
WITNESS_S = 0.2
"""Seconds for one test of a witness; a test that takes longer counts as unknown."""


class ReadTexts(Model):
    """The texts that some read shows, with ``put``, ``append`` and ``read``.

    A state is the number of the first result (in sorted order) of which the text is a prefix, and
    the length of the text.

    Args:
        texts: the results of all reads, either strings or tuples.
        initial: the initial text.
    """

    name = "append"
    functions = frozenset({"put", "append", "read"})
    observers = frozenset({"read"})
    blind = frozenset({"put"})

    def __init__(self, texts: Iterable[Any], initial: Any) -> None:
        self._empty = type(initial)()
        self._numbers: dict[Hashable, int] = {}
        self._shown = {text: self._comparable(text) for text in texts}
        self._texts = sorted(set(self._shown.values()))
        # What begins another text shows nothing that the other does not show.
        self._longest = [
            text
            for text, after in pairwise([*self._texts, None])
            if after is None or after[: len(text)] != text
        ]
        self._elements = frozenset(each for text in self._longest for each in text)
        self.initial: Hashable = self._state(initial)

    def step(self, state: Any, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The state next."""
        if f == "read":
            return state if result is UNKNOWN or self._is(state, result) else ILLEGAL
        after = self._put(argument) if f == "put" else self._appended(state, argument)
        return ILLEGAL if after == DEAD and result is UNKNOWN else after

    def can_show(self, f: str, argument: Any) -> bool:
        """Whether a read can show what a put or append wrote."""
        if f == "put":
            return self._put(argument) != DEAD
        if isinstance(self._empty, str):
            return any(argument in text for text in self._longest)
        return self._elements.issuperset(self._comparable((argument,)))

    def _put(self, whole: Any) -> tuple[int, int]:
        return self._state(self._empty if whole is None else whole)

    def _is(self, state: Any, result: Any) -> bool:
        """Whether a state is the text that a read shows."""
        at, length = state
        shown = self._shown[self._empty if result is None else result]
        same: bool = state != DEAD and self._texts[at][:length] == shown
        return same

    def _comparable(self, text: Any) -> Any:
        """A text in a form that can be sorted: the elements of lists by number."""
        if isinstance(text, str):
            return text
        return tuple(self._numbers.setdefault(each, len(self._numbers)) for each in text)

    def _state(self, text: Any) -> tuple[int, int]:
        return self._of(self._comparable(text))

    def _of(self, text: Any) -> tuple[int, int]:
        at = bisect_left(self._texts, text)
        if at < len(self._texts) and self._texts[at][: len(text)] == text:
            return at, len(text)
        return DEAD

    def _appended(self, state: tuple[int, int], piece: Any) -> tuple[int, int]:
        at, length = state
        if state == DEAD:
            return DEAD
        # A string can also be an element of a list.
        more = piece if isinstance(self._empty, str) else self._comparable((piece,))
        if self._texts[at][length : length + len(more)] == more:
            return at, length + len(more)
        return self._of(self._texts[at][:length] + more)

    def describe_state(self, state: Any) -> str:
        """The text, as far as it is known."""
        if state == DEAD:
            return "one that no read shows"
        at, length = state
        text = next(text for text, shown in self._shown.items() if shown == self._texts[at])
        return short(text[:length])


def search_appends(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
    """Whether appends, puts and reads of one value are linearizable.

    Args:
        table: operations ``append``, ``read``/``get`` and ``put``/``write``.
        initial: the value before everything; None if it is empty.
        budget: when it is spent the answer is "unknown". A search for a minimal witness may use
            half of what is left of it.

    Raises:
        WrongOperations: the model does not know a value.
    """
    try:
        search = _AppendSearch(table, initial, budget)
    except Undecidable:
        return check_linearizable(AppendRegister(initial), table, budget)
    return search.decide()


class _AppendSearch:
    """One history, and how to decide it with some of its operations forgotten."""

    def __init__(self, table: OperationTable, initial: Hashable, budget: Budget) -> None:
        kind = kind_of(table, initial)
        possible = table.outcome != FAIL
        written = table.argument[table.is_f(*PUTS, *APPENDS) & possible].tolist()
        if kind is str and not all(isinstance(each, str) for each in written):
            raise Undecidable
        if kind is tuple and "" in written and not self._shows_lists(table, initial):
            raise Undecidable  # of a string it is no piece, and of a list it is one
        self.table = table
        self.budget = budget
        self.initial = kind() if initial is None else freeze(initial)
        self.texts: frozenset[Any] = frozenset()
        self.model = ReadTexts(self.texts, self.initial)

    @staticmethod
    def _shows_lists(table: OperationTable, initial: Hashable) -> bool:
        read = table.result[table.is_f(*READS) & (table.outcome == OK)]
        put = table.argument[table.is_f(*PUTS) & (table.outcome != FAIL)]
        return any(isinstance(each, tuple) for each in (freeze(initial), *read, *put))

    def decide(self) -> Decision:
        """The decision, with a witness that is minimal if there is time for it."""
        found = self._searched(self.table, self.budget)
        if found.witness is None:
            return found
        assert found.witness.stuck is not None
        return self._refused(self._near(found.witness.stuck))

    def _searched(self, table: OperationTable, budget: Budget) -> Decision:
        """The decision of a table of the same rows, in any order of their calls."""
        texts = table.result[table.is_f(*READS) & (table.outcome == OK)].tolist()
        empty = type(self.initial)()
        live = frozenset(empty if text is None else text for text in texts)
        if live != self.texts:
            self.texts, self.model = live, ReadTexts(live, self.initial)
        part, rows = self._needed(table)
        decision = check_linearizable(self.model, part, budget, explain=False)
        if decision.witness is not None and decision.witness.stuck is not None:
            decision.witness.stuck = int(rows[decision.witness.stuck])
        return decision

    def _needed(self, table: OperationTable) -> tuple[OperationTable, Ints]:
        """The history with the functions of `ReadTexts`, in order of call, and its rows.

        Without the writes of unknown outcome that no read can show.
        """
        functions = np.select([table.is_f(*PUTS), table.is_f(*APPENDS)], [0, 1], 2)
        kept = table.outcome == OK
        for number, f in enumerate(("put", "append")):
            unknown = np.flatnonzero((table.outcome == INFO) & (functions == number))
            written = table.argument[unknown].tolist()
            shown = {each: self.model.can_show(f, each) for each in dict.fromkeys(written)}
            kept[unknown] = [shown[each] for each in written]
        rows = np.flatnonzero(kept)
        rows = rows[np.argsort(table.call[rows], kind="stable")]
        part = replace(
            table.take(rows),
            functions=("put", "append", "read"),
            f=functions[rows].astype(np.int16),
        )
        return part, rows

    def _near(self, stuck: int) -> list[int]:
        """Rows near a row that contradict each other; their number is doubled until they do."""
        distance = np.abs(self.table.call - self.table.call[stuck])
        order = np.argsort(distance, kind="stable")
        size = FIRST_NEAR
        while size < len(order) and not self._refuses(
            forgetting(self.table, order[:size].tolist())
        ):
            size *= 2
        return self._in_order([int(row) for row in order[:size][::-1]], stuck)

    def _in_order(self, rows: list[int], stuck: int) -> list[int]:
        """Rows in the order in which they are forgotten.

        Reads first, which makes the search cheaper; then writes, grouped by what they write, first
        those that the stuck operation does not show.
        """
        table = self.table
        shown = table.result[stuck]

        def key(row: int) -> tuple[bool, bool, str]:
            if table.function(row) in READS:
                return False, False, ""
            written = table.argument[row]
            return True, shown is not None and written in shown, str(written)

        return sorted(rows, key=key)

    def _refuses(self, table: OperationTable) -> bool | None:
        seconds = min(WITNESS_S, self.budget.deadline - self.budget.clock())
        found = self._searched(table, Budget(seconds, self.budget.bytes, self.budget.clock))
        return None if found.valid == "unknown" else not found.valid

    def _refused(self, candidates: list[int]) -> Decision:
        """The refusal, with a witness among the candidates if they contradict each other."""
        clock = self.budget.clock
        until = clock() + min((self.budget.deadline - clock()) / 2, LONGEST_WITNESS_S)

        def refuses(table: OperationTable) -> bool | None:
            return self._refuses(table) if clock() < until else None

        left = minimal_witness(self.table, candidates, refuses)
        before = len(candidates) + 1
        # A test without an answer among many operations mostly has one among the few left.
        while left.doubtful and len(left.rows) < before:
            before = len(left.rows)
            left = minimal_witness(self.table, left.rows, refuses)
        words = self._words(forgetting(self.table, left.rows))
        return refused(left.rows, words, minimal=not left.doubtful)

    def _words(self, table: OperationTable) -> str:
        """Why a history is refused, all but a few of its operations forgotten."""
        found = self._searched(table, self.budget)
        if (witness := found.witness) is None:
            return "these operations contradict each other"
        row = witness.stuck
        assert row is not None
        call, returned = int(self.table.call[row]), int(self.table.returned[row])
        return (
            f"{told(self.table, row)} (called at {at(self.table, call, returned)}, returned at "
            f"{at(self.table, returned, call)}) cannot follow: the value could only be "
            f"{' or '.join(witness.states[:NAMED_STATES])}"
        )
