"""More of everything than anybody has: clients, servers, workers of pytest, explorations.

What is measured is what grows: memory, processes, open files, threads.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from rumpus import command_line
from tests.rumpus.conftest import Program
from tests.torture.ended_commands import BEGUN, begun
from tests.torture.table import Row

WITHIN_S = 3600.0

SERVERS = """
import pytest
from kazoo.client import KazooClient

@pytest.mark.parametrize("number", range({tests}))
@pytest.mark.zookeeper(nodes=3, ensemble="sim")
def test_my_service(zookeeper, number):
    client = KazooClient(hosts=zookeeper.hosts, timeout=10)
    client.start(timeout=60)
    client.create("/mine", str(number).encode())
    zookeeper.kill("n1")
    assert client.retry(client.get, "/mine")[0] == str(number).encode()
    client.stop()
    client.close()
"""

EXPLORE = (
    "explore lock --recipe fair --ensemble sim --seeds 1 --time-limit 1 --clients 2 --nodes 1 "
    "--nemesis none --jobs 1 --json"
)

MORE_MB, MORE = 20.0, 2
"""How much memory, and how many files and threads, a process may have more than it had at the first
look."""


def many_clients(count: int, place: Path, nodes: int = 7) -> Row:
    """Run so many simulated clients, and check the run again."""
    row = Row(f"{count} clients with {nodes} servers, simulated")
    runs = place / "runs"
    load = f"--clients {count} --nodes {nodes} --ensemble sim --seed 1 --time-limit 20"
    lines = {
        "run": f"run lock {load} --nemesis kill,client-pause --json --runs {runs}",
        "check": f"check {runs}/latest --json",
    }
    for name, line in lines.items():
        folder = place / name
        started = begun(folder, line.split(), "rumpus.program")
        most = _watched(started)
        answer = started.end(WITHIN_S)
        started.close()
        row.count(f"{name} {answer.code} in {most.seconds:.0f} s of CPU")
        row.take(most.seconds, most.memory)
        if answer.code not in (0, 3):
            row.defect(f"{name}: exit code {answer.code}: {answer.err[-300:]}")
        if name == "run":
            row.ways["operations"] = sum(json.loads(answer.out)["ops"].values())
    shutil.rmtree(place)
    return row


def many_workers(count: int, place: Path, tests: int = 40) -> Row:
    """Have so many workers of xdist ask for servers of the fixture ``zookeeper``."""
    row = Row(f"{tests} tests with simulated servers each, {count} workers of xdist")
    place.mkdir(parents=True)
    (place / "test_mine.py").write_text(SERVERS.format(tests=tests))
    (place / "conftest.py").write_text(BEGUN)
    words = ["-q", "-p", "rumpus.pytest_plugin", "-p", "no:cacheprovider", "-n", str(count)]
    started = begun(place, [*words, "test_mine.py"], "pytest")
    most = _watched(started)
    answer = started.end(WITHIN_S)
    living = started.living()
    started.close()
    row.count(f"at most {most.processes} processes: exit code {answer.code},")
    row.take(most.seconds, most.memory)
    if answer.code or f"{tests} passed" not in answer.out:
        row.defect(f"exit code {answer.code}: {answer.out[-2000:]}")
    if living:
        row.defect(f"left {', '.join(living.values())}")
    if left := [one.name for one in (place / "tmp").iterdir() if not one.name.startswith("pytest")]:
        row.defect(f"left {', '.join(left)}")
    return row


@dataclass
class _Most:
    """The most that a program's processes had, in MB and together; CPU seconds of all of them."""

    memory: float = 0.0
    processes: int = 0
    spent: dict[int, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return sum(self.spent.values())


def _watched(started: Program) -> _Most:
    """Look at a program's processes until it ends."""
    most = _Most()
    while started.process.poll() is None:
        living = [*started.living()]
        most.processes = max(most.processes, len(living))
        most.memory = max(most.memory, sum(map(_memory, living)))
        for pid in living:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks = int(words[11]) + int(words[12])
                most.spent[pid] = ticks / os.sysconf("SC_CLK_TCK")
        time.sleep(0.5)
    return most


def _memory(pid: int) -> float:
    """What a process has, with its share of what it shares, MB."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


def many_explorations(count: int, place: Path, look: Callable[[str], None] = print) -> Row:
    """Explore so often in one process; look at it at each tenth.

    Args:
        count: how often.
        place: for files.
        look: told what the process has.
    """
    row = Row(f"{count} explorations in one process")
    place.mkdir(parents=True)
    told = subprocess.run(
        [sys.executable, "-m", "tests.torture.load", str(count)],
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    looks = [json.loads(line) for line in told]
    for each in looks:
        look(f"at {each['at']}: {each}")
    first, *later = looks
    for name, more in (("MB", MORE_MB), ("files", MORE), ("threads", MORE), ("children", 0)):
        if (most := max(each[name] for each in later)) > first[name] + more:
            row.defect(f"{name}: {most}, at first {first[name]}")
        row.count(f"{name} {' '.join(str(each[name]) for each in looks)}")
    row.take(looks[-1]["seconds"], looks[-1]["MB"])
    return row


def _explorations(count: int) -> Iterator[dict[str, float]]:
    """What this process has at each tenth of so many explorations."""
    for number in range(1, count + 1):
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            code = command_line.main([*EXPLORE.split(), "--seed", str(number % 2)])
        if code not in (0, 3):
            raise AssertionError(f"exploration {number} ended with {code}")
        if number % max(1, count // 10) == 0:
            status = Path("/proc/self/status").read_text().splitlines()
            resident = next(line for line in status if line.startswith("VmRSS"))
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            yield {
                "at": number,
                "MB": round(int(resident.split()[1]) / 1024, 1),
                "files": len([*Path("/proc/self/fd").iterdir()]),
                "threads": threading.active_count(),
                "children": len(children),
                "seconds": round(sum(os.times()[:4]), 1),
            }


if __name__ == "__main__":
    for one in _explorations(int(sys.argv[1])):
        print(json.dumps(one), flush=True)
