"""What a run's history has in it, and other records in their place."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from rumpus.results.run_directory import RunDirectory
from tests.torture.forgeries import Record, told


def records(run: RunDirectory) -> list[Record]:
    return [json.loads(line) for line in run.history.read_text().splitlines()]


def written(run: RunDirectory, new: Iterable[Record]) -> bool:
    """Write a history with the records numbered anew; whether it differs from the one there."""
    before = run.history.read_text()
    numbered = [{**record, "index": index} for index, record in enumerate(new)]
    run.history.write_text("".join(json.dumps(record) + "\n" for record in numbered))
    return before != run.history.read_text()


def changed(run: RunDirectory, change: Callable[[Record], Record]) -> bool:
    """Change records one by one."""
    before = records(run)
    after = [change(json.loads(json.dumps(record))) for record in before]
    written(run, after)
    return before != after


def both(run: RunDirectory, **fields: Any) -> bool:
    """Say something of the run in ``test.json`` and in the history's first record."""

    def change(record: Record) -> Record:
        if (record["process"], record["f"]) == ("control", "test"):
            record["value"] |= {k: v for k, v in fields.items() if k in record["value"]}
        return record

    return changed(run, change) | told(run, **fields)


def spliced(run: RunDirectory, other: RunDirectory, process: Callable[[Any], bool]) -> bool:
    """Take the records of some processes from another run, sorted in by time."""
    first, *mine = [r for r in records(run) if not process(r["process"])]
    theirs = [r for r in records(other) if process(r["process"])]
    return written(run, [first, *sorted([*mine, *theirs], key=lambda record: record["time"])])


def operations(run: RunDirectory) -> list[list[Record]]:
    """The records of each operation of a client: its call, and its completion if it has one."""
    found: list[list[Record]] = []
    still: dict[int, list[Record]] = {}
    for record in records(run):
        if not isinstance(record["process"], int):
            continue
        if record["type"] == "invoke":
            still[record["process"]] = [record]
            found.append(still[record["process"]])
        elif record["process"] in still:
            still.pop(record["process"]).append(record)
    return found


def without_operations(run: RunDirectory, dropped: Callable[[list[Record]], bool]) -> bool:
    """Drop operations, with the witness's actions in them, which are numbered anew."""
    gone = {r["index"] for each in operations(run) if dropped(each) for r in each}
    acting: set[Any] = set()
    left, order = [], 0
    for record in records(run):
        process, value = record["process"], record.get("value")
        if record["index"] in gone:
            (acting.add if record["type"] == "invoke" else acting.discard)(process)
        elif process != "witness" or value["process"] not in acting:
            if process == "witness" and value.get("order") is not None:
                value["order"], order = order, order + 1
            left.append(record)
    return written(run, left)


def recounted(run: RunDirectory) -> bool:
    """Count the completions at the end anew: then nothing in the files tells of a cut."""
    clients = json.loads(run.record.read_text())["clients"]
    seen = Counter(
        (r["type"], r["process"] % clients) for r in records(run) if isinstance(r["process"], int)
    )

    def change(record: Record) -> Record:
        if (record["process"], record["f"]) == ("control", "end"):
            record["value"] = {
                outcome: [seen[outcome, client] for client in range(clients)]
                for outcome in ("ok", "fail", "info")
            }
        return record

    return changed(run, change)
