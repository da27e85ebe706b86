"""What a fenced mutex and an election are, by definition; and small histories of them.

As `tests.checker.deciders.lock_definition`, with tokens: one process holds, with a token that
is larger than all before. Whoever holds and is given its token again holds it more deeply.
A leader that learns that it has lost holds nothing any more.
"""

from math import inf

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.locks.holds_table import ACQUIRES, RELEASES
from rumpus.checker.deciders.locks.mutex import MUTEX
from rumpus.checker.deciders.operation_table import FAIL, INFO, OK, OperationTable
from tests.checker.brute_force import Act, linearizable
from tests.checker.deciders import lock_definition

KINDS = {
    **dict.fromkeys(ACQUIRES, "acquire"),
    **dict.fromkeys(RELEASES, "release"),
    "lost": "lost",
}


def step(state, operation):
    """State: rows that have taken effect, a process; the hold; the largest token; dead sessions."""
    done, hold, largest, dead = state
    kind, process, row, session, token, late = operation
    if kind == "expire":
        left = None if hold is not None and hold[1] == session else hold
        return [(done, left, largest, dead | {session})]
    if row is not None:
        latest = dict(done).get(process, -1)
        if latest > row and not late:
            return []
        done = frozenset({**dict(done), process: max(row, latest)}.items())
    if session in dead:
        return []
    if kind == "acquire":
        if hold is None:
            if token is not None and token <= largest:
                return []
            hold = (process, session, token, 1)
            largest = largest if token is None else token
        elif token is not None and hold[:3] == (process, session, token):
            hold = (*hold[:3], hold[3] + 1)
        else:
            return []
    elif kind == "lost":
        hold = None if hold is not None and hold[0] == process else hold
    elif kind == "release":
        if hold is None or hold[0] != process:
            return []
        hold = (*hold[:3], hold[3] - 1) if hold[3] > 1 else None
    return [(done, hold, largest, dead)]


def acceptable(table, forgotten=frozenset(), field="token"):
    """Whether some linearization explains all rows but those that are forgotten."""
    sessions, tokens = table.field("session"), table.field(field)
    named = {session for session in sessions if session is not None}
    acts = [
        Act(-1000, inf, ("expire", None, None, each, None, False), optional=True) for each in named
    ]
    for row in range(len(table)):
        outcome = table.outcome[row]
        if outcome == FAIL:
            continue
        known = row not in forgotten
        kind = KINDS.get(table.function(row), "other")
        told = known and outcome == OK
        if kind == "other" and not told:
            continue
        session = sessions[row] if told and kind != "lost" else None
        if kind == "acquire" and not told and named:
            session = f"of row {row}"
            expiry = ("expire", None, None, session, None, False)
            acts.append(Act(-1000, inf, expiry, optional=True))
        ordered = None if kind == "other" else row
        token = tokens[row] if told else None
        late = known and outcome == INFO
        operation = (kind, int(table.process[row]), ordered, session, token, late)
        if not known:
            acts.append(Act(-1000, inf, operation, optional=True))
        elif outcome == INFO:
            acts.append(Act(int(table.call[row]), inf, operation, optional=True))
        else:
            acts.append(Act(int(table.call[row]), int(table.returned[row]), operation))
    return linearizable(acts, (frozenset(), None, -inf, frozenset()), step)


def generate(rng, *, size, nests=0.05, moved=0.35):
    """A small history of a lock, with tokens nearly in the order of the grants.

    ``moved`` is how often one of the tokens is another. Mostly it is a mutex.
    """
    for _ in range(rng.choice((1, 4))):
        table = lock_definition.generate(rng, size=size, shares=(0.1, 0.05), nests=nests)
        if decide(MUTEX, table).valid is True:
            break
    rows = rows_of(table)
    number_grants(rng, rows)
    while rng.random() < moved:
        granted = [row for row in rows if "token" in row]
        if not granted:
            break
        row = rng.choice(granted)
        row["token"] = max(1, row["token"] + rng.choice((-2, -2, -1, 1, 2)))
    return OperationTable.from_rows(rows)


def rows_of(table):
    """A table as `OperationTable.from_rows` takes it."""
    rows = []
    for at in range(len(table)):
        row = {
            "f": table.function(at),
            "process": int(table.process[at]),
            "call": int(table.call[at]),
            "returned": int(table.returned[at]),
            "outcome": int(table.outcome[at]),
        }
        row |= {n: column[at] for n, column in table.fields.items() if column[at] is not None}
        rows.append(row)
    return rows


def number_grants(rng, rows, field="token"):
    """Tokens in the order of moments at which the acquires may have been granted."""
    granted = [row for row in rows if row["f"] in ACQUIRES and row["outcome"] == OK]
    # A grant takes effect late, as a rule: it had to wait for others.
    granted.sort(key=lambda row: row["returned"] - rng.choice((0, 0, 0, 0, 1)))
    for number, row in enumerate(granted, start=1):
        row[field] = number
