import re
from pathlib import Path

from tests.sampling import one_in

# All kinds of fault fit into 12 s.
BRIEF = ("--rumpus-seeds", "2", "--rumpus-time-limit", "12")


def test_the_wrong_lock_is_found_and_the_failure_tells_what_happened(run_example):
    told, outcomes = run_example("own_lock", "tests/test_lock.py")
    assert outcomes == {"failed": 1}
    assert "Traceback" not in told
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```\n(violation: .*?)```", readme, re.DOTALL)[1]
    lines = [line for line in shown.splitlines() if line.strip() != "..."]
    assert "what happened:" in lines
    assert [line for line in lines if line not in told] == []


@one_in(4)
def test_the_mended_lock_keeps_its_promises(run_example):
    told, outcomes = run_example("own_lock", "tests/test_mended_lock.py", *BRIEF)
    assert outcomes == {"passed": 1}, told
