"""Appends to one value by the general search, with only the states that some read can show.

**States.** The search over `checker.models.append.AppendRegister` drowns in texts that nobody
reads: k appends at once make k! of them. Call a text *live* if it begins the result of some
acknowledged read of the history, and *dead* otherwise. What is appended to a dead text leaves it
dead, no read of the history is legal in it, and after a put it does not matter what was there. So
all dead texts are one state: the history is legal in some order with this state if and only if it
is with all of them. (Texts and dead texts are bisimilar for the operations of the history.) There
are no more states than characters in the results.

**Narrowing.** Where the reads can be taken apart, the history is narrowed first
(`append_narrowing`), which leaves few operations open at once. Then the states
are the places of the eras, and between eras a text as above, of which only loose reads show
anything. What is known of an era leaves little to choose:

- Within an era only its next place can be taken, and nothing else happens before the read that
  *closes* it: of the reads that show all of it, the one called last. In any order the others of
  them can be moved right before it, for they were called by then.
- A lone operation changes nothing in a dead text, so it is an observer (``lose``), which the search
  takes at once. It would make a live text dead. That is done by an ``end`` before it, of which
  there are as many as there can be live texts. An ``end`` without a lone operation after it allows
  no more than before, for fewer reads are legal in a dead text.

**Witness.** Found by forgetting (`checker.deciders.forgetting`), each time with all that is
here, since bounds of the whole history are no bounds of what is left of it.

**Cost**: exponential in the operations that are open at once in the narrowed history, else linear
in the total length of the texts.

Source: the search: `checker.linearizability.windowed_search`.
"""

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused
from rumpus.checker.deciders.forgetting import Contradiction, forgetting, minimal_witness
from rumpus.checker.deciders.operation_table import (
    FAIL,
    INFO,
    MISSING,
    NEVER,
    OK,
    Ints,
    OperationTable,
    Values,
    freeze,
)
from rumpus.checker.deciders.registers.append_eras import (
    APPENDS,
    BEGINNING,
    PUTS,
    READS,
    Undecidable,
    kind_of,
    short,
    told,
)
from rumpus.checker.deciders.registers.append_narrowing import Narrowed, Part, narrow
from rumpus.checker.deciders.registers.pieces import TooLong
from rumpus.checker.deciders.wording import at
from rumpus.checker.linearizability.explanation import NAMED_STATES
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.append import AppendRegister
from rumpus.checker.models.model import ILLEGAL, UNKNOWN, Model

DEAD = (-1, 0)
FIRST_NEAR = 32
"""So many operations around the one that cannot follow are first believed to contradict."""
LONGEST_WITNESS_S = 5.0
"""How long a minimal witness is looked for."""
WITNESS_S = 0.2
"""How long one search for the witness may take; what takes longer is taken to be acceptable."""


class ReadTexts(Model):
    """A text as far as some read shows it: ``put``, ``append`` and ``read``.

    The state is the number of the first text (in order) that begins with it, and its length.

    Args:
        texts: the results of all reads, of one kind: strings, or tuples.
        initial: the text before everything.
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
        self.initial: Hashable = self._state(initial)

    def step(self, state: Any, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The state next."""
        if f == "put":
            return self._state(self._empty if argument is None else argument)
        if f == "append":
            return self._appended(state, argument)
        if result is UNKNOWN or state == DEAD:
            return ILLEGAL if state == DEAD else state
        at, length = state
        shown = self._shown[self._empty if result is None else result]
        same = length == len(shown) and self._texts[at][:length] == shown
        return (at, length) if same else ILLEGAL

    def _comparable(self, text: Any) -> Any:
        """A text that can be sorted: elements of lists by number."""
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
        # A string may be a piece of a list, too.
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


class EraTexts(ReadTexts):
    """A text by its era and how many places of it are taken; between eras as in `ReadTexts`.

    Args:
        narrowed: the history (`checker.deciders.registers.append_narrowing.Part` says what is
            called).
        initial: the text before everything.
    """

    functions = frozenset({"root", "place", "get", "close", "end", "lose", "put", "append", "read"})
    observers = frozenset({"get", "read", "lose"})
    blind: frozenset[str] = frozenset()

    def __init__(self, narrowed: Narrowed, initial: Any) -> None:
        super().__init__(narrowed.loose, initial)
        self._eras = narrowed.eras
        if BEGINNING in self._eras:
            self.initial = _InEra(BEGINNING, 0)

    def step(self, state: Any, f: str, argument: Any, result: Any) -> Hashable:
        """The state next."""
        if isinstance(state, _InEra):
            return self._in_era(state, f, argument, result)
        if f == "root":
            return _InEra(argument, 0)
        if f == "end":
            return DEAD
        if f == "lose":
            return DEAD if state == DEAD else ILLEGAL
        if f in ("place", "get", "close"):
            return ILLEGAL
        return super().step(state, f, argument, result)

    def _in_era(self, state: "_InEra", f: str, argument: Any, result: Any) -> Hashable:
        era, shown, _ = state
        here = self._eras[era]
        if f == "get":
            return state if result == (era, shown) else ILLEGAL
        if f == "read":
            return state if here.at(shown) == result else ILLEGAL
        if f == "place":
            return _InEra(era, shown + 1) if argument == (era, shown + 1) else ILLEGAL
        if f == "append" and shown < len(here.pieces) and here.pieces[shown] == argument:
            return _InEra(era, shown + 1)
        if f == "close" and argument == era and shown == len(here.pieces):
            return self._state(here.text)
        return ILLEGAL

    def describe_state(self, state: Any) -> str:
        """The text, as far as it is known."""
        if isinstance(state, _InEra):
            return short(self._eras[state.era].at(state.shown))
        return super().describe_state(state)


class _InEra(NamedTuple):
    """A state: the era, and how many of its places are taken; equal to none between eras."""

    era: int
    shown: int
    inside: bool = True


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
        if kind is tuple and "" in table.argument[table.is_f(*APPENDS) & possible].tolist():
            raise Undecidable
        self.table = table
        self.budget = budget
        self.initial = kind() if initial is None else freeze(initial)
        results = table.result[table.is_f(*READS) & (table.outcome == OK)].tolist()
        texts = [kind() if text is None else text for text in results]
        self.model = ReadTexts(texts, self.initial)

    def decide(self) -> Decision:
        """The decision, with a witness that is minimal if there is time for it."""
        found = self._searched(self.table, self.budget)
        if isinstance(found, Contradiction):
            rows = list(found.rows)
            if self._refuses(forgetting(self.table, rows)):
                return self._refused(self._in_order(rows, rows[0]))
            return self._refused(self._near(rows[0]))
        if found.witness is None:
            return found
        assert found.witness.stuck is not None
        return self._refused(self._near(found.witness.stuck))

    def _searched(self, table: OperationTable, budget: Budget) -> Decision | Contradiction:
        """The decision of a table of the same rows, in any order of their calls."""
        model = self.model
        try:
            found = narrow(table, self.initial, self.budget)
        except (Undecidable, TooLong):
            part, rows = self._as_it_is(table)
        else:
            if isinstance(found, Contradiction):
                return found
            if found.settled:
                return accepted()
            model = EraTexts(found, self.initial)
            part, rows = _part([*found.parts, *_ends(found)])
        decision = check_linearizable(model, part, budget, explain=False)
        if decision.witness is not None and decision.witness.stuck is not None:
            decision.witness.stuck = int(rows[decision.witness.stuck])
        return decision

    def _as_it_is(self, table: OperationTable) -> tuple[OperationTable, Ints]:
        """The history in the words of `ReadTexts`, in order of call, and its rows."""
        functions = np.select([table.is_f(*PUTS), table.is_f(*APPENDS)], [0, 1], 2)
        rows = np.flatnonzero(table.outcome != FAIL)
        rows = rows[np.argsort(table.call[rows], kind="stable")]
        part = OperationTable(
            functions=("put", "append", "read"),
            f=functions[rows].astype(np.int16),
            outcome=table.outcome[rows],
            process=table.process[rows],
            call=table.call[rows],
            returned=table.returned[rows],
            argument=table.argument[rows],
            result=table.result[rows],
        )
        return part, rows

    def _near(self, stuck: int) -> list[int]:
        """Rows that contradict each other, as near to a row as doubling finds them."""
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

        Reads first, for without them there is less to search; then writes by what they write,
        those that the stuck operation does not show before the others.
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
        if isinstance(found, Contradiction):
            return True
        return None if found.valid == "unknown" else not found.valid

    def _refused(self, candidates: list[int]) -> Decision:
        """The refusal, with a witness among the candidates if they contradict each other."""
        clock = self.budget.clock
        until = clock() + min((self.budget.deadline - clock()) / 2, LONGEST_WITNESS_S)

        def refuses(table: OperationTable) -> bool | None:
            return self._refuses(table) if clock() < until else None

        left = minimal_witness(self.table, candidates, refuses)
        before = len(candidates) + 1
        # What was doubtful among many operations is mostly clear among the few that are left.
        while left.doubtful and len(left.rows) < before:
            before = len(left.rows)
            left = minimal_witness(self.table, left.rows, refuses)
        words = self._words(forgetting(self.table, left.rows))
        return refused(left.rows, words, minimal=not left.doubtful)

    def _words(self, table: OperationTable) -> str:
        """Why a history is refused, all but a few of its operations forgotten."""
        found = self._searched(table, self.budget)
        if isinstance(found, Contradiction):
            return found.words(self.table)
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


def _ends(narrowed: Narrowed) -> list[Part]:
    """As many ``end`` as can be of use: after each text that a loose read may show."""
    if not narrowed.loose:
        return []
    times = 1 + sum(part.f in ("close", "put") for part in narrowed.parts)
    end = Part(-1, "end", None, None, MISSING, NEVER, certain=False)
    return [end] * times


def _part(parts: Sequence[Part]) -> tuple[OperationTable, Ints]:
    """A narrowed history as a table, in order of call, and the rows of its operations."""
    parts = sorted(parts, key=lambda part: part.call)
    functions = tuple(dict.fromkeys(part.f for part in parts))
    number = {f: at for at, f in enumerate(functions)}
    rows, _, arguments, results, calls, returns, certain = zip(*parts, strict=True)
    table = OperationTable(
        functions=functions,
        f=np.array([number[part.f] for part in parts], dtype=np.int16),
        outcome=np.where(certain, OK, INFO).astype(np.int8),
        process=np.array(rows, dtype=np.int64),
        call=np.array(calls, dtype=np.int64),
        returned=np.array(returns, dtype=np.int64),
        argument=Values.of(arguments),
        result=Values.of(results),
    )
    return table, table.process
