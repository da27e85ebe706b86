"""Fencing tokens only increase: each grant has a larger token than all before it.

**Decided**: whether grants have a linearization in which each token is larger than the one before.
Releases and overlapping holds are ignored (the fenced mutex checks them). So are acquires of
unknown outcome, which may have taken any token or none. A re-entrant acquire gets the token that
its process holds already, and is not a grant of its own. With a grant that has no token the answer
is at most unknown.

**Algorithm.** Tokens must be distinct, and then the only possible order is that of the tokens. It
is a linearization if and only if no operation was called after a later one in the order had
returned (let every operation take effect at the latest call up to its place: that is not before its
own call, and not after its own return). So in the order of tokens the running maximum of the calls
must never exceed a return. This is the algorithm for registers whose values are written once
(Gibbons and Korach, Testing shared memories, SIAM J. Comput. 1997), where the versions give the
order. If the tokens increase from call to call there is nothing else to check.

**Cost**: O(n) then, else O(n log n) for one sort.
"""

import numpy as np

from rumpus.checker.deciders.decide import NO_PART, Algorithm, ModelEntry, decided_key_by_key
from rumpus.checker.deciders.decision import Decision, accepted, refused, undecided
from rumpus.checker.deciders.locks.granted_tokens import (
    GRANTS,
    own_operations,
    reentries,
    tokens,
    with_reentries,
)
from rumpus.checker.deciders.locks.holds_table import IGNORED, RELEASES
from rumpus.checker.deciders.operation_table import OK, OperationTable
from rumpus.checker.deciders.values import MISSING, Ints
from rumpus.checker.deciders.wording import at, who

_ALGORITHM = Algorithm(
    name="token order",
    when="always",
    cost="O(n log n)",
    source="Gibbons and Korach, Testing shared memories, SIAM J. Comput. 1997",
)

SOME_WITHOUT = "some grants have no token"


def decide_fencing_tokens(table: OperationTable) -> Decision:
    """Whether the tokens of one lock only increase. Unknown if no grant has a token.

    Raises:
        WrongOperations: a token is no integer.
    """
    granted = np.flatnonzero(table.is_f(*GRANTS) & (table.outcome == OK))
    token = tokens(table, granted, "token", "epoch")
    present = token != MISSING
    rows, token = granted[present], token[present]
    if not len(rows) and len(granted):
        return undecided("no grant has a token")
    follow = accepted() if present.all() else undecided(SOME_WITHOUT)
    if refuse_token_order(table, rows, token) is None:
        return follow
    found = reentries(table, rows, token)
    new = np.isin(rows, found.again, invert=True)
    decision = refuse_token_order(table, rows[new], token[new])
    return with_reentries(decision, table, found) if decision else follow


def refuse_token_order(table: OperationTable, rows: Ints, token: Ints) -> Decision | None:
    """The refusal, if grants are out of the order of their tokens.

    Args:
        table: the operations.
        rows: grants, ascending.
        token: theirs.
    """
    if bool((token[1:] > token[:-1]).all()):
        return None
    order = np.argsort(token)
    return refuse_order(table, rows[order], token[order])


def refuse_order(
    table: OperationTable, rows: Ints, numbers: Ints, noun: str = "token"
) -> Decision | None:
    """The refusal of grants that cannot follow each other in this order.

    Args:
        table: the operations.
        rows: grants, in the order of their tokens.
        numbers: the tokens.
        noun: what they are called.
    """
    if (numbers[1:] == numbers[:-1]).any():
        return _shared(table, rows, numbers, noun)
    called, returned = table.call[rows], table.returned[rows]
    latest = np.maximum.accumulate(called)[:-1]
    late = 1 + np.flatnonzero(latest >= returned[1:])
    if not len(late):
        return None
    late = late[latest[late - 1] > returned[late]]
    if not len(late):
        return _out_of_process_order(table, rows, numbers, noun)
    # The one that returned first among those too early, and the lowest token that came later.
    high = late[np.argmin(table.returned[rows[late]])]
    low = int(np.argmax(called[:high] > table.returned[rows[high]]))
    before, after = int(rows[high]), int(rows[low])
    by, call = int(table.returned[before]), int(table.call[after])
    return refused(
        [before, after],
        f"{who(table, before)} was granted {noun} {numbers[high]} by "
        f"{at(table, by, call)}, and {who(table, after)}, which only called at "
        f"{at(table, call, by)}, was granted the lower {noun} {numbers[low]}",
    )


def _out_of_process_order(
    table: OperationTable, rows: Ints, numbers: Ints, noun: str
) -> Decision | None:
    """The refusal if one process was granted a lower token later, at the very same time.

    Operations of a process follow each other even where their times are equal. Of the others
    those whose times agree with the order of the tokens need no look.

    Args:
        table: the operations.
        rows: grants, in the order of their tokens.
        numbers: the tokens.
        noun: what they are called.
    """
    order = np.argsort(table.process[rows], kind="stable")
    rows, numbers = rows[order], numbers[order]
    back = (rows[1:] < rows[:-1]) & (table.process[rows[1:]] == table.process[rows[:-1]])
    if not back.any():
        return None
    place = int(np.argmax(back))
    lower, higher = int(rows[place]), int(rows[place + 1])
    return refused(
        [lower, higher],
        f"{who(table, lower)} was granted {noun} {numbers[place + 1]} by "
        f"{at(table, int(table.returned[higher]))}, and after that the lower {noun} "
        f"{numbers[place]}",
    )


def _shared(table: OperationTable, rows: Ints, numbers: Ints, noun: str) -> Decision:
    """The refusal where a token was given twice; ``rows`` in the order of ``numbers``."""
    order = np.lexsort((rows, table.process[rows], numbers))
    rows, numbers = rows[order], numbers[order]
    same = numbers[1:] == numbers[:-1]
    own = same & (table.process[rows[1:]] == table.process[rows[:-1]])
    # First those of one process: its release in between belongs to the witness.
    place = int(np.argmax(own if own.any() else same))
    one, other = sorted((int(rows[place]), int(rows[place + 1])))
    number = numbers[place]
    first, second = int(table.returned[one]), int(table.returned[other])
    when = f"by {at(table, first, second)} and by {at(table, second, first)}"
    if own.any():
        description = f"{who(table, one)} was granted {noun} {number} twice, {when}"
        return refused(own_operations(table, one, other), description, minimal=False)
    return refused(
        [one, other],
        f"{who(table, one)} and {who(table, other)} were granted the same {noun} {number}, {when}",
    )


FENCING_TOKENS = ModelEntry(
    name="fencing-tokens",
    summary="tokens of a lock or an election only grow, and none is given twice",
    runs="none: `fenced-mutex` says the same of tokens, and more",
    functions={
        **dict.fromkeys(GRANTS, "() -> token, or {token}"),
        **dict.fromkeys(RELEASES, "() -> nothing; tells a re-entrant acquire from a new grant"),
        **dict.fromkeys(IGNORED, NO_PART),
    },
    algorithms=(_ALGORITHM,),
    decide=decided_key_by_key(lambda part, _, __: decide_fencing_tokens(part), _ALGORITHM),
)
