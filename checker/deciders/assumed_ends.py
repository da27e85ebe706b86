"""Whether a history follows its model only if sessions ended of whose end nothing is known.

A hold ends with its session, and a session can end unseen. So a history in which a process never
releases, and another one is granted the lock, follows the model *if* the session of the former had
ended. That is an assumption, and not for the checker to make in silence. Known to have ended is

- a session that the history's records say ended (`checker.deciders.ended_sessions`), unless
  somebody began to use it after that, or resumed it;
- a session whose process worked in another session afterwards: it uses one at a time;
- a session whose process learned by an operation ``lost`` that it leads no longer.

A history that follows the model is decided once more, as if no other session could end. If it does
not follow the model then, the answer is unknown.

A session that its client resumed had not ended before, whatever is said of it later. That is no
operation, so the deciders do not see it. So a history with resumed sessions is decided once more,
with an operation in each of them that shows that it lived. That is not held against the history as
a violation: some client libraries tell of a lost connection after the next one has begun.

**Cost**: one more decision of a history that has such sessions, of either kind.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from rumpus.checker.deciders.decide import ModelEntry, decide
from rumpus.checker.deciders.decision import Budget, Decision
from rumpus.checker.deciders.locks.acquire_release_pairs import by_process
from rumpus.checker.deciders.locks.granted_tokens import LOST
from rumpus.checker.deciders.operation_table import OK, OperationTable
from rumpus.checker.deciders.resumed_sessions import with_resumed_sessions
from rumpus.checker.deciders.values import MISSING, Flags, Values
from rumpus.checker.deciders.wording import who

_MOST_NAMED = 3
"""How many sessions a reason names."""


def without_assumed_ends(
    entry: ModelEntry,
    table: OperationTable,
    initial: Hashable,
    budget: Budget,
    decision: Decision,
) -> Decision:
    """A decision; unknown where it is valid only by the end of sessions that may have lived on.

    Args:
        entry: the model.
        table: the history.
        initial: the initial value.
        budget: that of the decision; what is left of it is used.
        decision: by the model, in which every session can end.
    """
    sessions = table.fields.get("session")
    if decision.valid is not True or not entry.expires or sessions is None:
        return decision
    resumed = with_resumed_sessions(entry, table)
    if resumed is not None:
        found = decide(entry, resumed.table, initial, budget)
        if found.valid is not True:
            decision.valid = "unknown"
            decision.unknown.append(_of_resumed(resumed.sessions, found))
            return decision
        table = resumed.table
        sessions = table.fields["session"]
    lasting = sessions.present & ~_ended(table, sessions)
    if not lasting.any():
        return decision
    lasts = Values(np.where(lasting, MISSING, sessions.numbers), sessions.objects)
    kept = replace(table, fields={**table.fields, "session": lasts})
    strict = decide(entry, kept, initial, budget)
    if strict.valid is True:
        return decision
    decision.valid = "unknown"
    rows = np.flatnonzero(lasting)
    if strict.witness is not None:
        shown = np.array(strict.witness.operations, dtype=np.int64)
        rows = shown[lasting[shown]] if lasting[shown].any() else rows
    decision.unknown.append(_reason(table, sessions, rows.tolist(), strict))
    return decision


def _ended(table: OperationTable, sessions: Values) -> Flags:
    """Where a row's session is known to have ended."""
    numbers, lost = sessions.numbers, table.is_f(LOST)
    rows = np.flatnonzero((table.outcome == OK) & (sessions.present | lost))
    order, _ = by_process(table.process[rows])
    rows = rows[order]
    before, after = rows[:-1], rows[1:]
    over = (table.process[before] == table.process[after]) & (numbers[before] != MISSING)
    over &= lost[after] | (numbers[before] != numbers[after])
    before, after = before[over], after[over]
    # Another process may go on in the session, or this one may return to it.
    in_time = np.sort(rows)
    alive = dict(zip(numbers[in_time].tolist(), table.call[in_time].tolist(), strict=True))
    last = np.array([alive[number] for number in numbers[before].tolist()], dtype=np.int64)
    ended = set(numbers[before[last <= table.returned[after]]].tolist())
    if table.told.ended:
        objects = sessions.objects
        users = defaultdict(set)
        for number, process in zip(
            numbers[in_time].tolist(), table.process[in_time].tolist(), strict=True
        ):
            users[number].add(process)
        for number in np.unique(numbers[sessions.present]).tolist():
            session = number if objects is None else objects[number]
            told = table.told.ends_of(session, users[number])
            lived = max(alive.get(number, MISSING), table.told.lived.get(session, MISSING))
            if told is not None and lived <= told:
                ended.add(number)
    known: Flags = np.isin(numbers, list(ended))
    return known


def _reason(table: OperationTable, sessions: Values, rows: list[int], strict: Decision) -> str:
    names: dict[Hashable, str] = {}
    for row in rows:
        names.setdefault(sessions[row], f"session {sessions[row]} of {who(table, row)}")
    shown = list(names.values())[:_MOST_NAMED]
    more = len(names) - len(shown)
    listed = " or ".join(shown) + (f" or one of {more:,} others" if more else "")
    why = "; ".join(strict.unknown) if strict.witness is None else strict.witness.description
    otherwise = "else it is not known" if strict.witness is None else "else it is a violation"
    return (
        f"nothing in the history says whether {listed} had ended: if it had, what was held in it "
        f"had ended too, and the history follows the model; {otherwise}: {why}"
    )


def _of_resumed(resumed: Sequence[Hashable], found: Decision) -> str:
    shown = ", ".join(map(str, resumed[:_MOST_NAMED]))
    more = len(resumed) - _MOST_NAMED
    why = "; ".join(found.unknown) if found.witness is None else found.witness.description
    shown += f", and {more} more" if more > 0 else ""
    return (
        f"clients were connected again in sessions in which they had been granted something "
        f"({shown}), so these had not ended before; then the history does not follow the model: "
        f"{why}"
    )
