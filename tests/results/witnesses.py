"""Tables with witnesses to draw."""

from hypothesis import strategies as st

from rumpus.checker.deciders.decision import Witness
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable

MS = 1_000_000
NASTY = '</title></svg><script>alert("1")</script>&\'\x1b[2J\x00\u202e'


@st.composite
def witnesses(draw, most=12):
    """A table of some processes' operations, and a witness of some of them."""
    free = [0, 0, 0, 0]
    rows = []
    for _ in range(draw(st.integers(1, most))):
        process = draw(st.integers(0, 3))
        call = free[process] + draw(st.sampled_from([0, 0, 1, 7, 40 * MS]))
        length = draw(st.sampled_from([0, 1, 5, 30 * MS, 900 * MS]))
        outcome = draw(st.sampled_from([OK, OK, OK, INFO, FAIL]))
        free[process] = call + length
        f = draw(st.sampled_from(["read", "write", "acquire", "release"]))
        row = {"f": f, "process": process, "call": call, "outcome": outcome}
        row["returned"] = NEVER if outcome == INFO else call + length
        if f in ("read", "write"):
            value = draw(
                st.sampled_from([None, 1, 12345678, "words of some length", "幅の広い文字"])
            )
            row["result" if f == "read" and outcome == OK else "argument"] = value
        rows.append(row)
    table = OperationTable.from_rows(rows)
    numbers = range(len(rows))
    against = [row for row in numbers if draw(st.booleans())] or [0]
    witness = Witness(operations=against, description="they contradict each other")
    if draw(st.booleans()):
        order = draw(st.permutations(numbers))
        witness.prefix = order[: draw(st.integers(0, len(rows)))]
        witness.stuck = draw(st.sampled_from(numbers))
        witness.states = ["1", "nobody's"]
    return table, witness


def split_brain():
    """Two holders at once, and a third that never got it for sure."""
    rows = [
        {"f": "acquire", "process": 7, "call": 0, "returned": 2031 * MS},
        {"f": "acquire", "process": 3, "call": 1000 * MS, "returned": 1900 * MS, "token": 9},
        {"f": "release", "process": 3, "call": 2480 * MS, "returned": 2490 * MS},
        {"f": "acquire", "process": 5, "call": 2485 * MS, "outcome": INFO},
    ]
    return OperationTable.from_rows(rows), Witness(operations=[0, 1, 2, 3], description="both")


def stale_read():
    """A register's witness as the general search gives it, in a file without times."""
    rows = [
        {"f": "write", "process": 0, "call": 0, "returned": 10, "argument": 1},
        {"f": "write", "process": 1, "call": 5, "argument": 2, "outcome": INFO},
        {"f": "read", "process": 2, "call": 12, "returned": 20, "result": 2},
        {
            "f": "cas",
            "process": 0,
            "call": 14,
            "returned": 19,
            "argument": [1, 3],
            "outcome": FAIL,
            "refused": True,
        },
        {"f": "read", "process": 2, "call": 25, "returned": 30, "result": 1},
    ]
    witness = Witness(
        operations=[2, 4],
        description="process 2's read() -> 1 cannot follow",
        prefix=[0, 1, 2, 3],
        stuck=4,
        states=["2"],
    )
    return OperationTable.from_rows(rows), witness


def many(count):
    """So many operations of eight processes, one after the other, two at a time."""
    rows = [
        {
            "f": "write",
            "process": number % 8,
            "call": number * 10 * MS,
            "returned": number * 10 * MS + 15 * MS,
            "argument": number,
        }
        for number in range(count)
    ]
    witness = Witness(operations=list(range(count)), description="all of them")
    return OperationTable.from_rows(rows), witness
