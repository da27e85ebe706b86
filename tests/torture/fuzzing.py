"""Documents that get past their readers, thousands of them, in children with little to spend."""

import json
import os
import resource
import shutil
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from tests.torture.documents import Kind, kinds
from tests.torture.grammar import changed, pool_of
from tests.torture.table import Row

CPU_S = 20
MEMORY = 1 << 30
BATCH = 200
"""Documents that one child takes: to fork costs more than most of them."""
CORPUS = Path(__file__).parent / "corpus"
"""Documents that were once a defect: objects with ``kind``, ``document``, and whether it is
``taken`` by its reader."""


class Fuzzer:
    """Makes documents and has them read.

    Args:
        seed: of every choice.
    """

    def __init__(self, seed: int = 0) -> None:
        self.kinds = kinds()
        self._seed = seed
        self._pools = {name: pool_of(kind.examples) for name, kind in self.kinds.items()}

    def document(self, number: int) -> tuple[str, Any]:
        """One of them: its kind and itself."""
        chance = Random(f"{self._seed} {number}")
        name = [*self.kinds][number % len(self.kinds)]
        example = chance.choice(self.kinds[name].examples)
        other = chance.choice([*self.kinds]) if chance.random() < 0.02 else name
        return name, changed(example, self._pools[other], chance)


def taken(kind: Kind, document: Any, place: Path) -> bool:
    """Whether a reader takes a document; what follows is done.

    Raises:
        Exception: the program did what it may never do.
    """
    place.mkdir(parents=True)
    try:
        return kind.follow(document, place)
    finally:
        shutil.rmtree(place)


def fuzzed(count: int, place: Path, seed: int = 0) -> Row:
    """Have documents read in children of limited time and memory."""
    row, fuzzer = Row(f"{count:,} documents, changed after parsing"), Fuzzer(seed)
    place.mkdir(parents=True, exist_ok=True)
    number = 0
    while number < count:
        log = place / "told"
        log.write_text("")
        status, usage = _child(fuzzer, range(number, min(count, number + BATCH)), place, log)
        told = [json.loads(line) for line in log.read_text().splitlines()]
        for name, way, words in told:
            row.count(way)
            row.count(f"{name}: {way}")
            if way == "defect":
                row.defect(f"{name}, {words}")
        row.memory = max(row.memory, usage.ru_maxrss / 1024)
        number += len(told)
        if status:
            name, document = fuzzer.document(number)
            (place / f"{number}.json").write_text(json.dumps([name, document]))
            row.defect(f"{name} ({seed}/{number}): ended the process with {status}")
            number += 1
    row.ways = _shares(row.ways)
    return row


def _shares(ways: Counter[str]) -> Counter[str]:
    """The counts, with the share of each kind that its reader took."""
    found: Counter[str] = Counter()
    for way, number in ways.items():
        name, _, what = way.rpartition(": ")
        if not name:
            found[way] = number
        elif what == "taken":
            whole = sum(ways[f"{name}: {each}"] for each in ("taken", "refused", "defect"))
            found[f"{name} taken in % of {whole}:"] = round(100 * number / whole)
    return found


def _child(fuzzer: Fuzzer, numbers: range, place: Path, log: Path) -> tuple[int, Any]:
    """Have documents read in a child; its exit code, and what it used."""
    if pid := os.fork():
        _, status, usage = os.wait4(pid, 0)
        return os.waitstatus_to_exitcode(status), usage
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        with log.open("a") as file:
            for number in numbers:
                spent = int(time.process_time()) + CPU_S
                resource.setrlimit(resource.RLIMIT_CPU, (spent, resource.RLIM_INFINITY))
                name, document = fuzzer.document(number)
                way, words = "", ""
                try:
                    read = taken(fuzzer.kinds[name], document, place / "here")
                    way = "taken" if read else "refused"
                except Exception as error:
                    way, words = "defect", f"{number}: {type(error).__name__}: {error}"[:600]
                    (place / f"{number}.json").write_text(json.dumps([name, document]))
                file.write(json.dumps([name, way, words]) + "\n")
                file.flush()
        os._exit(0)
    finally:
        os._exit(70)
