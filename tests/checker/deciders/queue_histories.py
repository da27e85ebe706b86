"""Small histories of queues, orderly ones and broken ones, and the definitions they are held to."""

from functools import partial
from math import inf

from hypothesis import note

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from tests.checker.brute_force import Act, linearizable
from tests.checker.forgetting import refuses_rightly

UNKNOWN = object()


def bag(state, operation):
    """Anything that is inside may come out. State: the values, sorted."""
    f, value, _ = operation
    if f == "enqueue":
        return [tuple(sorted((*state, value)))]
    if value is UNKNOWN:
        return {_without(state, at) for at in range(len(state))} | {state}
    if value is None:
        return [] if state else [state]
    return [_without(state, state.index(value))] if value in state else []


def fifo(state, operation):
    """State: the values, the oldest first."""
    f, value, _ = operation
    if f == "enqueue":
        return [(*state, value)]
    return _head(state, value)


def urgent(state, operation):
    """State: pairs of priority and value, the next one first; equals in order of arrival."""
    f, value, priority = operation
    if f == "enqueue":
        at = sum(other <= priority for other, _ in state)
        return [(*state[:at], (priority, value), *state[at:])]
    if value is UNKNOWN or value is None:
        return _head(state, value)
    return [state[1:]] if state and state[0][1] == value else []


def _head(state, value):
    if value is UNKNOWN:
        return [state[1:]]
    if value is None:
        return [] if state else [state]
    return [state[1:]] if state and state[0] == value else []


def _without(state, at):
    return state[:at] + state[at + 1 :]


def acceptable(rows, step, forgotten=frozenset()):
    """Whether a queue explains the rows, of which some may have happened at any time or never."""
    acts = []
    for at, row in enumerate(rows):
        outcome = row.get("outcome", OK)
        if outcome == FAIL:
            continue
        call, returned, optional = row["call"], row["returned"], outcome == INFO
        if at in forgotten:
            call, returned, optional = -1, inf, True
        elif optional:
            returned = inf
        acts += [
            Act(call, returned, each, optional, row.get("process"))
            for each in _operations(row, outcome)
        ]
        if row["f"] == "drain" and outcome == INFO:
            unknown = ("dequeue", UNKNOWN, None)
            most = sum(each["f"] == "enqueue" for each in rows)
            acts += [Act(call, returned, unknown, optional=True)] * most
    return linearizable(acts, (), step)


def _operations(row, outcome):
    if row["f"] == "enqueue":
        return [("enqueue", row["argument"], row.get("priority", row["argument"]))]
    if row["f"] == "drain":
        if outcome == INFO:
            return []
        taken = row["result"] or []
        return [("dequeue", value, None) for value in (*taken, None)]
    return [("dequeue", UNKNOWN if outcome == INFO else row.get("result"), None)]


def orderly(rng, step, *, most=7, distinct=True, priorities=None, drains=False):
    """A history that a queue explains by construction, some of its outcomes unknown."""
    rows = []
    # Not a drain of weight 0: Hypothesis draws numbers at the very end of their range.
    weights = {"enqueue": 6, "dequeue": 5, **({"drain": 2} if drains else {})}
    for process in range(rng.randint(2, 4)):
        time = rng.randint(0, 10)
        for _ in range(rng.randint(2, 4)):
            f = rng.choices([*weights], [*weights.values()])[0]
            returned = time + rng.randint(0, 5)
            point = rng.uniform(time, returned)
            rows.append(
                {"f": f, "process": process, "call": time, "returned": returned, "point": point}
            )
            time = returned + rng.randint(1, 4)
    rng.shuffle(rows)
    rows = sorted(rows[:most], key=lambda row: row["call"])
    state, count = (), 0
    for row in sorted(rows, key=lambda row: row["point"]):
        outcome = rng.choices((OK, INFO, FAIL), (8, 1.3, 0.7))[0]
        happens = outcome == OK or (outcome == INFO and rng.random() < 0.6)
        row["outcome"] = outcome
        if row["f"] == "enqueue":
            count += 1
            row["argument"] = count if distinct else rng.randint(1, 2)
            if priorities:
                row["priority"] = rng.randint(1, priorities)
            if happens:
                [state] = step(state, _operations(row, OK)[0])
        elif happens:
            taken = []
            for _ in range(len(state) if row["f"] == "drain" else min(len(state), 1)):
                head = state[0] if step is not bag else rng.choice(state)
                value = head[1] if step is urgent else head
                [state] = step(state, ("dequeue", value, None))
                taken.append(value)
            if outcome == OK:
                row["result"] = taken if row["f"] == "drain" else taken[0] if taken else None
        if outcome == INFO:
            row["returned"] = NEVER
    for row in rows:
        del row["point"]
    return rows


def corrupt(rng, rows):
    """One thing is changed: results swapped, doubled, made up or lost; an interval moved."""
    drains = [row for row in rows if row["f"] == "drain" and row["outcome"] == OK]
    if drains and rng.random() < 0.5:
        listed = rng.choice(drains)["result"]
        put = [row["argument"] for row in rows if row["f"] == "enqueue"]
        if listed and rng.random() < 0.7:
            listed.pop()
        elif put:
            listed.append(rng.choice(put))
        return
    takes = [row for row in rows if row["f"] == "dequeue" and row["outcome"] == OK]
    kind = rng.choice(("swap", "swap", "double", "empty", "make up", "shrink", "move", "move"))
    if kind in ("shrink", "move") or not takes:
        done = [row for row in rows if row["outcome"] != INFO]
        if not done:
            return
        row = rng.choice(done)
        if kind == "shrink":
            row["call"] = row["returned"] = rng.randint(row["call"], row["returned"])
        else:
            by = rng.randint(-8, 8)
            by = max(by, -row["call"])
            row["call"], row["returned"] = row["call"] + by, row["returned"] + by
        rows.sort(key=lambda row: row["call"])
        return
    one, other = rng.sample(takes, 2) if len(takes) > 1 else takes * 2
    if kind == "swap":
        one["result"], other["result"] = other.get("result"), one.get("result")
    elif kind == "double":
        one["result"] = other.get("result")
    elif kind == "empty":
        one["result"] = None
    else:
        one["result"] = rng.choice(
            [row["argument"] for row in rows if row["f"] == "enqueue"] or [1]
        )


def enqueue(process, call, returned, value, **rest):
    """A row."""
    row = {"f": "enqueue", "process": process, "call": call, "returned": returned}
    return row | {"argument": value} | rest


def take(f, process, call, returned, result=None, **rest):
    """A row of a dequeue or a drain."""
    row = {"f": f, "process": process, "call": call, "returned": returned}
    return row | {"result": result} | rest


dequeue = partial(take, "dequeue")


def unknown(row):
    """The row with an unknown outcome."""
    return row | {"outcome": INFO, "returned": NEVER}


def judges(entry, step):
    """``judge`` decides rows by a queue's entry; ``is_refused_rightly`` compares with ``step``."""

    def judge(rows):
        return decide(entry, OperationTable.from_rows(rows))

    def is_refused_rightly(rows):
        note(rows)
        return refuses_rightly(judge(rows), len(rows), partial(acceptable, rows, step))

    return judge, is_refused_rightly
