"""The example on the page about the simulation runs as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "simulation.md"


def test_the_example_runs_and_is_decided_by_its_seed():
    [program] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            cwd=PAGE.parents[2],
        ).stdout
        for _ in range(2)
    }
    [words] = told
    assert re.fullmatch(r"/a n[23]\n[0-9a-f]{32}\n", words)
