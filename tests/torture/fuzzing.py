"""Documents that get past their readers, thousands of them, in children with little to spend."""

import json
import os
import resource
import shutil
import time
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
FORGET_PEAK = "5"
"""What the kernel is told (proc(5)), so that a process's peak of memory is that of now."""
LEAST, MANY = 0.5, 100
"""The share of a kind that its reader has to take, of so many documents."""
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
    shutil.rmtree(place, ignore_errors=True)  # of a process that was ended
    place.mkdir(parents=True)
    try:
        return kind.follow(document, place)
    finally:
        shutil.rmtree(place)


def fuzzed(count: int, place: Path, seed: int = 0) -> list[Row]:
    """Have documents read in children of limited time and memory; a row a kind.

    What is told of each is kept in a file. So a call that was cut off goes on where it was, if it
    is given the same place, count and seed.
    """
    fuzzer, log = Fuzzer(seed), place / "told"
    place.mkdir(parents=True, exist_ok=True)
    log.touch()
    while (number := len(told := _lines(log))) < count:
        status = _child(fuzzer, range(number, min(count, number + BATCH)), place, log)
        if status:
            number = len(_lines(log))
            name, document = fuzzer.document(number)
            (place / f"{number}.json").write_text(json.dumps([name, document]))
            with log.open("a") as file:
                words = f"{seed}/{number}: ended the process with {status}"
                file.write(json.dumps([name, "defect", words, 0.0, 0.0]) + "\n")
    rows = {name: Row("") for name in fuzzer.kinds}
    for name, way, words, seconds, memory in told:
        rows[name].count(way)
        rows[name].take(seconds, memory)
        if way == "defect":
            rows[name].defect(words)
    for name, row in rows.items():
        _told(name, row)
    return [*rows.values()]


def _lines(log: Path) -> list[Any]:
    """What is told of each document; a line that was cut off tells nothing, and goes."""
    whole = [line for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
    log.write_text("".join(whole))
    return [json.loads(line) for line in whole]


def _told(name: str, row: Row) -> None:
    """What share of a kind its reader took: where it is small, little else was tried."""
    whole = row.ways.total()
    share = row.ways["taken"] / whole if whole else 1
    row.title = f"{whole:,} {name}, changed after parsing, of which {share:.0%} taken"
    if share < LEAST and whole >= MANY:
        row.defect(f"only {share:.0%} taken")


def _child(fuzzer: Fuzzer, numbers: range, place: Path, log: Path) -> int:
    """Have documents read in a child; its exit code."""
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        with log.open("a") as file:
            for number in numbers:
                file.write(json.dumps(_read(fuzzer, number, place)) + "\n")
                file.flush()
        os._exit(0)
    finally:
        os._exit(70)


def _read(fuzzer: Fuzzer, number: int, place: Path) -> tuple[str, str, str, float, float]:
    """Have a document read: its kind, how that ended, words, CPU seconds, and the most memory."""
    name, document = fuzzer.document(number)
    began = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(began) + CPU_S, resource.RLIM_INFINITY))
    Path("/proc/self/clear_refs").write_text(FORGET_PEAK)
    way, words = "", ""
    try:
        way = "taken" if taken(fuzzer.kinds[name], document, place / "here") else "refused"
    except Exception as error:
        way, words = "defect", f"{number}: {type(error).__name__}: {error}"[:600]
        (place / f"{number}.json").write_text(json.dumps([name, document]))
    return name, way, words, time.process_time() - began, _peak()


def _peak() -> float:
    """The most memory that this process had since it forgot, MB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024
