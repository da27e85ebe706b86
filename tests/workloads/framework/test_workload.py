"""Whether the script of a client's load outlasts its process."""

import subprocess
import sys

import pytest

from rumpus.harness.generators.combinators import on_clients
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.workloads.framework.workload import Workload
from tests.harness.generators.dry_run import MILLISECOND, Ending, dry_run


class Counting(Workload):
    """Clients count."""

    name = "counting"

    def open(self, _recipe, _context):
        return None

    def load(self, _client):
        for number in range(3):
            yield Invocation("say", number)

    def final(self):
        return []


class CountingOn(Counting):
    """Clients count, and go on where they were."""

    renewed = False


@pytest.mark.parametrize(
    ("workload", "said"), [(Counting, [0, 0, 0, 0, 1, 2]), (CountingOn, [0, 1, 2])]
)
def test_a_client_whose_process_was_retired_begins_anew_or_goes_on(workload, said):
    context = WorkloadContext(Seed(1), None, clients=1, session_timeout=2.0, until=1)
    told = iter(["info"] * 3 + ["ok"] * 3)
    done = dry_run(
        on_clients(workload().load_of(context)),
        clients=1,
        nemesis=False,
        behaviour=lambda dispatch, seed: Ending(0, MILLISECOND, next(told)),  # noqa: ARG005
    )
    assert [each.what.value for each in done.dispatches] == said


def test_a_clients_process_imports_no_decider():
    """It imports its workload, and would take 15 MB and 0.3 s for what only judges need."""
    program = """if True:
        import sys
        from rumpus.workloads.registry import WORKLOADS
        sys.exit(any(WORKLOADS[name] is None or "numpy" in sys.modules for name in WORKLOADS))"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_class_whose_results_nobody_would_ask_for_is_refused():
    with pytest.raises(TypeError, match=r"Mine\.results is never called: name the checks"):
        type("Mine", (Workload,), {"results": lambda _self, _evidence: []})
