"""What a lock of any kind is, by definition; and small histories of one, for all its deciders.

A process holds a stack of weights, each in a session or in none. Acquires and releases take
effect in the order of their process, but for those of unknown outcome, which may do so at any
later time. A
session may expire at any time, with what it holds; after that none of its operations succeeds. A
process works in one session at a time: that in which it acquired last.
"""

from functools import partial
from math import inf

import numpy as np
from hypothesis import note

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.locks.holds_table import ACQUIRES, RELEASES, TRY, Nesting
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.typed_values import FALSE
from tests.checker.brute_force import Act, linearizable
from tests.checker.forgetting import refuses_rightly


def acceptable(table, nesting, capacity, weight=lambda _: 1, forgotten=frozenset()):
    """Whether some linearization explains all rows but those that are forgotten."""
    processes = sorted(set(table.process.tolist()))
    sessions = table.field("session")
    acts = []
    named = {session for session in sessions if session is not None}
    unknown_expire = bool(named)
    tried = TRY in table.functions

    def may_matter(row, kind):
        """Whether it helps if a forgotten row happens; leaving others out saves time."""
        own = np.flatnonzero((table.process == table.process[row]) & (table.outcome != FAIL))
        if kind == "acquire" and not tried:
            return any(at > row and releases(at) for at in own)
        return kind != "other" and (tried or any(at < row and not releases(at) for at in own))

    def releases(at):
        return table.function(at) in RELEASES

    acts = [Act(-1, inf, ("expire", session), optional=True) for session in named]
    for row in range(len(table)):
        f, outcome = table.function(row), table.outcome[row]
        busy = f == TRY and (table.refused[row] or table.result[row] is FALSE)
        if outcome == FAIL and not busy:
            continue
        kind = (
            "busy"
            if busy
            else "acquire"
            if f in (*ACQUIRES, TRY)
            else "release"
            if f in RELEASES
            else "other"
        )
        if row in forgotten and not may_matter(row, kind):
            continue
        place = processes.index(int(table.process[row]))
        known = row not in forgotten
        session = sessions[row] if known and (outcome == OK or kind == "acquire") else None
        if kind == "acquire" and session is None and unknown_expire and (outcome or not known):
            session = f"of row {row}"
            acts.append(Act(-1, inf, ("expire", session), optional=True))
        late = outcome == INFO and known
        operation = (
            kind,
            place,
            row if kind in ("acquire", "release") or (busy and known) else None,
            weight(row),
            session,
            late,
        )
        if not known:
            acts.append(Act(-1, inf, operation, optional=True))
        elif outcome == INFO:
            acts.append(Act(int(table.call[row]), inf, operation, optional=True))
        else:
            acts.append(Act(int(table.call[row]), int(table.returned[row]), operation))
    empty = tuple(() for _ in processes)
    begin = (tuple(-1 for _ in processes), empty, frozenset(), tuple(None for _ in processes))

    def total(stacks):
        if nesting is Nesting.OUTERMOST:
            return sum(bool(stack) for stack in stacks)
        return sum(own for stack in stacks for own, _ in stack)

    def step(state, operation):
        done, stacks, dead, current = state
        if operation[0] == "expire":
            session = operation[1]
            left = tuple(tuple(h for h in stack if h[1] != session) for stack in stacks)
            return [(done, left, dead | {session}, current)]
        kind, place, row, amount, session, late = operation
        if row is not None:
            if done[place] > row and not late:
                return []
            done = (*done[:place], max(row, done[place]), *done[place + 1 :])
        if session in dead:
            return []
        stack = stacks[place]
        if kind == "busy":
            others = total((*stacks[:place], *stacks[place + 1 :]))
            full = others if nesting is Nesting.OUTERMOST else total(stacks)
            return [(done, stacks, dead, current)] if full + amount > capacity else []
        if kind == "acquire":
            again = nesting is Nesting.OUTERMOST and stack
            if not again and total(stacks) + amount > capacity:
                return []
            stack = (*stack, (amount, session))
            if session in named:
                current = (*current[:place], session, *current[place + 1 :])
        elif kind == "release":
            usable = [h for h in stack if h[1] not in named or h[1] == current[place]]
            kept = [h for h in stack if h not in usable]
            usable = released(tuple(usable), amount)
            if usable is None:
                return []
            stack = (*kept, *usable)
        return [(done, (*stacks[:place], stack, *stacks[place + 1 :]), dead, current)]

    def released(stack, amount):
        if nesting is Nesting.WHOLE:
            places = [at for at, (own, _) in enumerate(stack) if amount in (0, own)]
            return stack[: places[-1]] + stack[places[-1] + 1 :] if places else None
        while amount:
            if not stack:
                return None
            own, session = stack[-1]
            stack = stack[:-1] + (((own - amount, session),) if own > amount else ())
            amount = max(0, amount - own)
        return stack

    return linearizable(acts, begin, step)


def generate(
    rng, *, size, shares, most=4, pause=3, arguments=None, nests=0.0, tries=0.0, keeping=1.0
):
    """A small history of a lock.

    Args:
        rng: all choices.
        size: about how many operations.
        shares: of outcomes: unknown, failed.
        most: how many clients at most.
        pause: how long they pause at most between their operations.
        arguments: function, what was acquired last (or None), rng -> argument of a row.
        nests: how often a process acquires again what it holds, or releases out of turn.
        tries: how often it tries, and is refused.
        keeping: how often a process whose operation has an unknown outcome keeps to the rules.
    """
    with_sessions = rng.random() < 0.5
    clients = rng.randint(2, most)
    rows = []
    last_process = clients
    spread = rng.choice([1, pause])
    for client in range(clients):
        process, session, held = client, f"s{client}", []
        time = rng.randint(0, 4)
        if rng.random() < 0.1:
            session = "s0"
        for _ in range(rng.randint(1, max(1, 2 * size // clients - 1))):
            if len(rows) >= size:
                break
            returned = time + rng.randint(0, 3)
            acquires = not held
            if rng.random() < nests:
                acquires = not acquires
            f = "acquire" if acquires else "release"
            # A clean-up while it still holds something would leave most questions open.
            draw = rng.random() if (acquires and not held) or rng.random() < 0.8 else 1
            outcome = INFO if draw < shares[0] else FAIL if draw < sum(shares) else OK
            row = {
                "f": f,
                "process": process,
                "call": time,
                "returned": NEVER if outcome == INFO else returned,
                "outcome": outcome,
            }
            if arguments is not None:
                row["argument"] = arguments(f, held[-1] if held else None, rng)
            if acquires and outcome == OK and with_sessions and rng.random() < 0.9:
                row["session"] = session
            if acquires and rng.random() < tries:
                row["f"] = TRY
                if outcome == OK and rng.random() < 0.6:
                    answer = rng.random() < 0.5
                    row.update({"result": False} if answer else {"outcome": FAIL, "refused": True})
                    row.pop("session", None)
                    outcome = FAIL
            rows.append(row)
            time = returned + rng.randint(0, spread)
            if outcome == OK and with_sessions and rng.random() < 0.15 and len(rows) < size:
                rows.append(
                    {
                        "f": "work",
                        "process": process,
                        "call": time,
                        "returned": time + 1,
                        "session": session,
                    }
                )
                time += 1 + rng.randint(0, spread)
            if outcome == OK:
                if acquires:
                    held.append(row.get("argument"))
                elif held:
                    held.pop()
            if with_sessions and rng.random() < 0.15:
                session, held = f"{session}'", []
            if outcome == INFO and rng.random() < keeping:
                if acquires and rng.random() < 0.7 and len(rows) < size:
                    clean = rng.random() < 0.8
                    rows.append(
                        {
                            "f": "release",
                            "process": process,
                            "call": time,
                            "returned": time + rng.randint(0, 3) if clean else NEVER,
                            "outcome": OK if clean else INFO,
                            "argument": row.get("argument"),
                        }
                    )
                    time += rng.randint(0, 3)
                process, held, last_process = last_process, [], last_process + 1
    return OperationTable.from_rows(rows)


def orderly(rng, *, size, permits, unknown=0.1):
    """A history that is valid by construction: permits are handed over at points in time."""
    free = [0] * permits
    busy = {}
    rows = []
    for _ in range(size // 2):
        client = rng.randrange(permits + 2)
        process, since = busy.get(client, (client, 0))
        place = rng.randrange(permits)
        begin = max(free[place], since) + rng.randint(0, 3)
        end = begin + rng.randint(0, 4)
        called = rng.randint(since, begin)
        returned = begin + rng.randint(0, end - begin)
        freed = rng.randint(returned, end)
        over = end + rng.randint(0, 3)
        lost = rng.random() < unknown
        free[place] = end
        rows += [
            {"f": "acquire", "process": process, "call": called, "returned": returned},
            {
                "f": "release",
                "process": process,
                "call": freed,
                "returned": NEVER if lost else over,
                "outcome": INFO if lost else OK,
            },
        ]
        busy[client] = (process + 100 if lost else process, over + rng.randint(0, 2))
    return OperationTable.from_rows(rows)


def moved(rng, table):
    """A release is called later, or an acquire returns sooner, as far as its process allows."""
    row = rng.randrange(len(table))
    call, returned = table.call.copy(), table.returned.copy()
    own = np.flatnonzero(table.process == table.process[row])
    if table.function(row) == "acquire":
        before = [int(returned[at]) for at in own if at < row]
        call[row] = returned[row] = max([0, int(call[row]) - rng.randint(1, 5), *before])
    elif table.outcome[row] == OK:
        after = [int(call[at]) for at in own if at > row]
        call[row] = returned[row] = min([int(returned[row]) + rng.randint(1, 6), *after])
    rows = [
        {
            "f": table.function(at),
            "process": int(table.process[at]),
            "call": int(call[at]),
            "returned": int(returned[at]),
            "outcome": int(table.outcome[at]),
        }
        for at in range(len(table))
    ]
    return OperationTable.from_rows(rows)


def in_words(table):
    """A history, a line an operation, to go with a failure."""
    sessions = table.field("session")
    return "\n".join(
        f"{row}: p{table.process[row]} {table.function(row)}({table.argument[row]}) "
        f"[{table.call[row]}, {'...' if table.returned[row] == NEVER else table.returned[row]}] "
        f"{['ok', 'fail', 'info'][table.outcome[row]]} {table.result[row]} {sessions[row]}"
        for row in range(len(table))
    )


def agrees(entry, table, nesting, capacity, *, weight=lambda _: 1, initial=None):
    """Assert that a decider's answer is the definition's, and so is its witness.

    Returns:
        Whether the history is a violation, and the decision.
    """
    note(in_words(table))
    decision = decide(entry, table, initial)
    note(f"{decision}")
    expected = acceptable(table, nesting, capacity, weight)
    if decision.valid == "unknown":
        return not expected, decision
    judged = partial(acceptable, table, nesting, capacity, weight)
    return refuses_rightly(decision, len(table), judged, minimal=False), decision


def told(entry, table):
    """The rows of a minimal witness, and what is said of them."""
    decision = decide(entry, table)
    assert decision.valid is False
    assert decision.witness.minimal
    return decision.witness.operations, decision.witness.description
