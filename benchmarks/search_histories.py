"""Histories for the general search: those of others where they are at hand, and made-up ones."""

from pathlib import Path
from random import Random
from typing import Any

from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OperationTable
from rumpus.results.formats.history_formats import read_table

RECORDED = Path(__file__).resolve().parents[2] / "shared" / "histories" / "porcupine-etcd"


def etcd(count: int) -> list[tuple[OperationTable, bool | None]]:
    """What Jepsen recorded of etcd, with the known verdicts; otherwise made-up ones like them."""
    if not RECORDED.is_dir():
        return [(register(seed, 85, 5, 6, 5, spoilt=seed % 4 != 0), None) for seed in range(count)]
    known = [line.split("\t") for line in (RECORDED / "VERDICTS.tsv").read_text().splitlines()]
    return [
        (read_table(RECORDED / name, "porcupine-etcd"), verdict == "linearizable")
        for name, verdict in known[:count]
    ]


def register(
    seed: int, operations: int, clients: int, unknown: int, values: int, *, spoilt: bool
) -> OperationTable:
    """Reads, writes and cas of one register, each taking effect somewhere in its interval.

    ``spoilt``: at the end a value is read that is not there any more, and that no operation of
    unknown outcome can have written.
    """
    rng = Random(seed)
    plan = _intervals(rng, operations, clients)
    unsure = set(rng.sample(range(operations * 9 // 10), unknown))
    state: int | None = None
    rows: list[dict[str, Any]] = [{}] * operations
    for _, k, client, call, returned in sorted(plan):
        f = rng.choices(["read", "write", "cas"], (4, 3, 3))[0]
        row: dict[str, Any] = {"f": f, "process": client, "call": call, "returned": returned}
        happens = k not in unsure or rng.random() < 0.5
        # What nobody knows never writes 0, which is what is read in the end.
        low = 1 if k in unsure else 0
        if f == "read":
            row["result"] = state
        elif f == "write":
            row["argument"] = rng.randrange(low, values)
            state = row["argument"] if happens else state
        else:
            old = state if state is not None and rng.random() < 0.5 else rng.randrange(values)
            row["argument"] = (old, rng.randrange(low, values))
            if state == old:
                state = row["argument"][1] if happens else state
            else:
                row |= {"outcome": FAIL, "refused": True}
        if k in unsure:
            row |= {"outcome": INFO, "returned": NEVER, "result": None}
        rows[k] = row
    if spoilt:
        end = 10 + max(returned for *_, returned in plan)
        last = {"f": "write", "process": 0, "argument": 1, "call": end, "returned": end + 1}
        stale = {"f": "read", "process": 0, "result": 0, "call": end + 2, "returned": end + 3}
        rows += [last, stale]
    return OperationTable.from_rows(rows)


def appends(
    seed: int,
    operations: int,
    clients: int,
    keys: int,
    *,
    spoilt: bool,
    round_length: int | None = None,
) -> OperationTable:
    """Appends, gets and a few puts of strings, as in Porcupine's key-value logs.

    ``spoilt``: a get in the last tenth misses what came first. ``round_length``: after so many of a
    client's writes it begins to count anew, so that pieces are repeated; None for never.
    """
    rng = Random(seed)
    states = dict.fromkeys(map(str, range(keys)), "")
    rows: list[dict[str, Any]] = []
    written = [0] * clients
    for _, k, client, call, returned in sorted(_intervals(rng, operations, clients)):
        key = rng.choice(list(states))
        f = rng.choices(["append", "get", "put"], (50, 44, 6))[0]
        row: dict[str, Any] = {
            "f": f,
            "key": key,
            "process": client,
            "call": call,
            "returned": returned,
        }
        if f == "get":
            row["result"] = states[key]
        else:
            number = k if round_length is None else written[client] % round_length
            written[client] += 1
            row["argument"] = f"x {client} {number} y"
            states[key] = row["argument"] if f == "put" else states[key] + row["argument"]
        rows.append(row)
    if spoilt:
        gets = [row for row in rows[operations * 9 // 10 :] if row.get("result", "").count("x") > 2]
        gets[0]["result"] = gets[0]["result"].partition(" y")[2]
    return OperationTable.from_rows(rows)


def _intervals(rng: Random, operations: int, clients: int) -> list[tuple[int, int, int, int, int]]:
    """Effect, number, client, call and return of operations that clients make one by one."""
    free = [rng.randrange(1000) for _ in range(clients)]
    plan = []
    for k in range(operations):
        client = min(range(clients), key=free.__getitem__)
        call = free[client]
        effect = call + 1 + int(rng.expovariate(1 / 5000))
        returned = effect + 1 + int(rng.expovariate(1 / 5000))
        plan.append((effect, k, client, call, returned))
        free[client] = returned + 1 + int(rng.expovariate(1 / 2000))
    return plan
