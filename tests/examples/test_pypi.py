import pytest

from tests.examples.conftest import ROOT, python_in
from tests.sampling import one_in, sampled

CASES = ROOT / "examples" / "pypi" / "cases"
WHY = "needs an index: examples/pypi/requirements.txt"


@sampled(("program", "seed"), [("kazurator", 0), ("tooz", 4)], of=2)
def test_a_program_leaves_nodes_that_block_everybody(run_example, program, seed):
    pytest.importorskip(program, reason=WHY)
    only = "--rumpus-seed", str(seed), "--rumpus-seeds", "1"
    told, outcomes = run_example("pypi", f"test_{program}.py", *only)
    assert outcomes == {"failed": 1}
    assert "deadlock" in told
    assert "orphan-node" in told


@sampled("case", sorted(path.name for path in CASES.glob("*.case.json")), of=4)
def test_a_case_of_aiozk_is_shown_again(case):
    pytest.importorskip("aiozk", reason=WHY)
    done = python_in("pypi", "rumpus.program", "replay", "--trust", f"cases/{case}", "--json")
    assert '"verdict": "reproduced"' in done.stdout


@one_in(3)
def test_a_program_keeps_its_promises(run_example):
    pytest.importorskip("k3zkutil", reason=WHY)
    told, outcomes = run_example("pypi", "test_k3zkutil.py", "--rumpus-seeds", "3")
    assert outcomes == {"passed": 1}, told
