"""Queue without an order: no value is lost, duplicated, or dequeued without an enqueue.

**What is decided.** Linearizability with regard to a multiset. A ``drain`` that answered a list
means two things, as in Jepsen: each of the values was taken at some time during it, and at some
time during it the queue was empty. So after a drain (or a dequeue that found the queue empty) that
overlaps no other operation, every acknowledged value must have been dequeued. These are Jepsen's
checks ``queue`` and ``total-queue`` (lost, duplicated, unexpected), and here they are exact also
while operations overlap. A value whose enqueue is unknown may be dequeued or not. A dequeue of
unknown outcome may have taken one value, an unknown drain any number: a value is lost only if none
of them can have taken it.

**The algorithm.** A value is dequeued at most as often as it was enqueued, and not before
(`queue_elements`); during every dequeue that answered "empty" the queue must have been empty at
some time (`found_empty`). If each value is enqueued once the two together are exact: conditions on
different values concern different operations, except for the times at which the queue is empty,
and those are independent of each other.

If values repeat, the k-th dequeue of a value is paired with its k-th enqueue. That is exact if none
of the value's operations overlap, or if no dequeue answered "empty". Otherwise a history that this
pairing explains is accepted, and others are searched.

O(n log n).
"""

import dataclasses
from collections.abc import Hashable

import numpy as np

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, in_turns, searched
from rumpus.checker.deciders.decision import Budget, Decision, Witness, accepted, undecided
from rumpus.checker.deciders.minimal_rows import MOST, minimise
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.queues.found_empty import UnknownTakes, refute_empty
from rumpus.checker.deciders.queues.queue_elements import Elements, elements, with_their_like
from rumpus.checker.deciders.values import Ints, Values, WrongOperations
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.multiset_queue import MultisetQueue

ALGORITHM = "nothing lost, nothing twice"


def decide_multiset_queue(
    table: OperationTable, _initial: Hashable = None, budget: Budget | None = None
) -> Decision:
    """Whether operations are those of a queue without an order, empty at first.

    Raises:
        WrongOperations: an enqueue without a value; a drain that answered no list.
    """
    return in_turns(table, _decide, budget or Budget())


@dataclasses.dataclass(frozen=True, eq=False)
class _Claims:
    """Rows by what they claim: enqueues, dequeues and their values, "empty", unknown dequeues."""

    puts: Ints
    takes: Ints
    taken: Values
    empty: Ints
    unknown: Ints

    def refute(self, table: OperationTable) -> tuple[Elements | None, Decision | None]:
        """The elements, if they can be paired, and a refusal, if there is one."""
        queue = elements(
            table, self.puts, self.takes, self.taken, unknown_takes=len(self.unknown) > 0
        )
        if isinstance(queue, Decision):
            return None, queue
        # An unknown drain may have taken whatever there is.
        most = np.where(table.is_f("drain")[self.unknown], len(self.puts) + 1, 1)
        order = np.argsort(table.call[self.unknown], kind="stable")
        unknown = UnknownTakes(self.unknown[order], table.call[self.unknown[order]], most[order])
        return queue, refute_empty(table, queue, self.empty, unknown)


def _decide(table: OperationTable, budget: Budget) -> Decision:
    claims = _claims(table)
    queue, found = claims.refute(table)
    if found is not None and queue is not None and not queue.distinct and not queue.paired:
        return _search(table, claims, budget)
    witness = found.witness if found else None
    if witness is not None:
        drains = table.is_f("drain")
        if queue is not None and not queue.distinct:
            rows = {*with_their_like(table, witness.operations), *np.flatnonzero(drains).tolist()}
            witness.operations, witness.minimal = sorted(rows), False
        elif drains[witness.operations].any():
            _shrink(table, claims, witness)
    decision = found or accepted()
    decision.algorithm = ALGORITHM
    return decision


def _claims(table: OperationTable) -> _Claims:
    enqueue, drain = table.is_f("enqueue"), table.is_f("drain")
    answered = ~enqueue & (table.outcome == OK)
    puts = np.flatnonzero(enqueue & (table.outcome != FAIL))
    unknown = np.flatnonzero(~enqueue & (table.outcome == INFO))
    empty = answered & (drain | ~table.result.present)
    takes = np.flatnonzero(answered & ~drain & table.result.present)
    taken = table.result[takes]
    drained = np.flatnonzero(answered & drain & table.result.present).tolist()
    if drained:
        values, rows = list(taken), takes.tolist()
        for row in drained:
            listed = table.result[row]
            if not isinstance(listed, tuple):
                raise WrongOperations(f"a drain answers the list of what came out, not {listed!r}")
            values.extend(listed)
            rows.extend([row] * len(listed))
        takes, taken = np.array(rows, dtype=np.int64), Values.of(values)
    return _Claims(puts, takes, taken, np.flatnonzero(empty), unknown)


def _shrink(table: OperationTable, claims: _Claims, witness: Witness) -> None:
    """Make a witness minimal that has a drain, which claims several things at once.

    Only if no value is enqueued twice; otherwise the witness is left and not called minimal.
    """
    rows = witness.operations
    put = [table.argument[row] for row in claims.puts.tolist()]
    if len(rows) > MOST or len({(type(value), value) for value in put}) < len(put):
        witness.minimal = len(rows) == 1
        return
    witness.operations, _ = minimise(rows, lambda kept: _refuted(table, claims, kept))


def _refuted(table: OperationTable, claims: _Claims, rows: list[int]) -> bool:
    """Whether rows contradict each other when all others are forgotten."""
    kept = np.zeros(len(table), dtype=np.bool_)
    kept[rows] = True
    takes = kept[claims.takes]
    used = {_named(claims.taken[at]) for at in np.flatnonzero(takes).tolist()}
    forgotten = {_named(claims.taken[at]) for at in np.flatnonzero(~takes).tolist()} - used
    # A value that a forgotten dequeue took may have been taken at once: it is left out.
    puts = [row for row in claims.puts.tolist() if _named(table.argument[row]) not in forgotten]
    early = np.where(kept, table.call, np.iinfo(np.int64).min + 1)
    vague = dataclasses.replace(
        table,
        call=early,
        returned=np.where(kept, table.returned, NEVER),
        outcome=np.where(kept, table.outcome, INFO).astype(np.int8),
    )
    some = _Claims(
        np.array(sorted(puts, key=lambda row: int(early[row])), dtype=np.int64),
        claims.takes[takes],
        claims.taken[np.flatnonzero(takes)],
        claims.empty[kept[claims.empty]],
        claims.unknown,
    )
    return some.refute(vague)[1] is not None


def _named(value: Hashable) -> tuple[type, Hashable]:
    return type(value), value


def _search(table: OperationTable, claims: _Claims, budget: Budget) -> Decision:
    """The general search, with a row for each value of a drain."""
    if len(claims.unknown):
        return undecided(
            "values repeat while their operations overlap, and dequeues of unknown outcome may "
            "have taken any of them before the queue was found empty"
        )
    rows = np.concatenate((claims.puts, claims.takes, claims.empty))
    order = np.lexsort((np.arange(len(rows)), table.call[rows]))
    rows = rows[order]
    size = len(claims.puts), len(claims.takes), len(claims.empty)
    results = [None] * size[0] + list(claims.taken) + [None] * size[2]
    parts = dataclasses.replace(
        table.take(rows),
        functions=("enqueue", "dequeue"),
        f=np.repeat(np.array([0, 1, 1], dtype=np.int16), size)[order],
        result=Values.of(results[at] for at in order.tolist()),
    )
    decision = check_linearizable(MultisetQueue(), parts, budget)
    if witness := decision.witness:
        witness.operations = sorted({int(rows[row]) for row in witness.operations})
        witness.minimal &= not table.is_f("drain")[witness.operations].any()
        if witness.prefix is not None:
            witness.prefix = list(dict.fromkeys(int(rows[row]) for row in witness.prefix))
        if witness.stuck is not None:
            witness.stuck = int(rows[witness.stuck])
    return decision


MULTISET_QUEUE = ModelEntry(
    name="queue",
    summary="a queue without an order: nothing lost, nothing twice",
    runs="none: without an order, what a dead consumer took may come out again",
    functions={
        "enqueue": "a value",
        "dequeue": "nothing -> some value, or null: it was empty",
        "drain": "nothing -> the list of all values that came out until it was empty, at whatever "
        "time of the call that was",
    },
    algorithms=(
        Algorithm(
            ALGORITHM,
            "each value enqueued once, or its enqueues and its dequeues do not overlap, or the "
            "queue was never found empty: exact",
            "O(n log n)",
            "Jepsen, jepsen.checker/total-queue; Henzinger, Sezgin, Vafeiadis, CONCUR 2013",
        ),
        searched("values enqueued again, overlapping, and the queue found empty"),
    ),
    decide=decide_multiset_queue,
)
