"""Nights, runs and failures to put into a store."""

import pytest

from rumpus.nights.memory.store import Store
from rumpus.nights.records import FailureRow, NightRow, RunRow, Subject
from rumpus.results.fingerprint import Fingerprint

DAY = 86_400.0
FAIR = Subject(workload="lock", recipe="fair")


def night(number, **more):
    return NightRow(name=f"2026-11-{number:02}", began=number * DAY, **more)


def run(seed=0, **more):
    known = {"role": "run", "subject": FAIR.key, "kind": "usual", "outcome": "valid"}
    return RunRow(**{**known, "seed": seed, "versions": {"kazoo": "2.11.0"}, **more})


def failure(kind="double-grant", **more):
    known = {"workload": "lock", "recipe": "fair", "fingerprint": Fingerprint(kind=kind)}
    return FailureRow(**{**known, **more})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "nights.sqlite"


@pytest.fixture
def store(path):
    with Store.opened(path, write=True) as opened:
        yield opened
