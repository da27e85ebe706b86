"""Prints the family and the name of every recipe that keeps its promises, as far as is known."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Leave out mutants, recipes with a finding, and the bare variants of kazoo's recipes."""
    found = [json.loads(path.read_text()) for path in ROOT.glob("cases/findings/*.case.json")]
    flawed = {(case["settings"]["workload"], case["settings"].get("recipe")) for case in found}
    listed = subprocess.run(
        [sys.executable, "-m", "rumpus.program", "list", "--json"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    for family in json.loads(listed.stdout)["workloads"]:
        for recipe in family["recipes"]:
            known = recipe["faulty"] or (family["name"], recipe["name"]) in flawed
            if not known and not recipe["name"].endswith("-bare"):
                print(family["name"], recipe["name"])


if __name__ == "__main__":
    main()
