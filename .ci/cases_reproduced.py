"""Reads what ``rumpus replay DIR --json`` prints; exits with 1 unless all cases are reproduced."""

import json
import sys


def main() -> int:
    """Print the cases that do not, and how many do."""
    document = json.load(sys.stdin)
    cases = document.get("cases", [])
    for row in cases:
        if row["reproduced"] is not True:
            print(f"{row['case']}: {row['verdict']} (expected: {row['expected']})")
    shown = sum(row["reproduced"] is True for row in cases)
    print(f"{shown} of {len(cases)} cases show their failure")
    for reason in document.get("reasons", []):
        print(reason)
    return int(not cases or shown < len(cases))


if __name__ == "__main__":
    sys.exit(main())
