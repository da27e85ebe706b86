"""The page on reading a report tells the run that its picture shows."""

import json
import re
import struct
from pathlib import Path

from docs.generators import case_picture, report_picture

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "how-to" / "reading-a-report.md").read_text(encoding="utf-8")


def test_the_picture_has_the_size_that_is_taken():
    data = (DOCS / "images" / "finding-16.png").read_bytes()
    assert struct.unpack(">II", data[16:24]) == (report_picture.WIDTH, report_picture.HEIGHT)
    assert f"$ rumpus replay {case_picture.CASE.relative_to(DOCS.parent)}" in PAGE


def test_each_moment_that_the_page_explains_is_in_the_run(tmp_path):
    report = case_picture.report_of(case_picture.CASE, tmp_path)
    results = json.loads((report.parent / "results.json").read_text(encoding="utf-8"))
    assert results["story"][0].startswith("duplicate-element: ")
    moments = re.findall(r"^\| (\d\.\d{3}) \| ", PAGE, re.MULTILINE)
    assert len(moments) == 7
    for moment in moments:
        assert any(line.strip().startswith(f"{moment} s ") for line in results["story"])
