"""For every model, histories that it refuses, in which each of its operations takes part.

Each operation that is part of a model stands in the witness of some refusal: an operation that
never does could say anything. Names that mean the same take each other's place.
"""

from collections import defaultdict

import pytest

from rumpus.checker.deciders.decide import NO_PART, decide
from rumpus.checker.deciders.operation_table import FAIL, OperationTable
from rumpus.checker.deciders.registry import MODELS


def op(f, process, call, argument=None, result=None, lasts=1, **columns):
    """An acknowledged operation, or what ``columns`` make of it."""
    return {
        "f": f,
        "process": process,
        "call": call,
        "returned": call + lasts,
        "argument": argument,
        "result": result,
        **columns,
    }


TWO_HOLD = [op("acquire", 0, 0, token=1), op("acquire", 1, 5, token=2)]
HANDED_OVER = [
    op("acquire", 0, 0, token=1),
    op("release", 0, 9),
    op("acquire", 1, 5, token=2),
]
NOT_HELD = [op("acquire", 0, 0, token=1), op("release", 0, 3), op("release", 0, 6)]
TOKENS_FALL = [op("acquire", 0, 0, token=2), op("release", 0, 3), op("acquire", 1, 6, token=1)]
STALE = [op("write", 0, 0, "a"), op("write", 0, 3, "b"), op("read", 1, 6, None, "a")]
LATE_EVENT = [
    op("write", 0, 0, "a", zxid=1, key="k", session="s"),
    op("watch", 1, 3, None, "a", zxid=1, key="k", session="t"),
    op("write", 0, 6, "b", zxid=2, key="k", session="s"),
    op("read", 1, 9, None, "b", zxid=2, key="k", session="t"),
]
WENT_BACK = [
    op("write", 0, 0, "a", zxid=1, key="k", session="s"),
    op("write", 0, 3, "b", zxid=2, key="k", session="s"),
    op("read", 1, 6, None, "b", zxid=2, key="k", session="t"),
    op("read", 1, 9, None, "a", zxid=1, key="k", session="t"),
]
TWICE = [
    op("enqueue", 0, 0, 5),
    op("dequeue", 1, 3, None, 5),
    op("dequeue", 1, 6, None, 5),
]
OUT_OF_ORDER = [
    op("enqueue", 0, 0, 5),
    op("enqueue", 0, 3, 6),
    op("dequeue", 1, 6, None, 6),
    op("dequeue", 1, 9, None, 5),
]
NOT_EMPTY = [op("enqueue", 0, 0, 5), op("dequeue", 1, 3)]

REFUSED = {
    "register": [(None, STALE)],
    "cas-register": [
        (None, STALE),
        (None, [op("cas", 0, 0, ("a", "b"))]),
        ("a", [op("cas", 0, 0, ("a", "b"), outcome=FAIL, refused=True)]),
    ],
    "versioned-register": [
        (
            None,
            [
                op("write", 0, 0, "a", version=1),
                op("write", 0, 3, "b", version=2),
                op("read", 1, 6, None, "a", version=1),
            ],
        ),
        (
            None,
            [op("write", 0, 0, "a", version=1), op("cas", 0, 3, (1, "b"), version=1)],
        ),
    ],
    "append": [
        (None, [op("append", 0, 0, "a"), op("get", 1, 3, None, "")]),
        (None, [op("append", 0, 0, "a"), op("read", 1, 3, None, "")]),
        (None, [op("put", 0, 0, "a"), op("get", 1, 3, None, "")]),
        (None, [op("write", 0, 0, "a"), op("read", 1, 3, None, "")]),
        (
            None,
            [op("append", 0, 0, "a"), op("append", 0, 2, "a"), op("get", 1, 5, None, "a")],
        ),
    ],
    "multi-register": [
        (None, [op("write", 0, 0, {"x": 1}), op("read", 1, 3, None, {"x": None})]),
        (
            None,
            [
                op("txn", 0, 0, [["w", "x", 1]], [["w", "x", 1]]),
                op("txn", 1, 3, [["r", "x", None]], [["r", "x", None]]),
            ],
        ),
    ],
    "mutex": [
        (None, TWO_HOLD),
        (None, HANDED_OVER),
        (None, NOT_HELD),
        (None, [op("acquire", 0, 0), op("try_acquire", 1, 3, None, {})]),
        (None, [op("try_acquire", 1, 3, None, False)]),
    ],
    "reentrant-mutex": [(None, TWO_HOLD), (None, HANDED_OVER), (None, NOT_HELD)],
    "semaphore": [
        (1, TWO_HOLD),
        (1, HANDED_OVER),
        (1, NOT_HELD),
        (2, [op("acquire", 0, 0, 2), op("acquire", 1, 3)]),
        (2, [op("acquire", 0, 0), op("release", 0, 3, 2)]),
    ],
    "read-write-lock": [
        (None, [op("acquire", 0, 0, "read"), op("acquire", 1, 3, "write")]),
        (
            None,
            [
                op("acquire", 0, 0, "write"),
                op("release", 0, 9, "write"),
                op("acquire", 1, 3, "write"),
            ],
        ),
        (None, [op("acquire_read", 0, 0), op("acquire_write", 1, 3)]),
        (None, [op("acquire_read", 0, 0), op("release_write", 0, 3)]),
        (None, [op("acquire_write", 0, 0), op("release_read", 0, 3)]),
    ],
    "atomic-commitment": [
        (
            None,
            [
                op("decide", 0, 0, None, "commit", key="t"),
                op("decide", 1, 0, None, "abort", key="t"),
            ],
        ),
        (None, [op("vote", 0, 0, "no", key="t"), op("decide", 1, 3, None, "commit", key="t")]),
    ],
    "barrier": [(2, [op("enter", 0, 0), op("enter", 1, 5)])],
    "double-barrier": [
        (2, [op("enter", 0, 0), op("enter", 1, 5)]),
        (2, [op("enter", 0, 0), op("enter", 1, 0), op("leave", 0, 3), op("leave", 1, 6)]),
    ],
    "gate": [
        (None, [op("create", 0, 0), op("wait", 1, 3)]),
        (True, [op("remove", 0, 0, None, True), op("remove", 1, 3, None, True)]),
    ],
    "fenced-mutex": [
        (None, TWO_HOLD),
        (None, HANDED_OVER),
        (None, NOT_HELD),
        (None, TOKENS_FALL),
        (None, [op("acquire", 0, 0, token=1), op("try_acquire", 1, 5, token=2)]),
    ],
    "fencing-tokens": [
        (
            None,
            [
                op("acquire", 0, 5, token=2, lasts=0),
                op("release", 0, 5, lasts=0),
                op("acquire", 0, 5, token=1, lasts=0),
            ],
        ),
        (None, [op("acquire", 0, 0, token=2), op("acquire", 1, 5, token=1)]),
        (None, [op("acquire", 0, 0, token=2), op("try_acquire", 1, 5, token=1)]),
        (None, [op("acquire", 0, 0, token=1), op("release", 0, 3), op("acquire", 0, 6, token=1)]),
    ],
    "leader-election": [
        (None, TWO_HOLD),
        (None, HANDED_OVER),
        (None, NOT_HELD),
        (None, TOKENS_FALL),
        (None, [op("acquire", 0, 0, token=1), op("try_acquire", 1, 5, token=2)]),
        (
            None,
            [op("acquire", 0, 0, token=1), op("lost", 0, 9), op("acquire", 1, 5, token=2)],
        ),
    ],
    "unique-ids": [(None, [op("generate", 0, 0, None, 1), op("generate", 1, 0, None, 1)])],
    "fifo-queue": [
        (None, TWICE),
        (None, NOT_EMPTY),
        (None, OUT_OF_ORDER),
    ],
    "counter": [
        (None, [op("add", 0, 0, 2), op("read", 1, 3, None, 1)]),
        (None, [op("increment", 0, 0), op("read", 1, 3, None, 0)]),
        (3, [op("decrement", 0, 0), op("read", 1, 3, None, 3)]),
    ],
    "queue": [
        (None, TWICE),
        (None, NOT_EMPTY),
        (None, [op("enqueue", 0, 0, 5), op("drain", 1, 3, None, [])]),
    ],
    "sequential-consistency": [
        (None, WENT_BACK),
        (None, [{**row, "f": {"read": "watch"}.get(row["f"], row["f"])} for row in WENT_BACK]),
        (
            None,
            [
                op("create", 0, 0, "a", zxid=2, key="k", session="s"),
                op("write", 0, 3, "b", zxid=1, key="k", session="s"),
            ],
        ),
    ],
    "session-guarantees": [
        (None, WENT_BACK),
        (None, LATE_EVENT),
        (None, [op("event", 1, 0, key="k", session="t", zxid=1)] * 2),
        (
            None,
            [
                op("create", 0, 0, "a", zxid=1, key="k", session="s"),
                op("write", 0, 3, "b", zxid=2, key="k", session="s"),
                op("sync", 1, 6, session="t"),
                op("read", 1, 9, None, "a", zxid=1, key="k", session="t"),
            ],
        ),
        (
            None,
            [
                op("create", 0, 0, "a", zxid=2, key="k", session="s"),
                op("write", 0, 3, "b", zxid=1, key="k", session="s"),
            ],
        ),
    ],
    "priority-queue": [
        (None, TWICE),
        (None, NOT_EMPTY),
        (None, OUT_OF_ORDER),
    ],
    "set": [
        (None, [op("add", 0, 0, 5), op("contains", 1, 3, 5, False)]),
        ([5], [op("remove", 0, 0, 5), op("contains", 1, 3, 5, True)]),
        (None, [op("add", 0, 0, 5), op("read", 1, 3, None, [])]),
    ],
}
"""Model -> initial value and history, each refused."""

SAME = [
    {"acquire", "lock", "campaign"},
    {"release", "unlock", "resign"},
    {"enter", "await", "wait"},
    {"add", "increment", "inc"},
    {"decrement", "dec"},
]
"""Names that mean the same wherever a model has them (``wait`` at a gate aside)."""


def alike(model):
    """A model's histories, with names that mean the same in each other's place."""
    known = MODELS[model].functions
    for initial, rows in REFUSED[model]:
        yield initial, rows
        used = {row["f"] for row in rows}
        for names in SAME:
            for other in (names & set(known)) - used if names & used and model != "gate" else ():
                yield (
                    initial,
                    [{**row, "f": other if row["f"] in names else row["f"]} for row in rows],
                )


@pytest.mark.parametrize("model", MODELS)
def test_each_operation_of_a_model_takes_part_in_some_refusal(model):
    involved = defaultdict(int)
    for initial, rows in alike(model):
        table = OperationTable.from_rows(rows)
        decision = decide(MODELS[model], table, initial)
        assert decision.valid is False, (initial, rows)
        for row in decision.witness.operations:
            involved[table.function(row)] += 1
    part = {name for name, words in MODELS[model].functions.items() if words != NO_PART}
    assert set(involved) == part
