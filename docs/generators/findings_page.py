"""Generates the table and the commands of the page on findings from their cases.

``python -m docs.generators.findings_page docs/track-record/findings.md`` updates the page. What is
known about a finding stands in its case (`rumpus.campaigns.case.Finding`), in ``cases/findings``.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from docs.generators.marked_page import table_row, with_part
from rumpus.campaigns.case import Case, Finding, load_case
from rumpus.campaigns.replaying import ENDING

FOLDER = Path("cases/findings")
"""Where the cases are, from the repository's folder on."""

ROOT = Path(__file__).resolve().parents[2]


def findings(root: Path = ROOT) -> list[tuple[Path, Case, Finding]]:
    """The cases of findings in the order of their numbers, each with its path below the root.

    Raises:
        ValueError: a case there says nothing about its finding, or has the number of another.
    """
    found: dict[int, tuple[Path, Case, Finding]] = {}
    for path in sorted((root / FOLDER).glob(f"*{ENDING}")):
        case = load_case(path)
        if case.finding is None:
            raise ValueError(f"{path}: its field finding is missing")
        if case.finding.number in found:
            raise ValueError(f"{path}: {found[case.finding.number][0]} has the same number")
        found[case.finding.number] = (path.relative_to(root), case, case.finding)
    return [found[number] for number in sorted(found)]


def table(found: Iterable[tuple[Path, Case, Finding]]) -> str:
    """The table, a row for each finding; those of a class stand together."""
    rows = [("#", "what", "where", "fault", "anomaly", "shown by", "upstream"), ("---",) * 7]
    for path, case, finding in sorted(found, key=lambda each: each[2].what.partition(":")[0]):
        anomalies = (case.expects.kind, *finding.also)
        issue = (case.upstream or "").rstrip("/").rpartition("/")[2]
        rows.append(
            (
                f"[{finding.number}](../../{path.as_posix()})",
                finding.what,
                finding.where,
                finding.fault,
                ", ".join(f"`{kind}`" for kind in anomalies),
                finding.since,
                f"[#{issue}]({case.upstream})" if case.upstream else "",
            )
        )
    return "".join(f"{table_row(row)}\n" for row in rows)


def commands(found: Iterable[tuple[Path, Case, Finding]]) -> str:
    """A command for each finding, in a block."""
    lines = [f"$ rumpus replay {path.as_posix()}  # {finding.number}" for path, _, finding in found]
    return "\n".join(("```console", *lines, "```\n"))


def with_findings(page: str, found: Iterable[tuple[Path, Case, Finding]]) -> str:
    """A page with its findings and their commands up to date; the rest stays.

    Raises:
        ValueError: the page does not mark exactly one place for each.
    """
    known = list(found)
    return with_part(with_part(page, "findings", table(known)), "commands", commands(known))


def main(page: Path) -> None:
    """Bring the page up to date."""
    made = with_findings(page.read_text(encoding="utf-8"), findings())
    page.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
