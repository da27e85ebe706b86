from concurrent.futures import Executor, Future

import msgspec
import pytest

from rumpus.campaigns.case import decode_case
from rumpus.command_line import main

DEADLOCK = """{
  "settings": {"workload": "lock", "recipe": "kazoo-bare", "clients": 3, "time_limit": 1.1,
               "preemption": "blocking"},
  "seed": 0,
  "plan": {"version": 1, "entries": [
    {"at": 1.0, "kind": "pause", "targets": {"role": "leader"}, "duration": 1.7}
  ]},
  "expects": {"kind": "deadlock", "operations": ["acquire"], "faults": ["pause"]},
  "promised": true
}"""


def deadlocked(runs):
    """Perform the run of ``DEADLOCK``; its directory, among these runs."""
    plan = runs / "plan.json"
    plan.write_bytes(msgspec.json.encode(decode_case(DEADLOCK.encode(), "it").plan))
    words = ["run", "lock", "--recipe", "kazoo-bare", "--ensemble", "sim", "--clients", "3"]
    words += ["--time-limit", "1.1", "--preemption", "blocking", "--seed", "0"]
    assert main([*words, "--plan", str(plan), "--runs", str(runs)]) == 1
    return runs / "lock" / "latest"


class Inline(Executor):
    """Performs each task at once, in this process."""

    def submit(self, function, /, *arguments, **named):
        future = Future()
        future.set_result(function(*arguments, **named))
        return future


@pytest.fixture
def inline():
    return Inline()


@pytest.fixture
def deadlock():
    return decode_case(DEADLOCK.encode(), "deadlock")
