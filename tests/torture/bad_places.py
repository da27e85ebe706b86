"""Directories that cannot be written, one folder of cases for two explorations, a clock that steps.

The clock is that of one program: its wall clock steps, its monotonic clock does not, as on a host
whose time is set. (libfaketime 0.9.10 cannot do that: ``clock_nanosleep`` fails then.)
"""

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rumpus.campaigns.case import load_case
from rumpus.usage_error import UsageError
from tests.rumpus.conftest import Answer, Program
from tests.torture.commands import Call, run_one
from tests.torture.ended_commands import DEADLOCK, EXPLORE, ROOT, RUN
from tests.torture.table import Row

READ_ONLY = {
    "runs": f"{RUN} sim --runs {{fixed}}/runs",
    "cases": f"{EXPLORE} --seeds 4 --jobs 2 --shrink 0 --cases {{fixed}}/cases",
    "the working directory": f"{RUN} sim",
    "the working directory, exploring": f"{EXPLORE} --seeds 4 --jobs 2 --shrink 0",
    "temporary files": f"{EXPLORE} --seeds 4 --jobs 2 --cases {{place}}/cases",
    "temporary files, real servers": f"{RUN} docker --runs {{place}}/runs",
    "the state of the user": "replay {fixed}/it.case.json --trust --json",
    "a case that is shrunk": "shrink {fixed}/it.case.json --budget 5 --json",
    "a run that is checked": "check {fixed}/runs/latest --json",
    "nights": "nights --store {fixed}/nights.sqlite --json",
}
"""What cannot be written -> a command. ``{fixed}`` is read-only, ``{place}`` is not."""

IN_IT = {"the working directory", "the working directory, exploring"}
TEMPORARY = {"temporary files", "temporary files, real servers"}

CLOCK = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = syscall(SYS_clock_gettime, clock, time);
    if (!failed && clock == CLOCK_REALTIME) {
        long step = 0;
        FILE *file = fopen(getenv("CLOCK_STEP"), "r");
        if (file) {
            if (fscanf(file, "%ld", &step) != 1)
                step = 0;
            fclose(file);
        }
        time->tv_sec += step;
    }
    return failed;
}
"""
"""To be preloaded: the wall clock, and the seconds in a file. Python asks no other function."""
FAILING = EXPLORE.replace("kazoo-bare", "persistent-node")

STEPS = "3600", "-3600", "5", "-5", "86400"
"""Seconds by which a clock is wrong from some moment on."""
UNDER_WAY = "load for"
HELD = "run lock --time-limit 8 --seed 1 --nemesis client-kill,client-pause --json"
"""A run in which sessions end, so that it can be valid."""


def read_only(place: Path, *, docker: bool = True) -> Row:
    """Have commands write where they cannot: each says so, and nothing is left half-written."""
    chosen = {name: line for name, line in READ_ONLY.items() if docker or "real" not in name}
    row = Row(f"{len(chosen)} read-only places")
    fixed = place / "fixed"
    made = f"{RUN} sim --seed 1 --runs {fixed}/runs"
    fixed.mkdir(parents=True)
    (fixed / "it.case.json").write_text(DEADLOCK)
    run_one(Call(tuple(made.split()), place / "made"))
    with _fixed(fixed) as mounted:
        if not mounted:
            row.count("nothing can be mounted here")
            return row
        before = sorted(fixed.rglob("*"))
        for number, (name, line) in enumerate(chosen.items()):
            folder = place / str(number)
            (folder / "tmp").mkdir(parents=True)
            started = Program(
                *line.format(fixed=fixed, place=folder).split(),
                environment={
                    "PYTHONPATH": str(ROOT),
                    "XDG_STATE_HOME": str(fixed if name == "the state of the user" else folder),
                    "TMPDIR": str(fixed if name in TEMPORARY else folder / "tmp"),
                },
                cwd=fixed if name in IN_IT else folder,
            )
            _judge(row, started.end(300), name, frozenset(range(5)))
            started.close()
            if left := [each.name for each in (folder / "tmp").iterdir()]:
                row.defect(f"{name}: left {left}")
        if sorted(fixed.rglob("*")) != before:
            row.defect("something was written there all the same")
    return row


@contextmanager
def _fixed(place: Path) -> Iterator[bool]:
    """A directory that nobody can write, root neither; whether that can be had."""
    bind = subprocess.run(["mount", "--bind", place, place], check=False, capture_output=True)
    if bind.returncode:
        yield False
        return
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
        yield True
    finally:
        subprocess.run(["umount", place], check=True)


def one_folder_of_cases(count: int, place: Path) -> Row:
    """Have explorations that find the same and other failures keep them in one folder at once."""
    row = Row(f"{count} explorations at once with one folder of cases")
    cases = place / "cases"
    place.mkdir(parents=True)
    line = f"{FAILING} --seeds 12 --jobs 1 --shrink 20 --cases {cases}"
    started = [Program(*line.split(), cwd=place) for _ in range(count)]
    named: set[str] = set()
    for number, each in enumerate(started):
        answer = each.end(900)
        each.close()
        _judge(row, answer, f"exploration {number}", frozenset({0, 1}))
        named |= {Path(found["case"]).name for found in json.loads(answer.out)["findings"]}
    there = {path.name for path in cases.iterdir()} if cases.exists() else set()
    row.ways["cases"] = len(there)
    if there != named or not there:
        row.defect(f"cases there {sorted(there)}, named {sorted(named)}")
    for name in there:
        try:
            load_case(cases / name)
        except UsageError as error:
            row.defect(f"half-written {name}: {error}")
    return row


def stepped_clock(ensemble: str, place: Path) -> Row:
    """Step the wall clock of a run's processes in the middle of it, and check the run."""
    row = Row(f"{len(STEPS)} steps of the wall clock ({ensemble})")
    if shutil.which("cc") is None:
        row.count("no C compiler is here")
        return row
    place.mkdir(parents=True, exist_ok=True)
    (place / "clock.c").write_text(CLOCK)
    clock = [place / "clock.so", place / "clock.c"]
    subprocess.run(["cc", "-shared", "-fPIC", "-o", *clock], check=True)
    for number, step in enumerate(STEPS):
        runs, offset = place / str(number) / "runs", place / f"offset-{number}"
        runs.parent.mkdir(parents=True)
        offset.write_text("0")
        started = Program(
            *f"{HELD} --ensemble {ensemble} --runs {runs}".split(),
            environment={
                "LD_PRELOAD": str(clock[0]),
                "CLOCK_STEP": str(offset),
                "PYTHONPATH": str(ROOT),
            },
        )
        stepping = threading.Thread(target=_step, args=(started, offset, step, runs))
        stepping.start()
        answer = started.end(300)
        stepping.join()
        _judge(row, answer, f"{step} s", frozenset({0, 3}))
        if living := started.living():
            row.defect(f"{step} s: left {', '.join(living.values())}")
        started.close()
        again = run_one(Call(("check", str(runs / "latest"), "--json"), runs / "check"))
        if again.trouble or again.code != answer.code:
            row.defect(f"{step} s, then check: {again.trouble or again.code}, not {answer.code}")
    return row


def _step(started: Program, offset: Path, step: str, runs: Path) -> None:
    """Set the clock wrong once a run is under way."""
    while started.process.poll() is None and not (runs / "latest").exists():
        time.sleep(0.05)
    while started.process.poll() is None and not started.said(UNDER_WAY):
        time.sleep(0.05)
    offset.write_text(step)


def _judge(row: Row, answer: Answer, what: str, allowed: frozenset[int]) -> None:
    row.count(f"exit code {answer.code}")
    if answer.code not in allowed:
        row.defect(f"{what}: exit code {answer.code}: {answer.err[-300:]}")
    if "Traceback" in answer.err:
        row.defect(f"{what}: a traceback: {answer.err[-600:]}")
    try:
        json.loads(answer.out)
    except ValueError:
        row.defect(f"{what}: no JSON document: {answer.out[:100]!r}, exit code {answer.code}")
