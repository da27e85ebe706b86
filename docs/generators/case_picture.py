"""The picture of a report on the page about reading one, made from a kept case.

Usage::

    python -m docs.generators.case_picture docs/images/finding-16.png
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from docs.generators.report_picture import take
from rumpus.campaigns.case import load_case
from rumpus.runs.run_settings import OPTIONS

ROOT: Final = Path(__file__).resolve().parents[2]
CASE: Final = ROOT / "cases" / "findings" / "16-locking-queue-stale-element.case.json"


def report_of(case: Path, folder: Path) -> Path:
    """Perform the run of a case, and return the path of its report.

    Args:
        case: its file.
        folder: where the run is performed, so that its command names no other directory.
    """
    document = json.loads(case.read_text(encoding="utf-8"))
    load_case(case)  # refuses what is no case
    (folder / "plan.json").write_text(json.dumps(document["plan"]), encoding="utf-8")
    settings = dict(document["settings"])
    words = [settings.pop("workload"), "--ensemble", settings.pop("ensemble", "sim")]
    for name, value in settings.items():
        words += [OPTIONS[name].flag, str(value)]
    words += ["--seed", str(document["seed"]), "--plan", "plan.json"]
    command = [sys.executable, "-m", "rumpus.program", "run", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=folder, env=environment, check=False, stdout=subprocess.DEVNULL)
    return folder / "runs" / "latest" / "report.html"


def main(picture: Path) -> None:
    """Perform the run, and take a picture of its report."""
    picture = picture.resolve()
    with tempfile.TemporaryDirectory() as folder:
        take(report_of(CASE, Path(folder)), picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
