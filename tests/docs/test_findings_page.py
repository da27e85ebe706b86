"""docs/track-record/findings.md is up to date with the cases of the findings."""

import json
import shutil
from pathlib import Path

import pytest

from docs.generators.findings_page import FOLDER, ROOT, findings, table, with_findings

PAGE = (ROOT / "docs" / "track-record" / "findings.md").read_text(encoding="utf-8")


def test_the_page_has_all_findings_and_their_commands():
    assert with_findings(PAGE, findings()) == PAGE, (
        "python -m docs.generators.findings_page docs/track-record/findings.md"
    )


def test_the_numbers_by_which_other_pages_name_findings_have_no_gap():
    numbers = [finding.number for _, _, finding in findings()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_row_links_the_case_and_the_issue():
    (row,) = (row for row in table(findings()).splitlines() if "/732)" in row)
    assert row.startswith("| [10](../../cases/findings/10-lock-orphan.case.json) | `Lock`: ")
    assert "| `orphan-node`, `deadlock` |" in row
    assert row.endswith("| [#732](https://github.com/python-zk/kazoo/issues/732) |")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / FOLDER
    made.mkdir(parents=True)
    shutil.copy(ROOT / FOLDER / "10-lock-orphan.case.json", made)
    return made


def test_two_findings_cannot_have_one_number(folder):
    shutil.copy(folder / "10-lock-orphan.case.json", folder / "copy.case.json")
    with pytest.raises(ValueError, match="same number"):
        findings(Path(folder.parents[1]))


def test_a_finding_says_what_it_is(folder):
    file = folder / "10-lock-orphan.case.json"
    document = json.loads(file.read_text())
    del document["finding"]
    file.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="finding is missing"):
        findings(Path(folder.parents[1]))
