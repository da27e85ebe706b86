"""What only a browser can tell: that the page's own script may run, and does."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from docs.generators.report_picture import BROWSERS
from rumpus.results.reports.report import render_report
from rumpus.results.results_document import results_document

BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.mark.skipif(BROWSER is None, reason=f"no browser is installed: {', '.join(BROWSERS)}")
def test_the_script_makes_pictures_movable_and_records_searchable(make_sample, tmp_path):
    sample = make_sample(seconds=5)
    results = results_document(Path("runs/x"), sample.record, sample.timeline, sample.verdict)
    page = tmp_path / "report.html"
    page.write_text(render_report(sample.record, sample.timeline, sample.verdict, results))
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = [BROWSER, "--headless", "--no-sandbox", profile, "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    pictures = len(re.findall(r'class="picture moving', shown))
    assert pictures >= 3
    assert shown.count('class="tools"') == shown.count('class="live"') == pictures
    assert shown.count('<div class="find">') == 1
    rows = shown.count('<tr id="record-')
    assert f">{rows} of {rows}</span>" in shown
