"""Generates the table of the page on claims by running the commands of ``docs.generators.claims``.

``python -m docs.generators.claims_page docs/track-record/claims.md`` takes a few minutes. The runs
are simulated, so the same program gives the same figures.
"""

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from docs.generators.claims import CLAIMS, CONFIRMED, REFUTED, SOURCES, Claim, Results
from docs.generators.marked_page import table_row, with_part

MARK = "claims"


def perform(command: str) -> Results:
    """Run ``rumpus`` in a process of its own; the results of the run, whatever its verdict.

    Raises:
        RuntimeError: the run gave no results; the message has what it said.
    """
    with tempfile.TemporaryDirectory() as runs:
        words = [*shlex.split(command), "--json", "--runs", runs]
        done = subprocess.run(
            [sys.executable, "-m", "rumpus.program", *words],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"rumpus {command}: exit code {done.returncode}: {done.stderr[-2000:]}")
    results: Results = json.loads(done.stdout)
    return results


def measure(command: str) -> Results:
    """The results of a valid run, on which a claim can rest.

    Raises:
        RuntimeError: as ``perform``; or the run was not valid.
    """
    results = perform(command)
    if results["outcome"] != "valid":
        reasons = "; ".join(results["reasons"])
        what = f"{results['outcome']}, so no claim can rest on it: {reasons}"
        raise RuntimeError(f"rumpus {command}: {what}")
    return results


def rows(claims: Sequence[Claim], run: Callable[[str], Results] = measure) -> Iterator[str]:
    """The table, line by line; a command that decides several claims is run once."""
    known: dict[str, Results] = {}
    yield "| claim | source | commands | measured | verdict |"
    yield "|---|---|---|---|---|"
    for claim in claims:
        for command in claim.commands:
            if command not in known:
                known[command] = run(command)
        measured, holds = claim.read([known[command] for command in claim.commands])
        verdict = f"**{CONFIRMED if holds else REFUTED}**"
        commands = "<br>".join(f"`rumpus {command}`" for command in claim.commands)
        cells = (claim.words, claim.source, commands, measured, f"{verdict}. {claim.note}".strip())
        yield table_row(cells)


def with_table(page: str, lines: Iterator[str]) -> str:
    """A page with its table and sources up to date; what stands around them stays.

    Raises:
        ValueError: the page does not mark exactly one place for the table.
    """
    table = "\n".join(lines)
    sources = "\n".join(f"- **{letter}**: {title}" for letter, title in SOURCES.items())
    return with_part(page, MARK, f"{table}\n\nSources:\n\n{sources}\n")


def main(page: Path) -> None:
    """Bring the page up to date."""
    text = with_table(page.read_text(encoding="utf-8"), rows(CLAIMS))
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
