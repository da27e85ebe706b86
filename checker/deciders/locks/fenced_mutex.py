"""A fenced mutex: a lock that one process holds at a time, with increasing tokens.

**Decided**, exactly: whether acquires and releases have a linearization that keeps the order of
each process, in which one process holds the lock at a time, and each grant has a larger token than
all before it. A re-entrant acquire (by the holder, with the same token) is not a grant of its own.
A grant of unknown outcome has no token.

**Algorithm.** Two conditions, each necessary:

1. without the tokens it is a mutex (`checker.deciders.locks.mutex`);
2. holds can follow each other in the order of their tokens. Of the k-th hold let a1 and a2 be the
   call and the return of its acquire, and e the time until which it was certainly held (of the
   call of its release; of the last operation that shows that its session lived; at least a1). It
   begins at the earliest at x_k, the maximum of a1_k and of e_j over all j < k, and at the latest
   at a2_k. So a running maximum must never exceed a return.

Together they are enough. Let every hold begin at the earliest by 2., or, if e_k > a2_k, at a2_k,
and end at max(begin, e_k): then holds follow each other in the order of the tokens. What is left
are holds proved by the acknowledged clean-up after an acquire of unknown outcome: they need but
one moment between the call and the return of that release at which nobody else holds. Holds with
e_k <= a2_k need but one moment too, which can be shared by letting one come just before the other;
so only the others are in the way, and for these 1. says that there is such a moment.

**Cost**: that of the mutex, and one sort by token: O(n log n). No search.
"""

import numpy as np

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, decided_key_by_key
from rumpus.checker.deciders.decision import Decision, refused, undecided
from rumpus.checker.deciders.locks.fencing_tokens import SOME_WITHOUT, refuse_order
from rumpus.checker.deciders.locks.granted_tokens import (
    ENDS,
    GRANTS,
    LOST,
    own_operations,
    reentries,
    tokens,
    with_reentries,
)
from rumpus.checker.deciders.locks.holds_table import (
    TRY,
    HoldsTable,
    LockRows,
    extract_holds,
    granted,
)
from rumpus.checker.deciders.locks.mutex import FUNCTIONS, LOCK
from rumpus.checker.deciders.locks.weighted_holds import decide_holds
from rumpus.checker.deciders.operation_table import FAIL, NEVER, OK, OperationTable
from rumpus.checker.deciders.values import MISSING, Ints
from rumpus.checker.deciders.wording import at, who

_ALGORITHM = Algorithm(
    name="holds in token order",
    when="always",
    cost="O(n log n)",
    source="Burrows, The Chubby lock service, OSDI 2006 (sequencers); Gibbons and Korach, "
    "Testing shared memories, SIAM J. Comput. 1997 (values written once)",
)

NO_TOKEN = "no grant has a token"  # noqa: S105 - a sentence


def decide_fenced_mutex(
    table: OperationTable, *fields: str, without_tokens: bool = False
) -> Decision:
    """Whether the operations of one lock follow the model.

    Args:
        table: the operations.
        fields: of results, in which the token is; the first that is there counts.
        without_tokens: whether a history without tokens is decided as one of a mutex; otherwise
            it is unknown.

    Raises:
        WrongOperations: a token is no integer; or a process calls something while its last
            operation is still open.
    """
    lock_rows = granted(table)
    acquires, releases, _ = lock_rows
    releases |= (table.outcome != FAIL) & table.is_f(LOST)
    rows = np.flatnonzero(acquires & (table.outcome == OK))
    token = np.full(len(table), MISSING)
    token[rows] = tokens(table, rows, *fields)
    noun = next((name for name in fields if name in table.fields), fields[0])
    holds, decision = _judge(table, lock_rows, token, noun)
    if decision.valid is False:
        present = rows[token[rows] != MISSING]
        found = reentries(table, present, token[present])
        if not len(found.again):
            return decision
        acquires[found.again] = releases[found.inner] = False
        holds, decision = _judge(table, lock_rows, token, noun)
        if decision.valid is False:
            return with_reentries(decision, table, found)
    if not len(rows):
        return decision
    has_token = token[holds.acquire] != MISSING
    if not has_token.any():
        return decision if without_tokens else undecided(*decision.unknown, NO_TOKEN)
    if (token[rows] == MISSING).any() or (
        not has_token.all() and (holds.start >= holds.end)[has_token].any()
    ):
        return undecided(*decision.unknown, SOME_WITHOUT)
    return decision


def _judge(
    table: OperationTable, lock_rows: LockRows, token: Ints, noun: str
) -> tuple[HoldsTable, Decision]:
    """The holds, and whether they exclude each other and are in the order of their tokens."""
    holds = extract_holds(table, lock_rows, LOCK.nesting)
    if not len(holds.orphans) and not holds.again:
        fenced = np.flatnonzero(token[holds.acquire] != MISSING)
        # With the tokens fewer operations contradict each other than without.
        wrong = _refuse_order(table, holds, fenced, token[holds.acquire[fenced]], noun)
        if wrong is not None:
            return holds, wrong
    return holds, decide_holds(table, LOCK, lock_rows, holds)


def _refuse_order(
    table: OperationTable, holds: HoldsTable, fenced: Ints, token: Ints, noun: str
) -> Decision | None:
    """The refusal of holds that cannot follow each other in the order of their tokens.

    Args:
        table: the operations.
        holds: all of them.
        fenced: those with a token.
        token: theirs.
        noun: what they are called.
    """
    order = np.argsort(token)
    fenced, token = fenced[order], token[order]
    acquire = holds.acquire[fenced]
    wrong = refuse_order(table, acquire, token, noun)
    if wrong is not None:
        return wrong
    busy = np.maximum(table.call[acquire], holds.end[fenced])
    late = np.flatnonzero(np.maximum.accumulate(busy)[:-1] > holds.start[fenced[1:]])
    if not len(late):
        return None
    high = 1 + int(late[np.argmin(holds.start[fenced[late + 1]])])
    low = int(np.argmax(busy[:high] > holds.start[fenced[high]]))
    places = int(fenced[low]), int(fenced[high])
    return _overtaken(table, holds, places, (f"{noun} {token[low]}", f"{noun} {token[high]}"))


def _overtaken(
    table: OperationTable, holds: HoldsTable, places: tuple[int, int], names: tuple[str, str]
) -> Decision:
    """The refusal of a hold that had not ended when one with a higher token was granted."""
    lower, higher = places
    one, other = int(holds.acquire[lower]), int(holds.acquire[higher])
    end, granted_by = int(holds.end[lower]), int(holds.start[higher])
    release = int(holds.release[lower])
    rows = [one, other]
    minimal = True
    if release >= 0:
        rows.append(release)
    else:
        # Its process may have gone on, and have released something else later.
        following = own_operations(table, one, len(table) - 1)[1:3]
        rows += following
        minimal = not following
    session = holds.session[lower]
    # In one session the higher grant itself shows that it lived.
    if session >= 0 and session != holds.session[higher] and not holds.released[lower]:
        evidence, plain = _evidence(table, holds, lower)
        rows += evidence
        minimal = minimal and plain
    if holds.released[lower] and holds.end[higher] == NEVER and holds.release[higher] < 0:
        # The higher hold never ends, and so it also excludes what the release ends.
        rows.remove(one)
    if release >= 0 and end == table.call[release]:
        until = f"it called {table.function(release)} at {at(table, end, granted_by)} only"
    elif end == NEVER:
        until = "it never let go"
    else:
        until = (
            f"its session {table.field('session')[one]} still lived at {at(table, end, granted_by)}"
        )
    return refused(
        rows,
        f"{who(table, other)} was granted {names[1]} by {at(table, granted_by, end)}, "
        f"when {who(table, one)} with the lower {names[0]} was not through: {until}",
        minimal=minimal,
    )


def _evidence(table: OperationTable, holds: HoldsTable, place: int) -> tuple[list[int], bool]:
    """Rows that show that a hold's session lived so long; and whether they show nothing else."""
    end = holds.end[place]
    session = table.field("session").numbers
    own = session == session[holds.acquire[place]]
    rows = np.flatnonzero(own & (table.outcome == OK) & (table.call >= end))
    plain = rows[~table.is_f(*GRANTS, *ENDS)[rows]]
    if len(plain):
        return [int(plain[-1])], True
    if len(rows):
        return [int(rows[-1])], False
    last = int(np.flatnonzero(holds.released & own[holds.acquire] & (holds.end >= end))[-1])
    return [int(holds.acquire[last]), int(holds.release[last])], False


FENCED_MUTEX = ModelEntry(
    name="fenced-mutex",
    summary="a lock that one process holds at a time, whose tokens grow from hold to hold",
    runs="locks with tokens",
    functions={
        **FUNCTIONS,
        **dict.fromkeys(GRANTS, "ok: a token, or an object of token, session, node"),
        TRY: "as acquire; what was refused, or answered false, is no part of the model",
    },
    algorithms=(_ALGORITHM,),
    sequential=True,
    expires=True,
    decide=decided_key_by_key(
        lambda part, _, __: decide_fenced_mutex(part, "token", "epoch"), _ALGORITHM
    ),
)
