"""What a run imports: processes of a campaign begin often, and most of them run simulations."""

import json
import subprocess
import sys

RUN = """
import json, sys
from pathlib import Path
from rumpus.runs.performing import PreparedRun, RunSettings

settings = RunSettings(
    argv=(), workload="lock", ensemble="sim", time_limit=1.0, nemesis=(), runs=Path(sys.argv[1])
)
PreparedRun(settings, lambda _: None)
print(json.dumps(sorted(sys.modules)))
"""


def test_a_simulated_run_imports_nothing_of_docker(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)], capture_output=True, text=True, check=True
    )
    imported = set(json.loads(done.stdout))
    assert "rumpus.runs.sim_world" in imported
    assert not imported & {"docker", "requests", "rumpus.runs.docker_world"}
