"""docs/upstream: each report has a test, which fails as the report says, until kazoo is mended.

If a test here fails after an update of kazoo, a report is out of date.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import rumpus
from rumpus.track_record.record_file import FILE, read_record
from rumpus.track_record.record_tables import in_markdown
from tests.copied_kazoo import INSTALLED
from tests.sampling import sampled

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "upstream"
REPORTS = {path.stem: path.read_text() for path in sorted(FOLDER.glob("kazoo-*.md"))}
RECORD = read_record(ROOT / FILE)
FLAWS = {Path(flaw.record.report).stem: flaw for flaw in RECORD.flaws if flaw.record.report}


def test_file(name):
    return FOLDER / f"test_{name.replace('-', '_')}.py"


test_file.__test__ = False


def test_each_report_has_a_test_and_a_flaw():
    assert sorted(REPORTS) == sorted(FLAWS)
    assert sorted(FOLDER.glob("*.py")) == sorted(map(test_file, REPORTS))
    assert all(ROOT / flaw.record.report == FOLDER / f"{name}.md" for name, flaw in FLAWS.items())


def test_the_table_of_flaws_leads_to_the_report():
    link = "not reported ([ready](upstream/kazoo-barrier-wait.md))"
    assert in_markdown(RECORD).count(link) == 1


@pytest.mark.parametrize("name", REPORTS)
def test_a_test_needs_nothing_of_ours(name):
    tree = ast.walk(ast.parse(test_file(name).read_text()))
    imported = {
        module.split(".")[0]
        for node in tree
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in ([node.module] if isinstance(node, ast.ImportFrom) else names_of(node))
    }
    assert imported - sys.stdlib_module_names == {"kazoo", "pytest"}


def names_of(node):
    return [each.name for each in node.names]


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_claims_the_versions_that_the_case_has(name):
    case = FLAWS[name].case
    versions = case.finding.since or case.versions["kazoo"]
    assert f" Seen with kazoo {versions}. Below: " in " ".join(REPORTS[name].split())


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_quotes_few_lines_of_kazoo_as_they_are(name):
    (file,) = re.findall(r"\n`kazoo/(\w+/\w+\.py)`", REPORTS[name])
    (quoted,) = re.findall(r"```python\n(.*?)```", REPORTS[name], re.DOTALL)
    assert quoted in (INSTALLED / file).read_text()
    assert quoted.count("\n") <= 5


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_prints_the_line_that_fails(name):
    file = test_file(name)
    line, printed = re.search(rf"\n{file.name}:(\d+): in \w+\n(.*)\n", REPORTS[name]).groups()
    assert file.read_text().splitlines()[int(line) - 1] == printed


def test_the_tests_fail_as_reported_and_pass_with_what_would_mend_them(tmp_path):
    mended = tmp_path / "mended"
    shutil.copytree(INSTALLED, mended / "kazoo", ignore=shutil.ignore_patterns("__pycache__"))
    for report in REPORTS.values():
        (change,) = re.findall(r"```diff\n(.*?)```", report, re.DOTALL)
        subprocess.run(["git", "apply", "-"], cwd=mended, input=change, text=True, check=True)
    tests = shutil.copytree(
        FOLDER, tmp_path / "tests", ignore=shutil.ignore_patterns("*.md", "aiozk", "zookeeper")
    )

    with rumpus.zookeeper(nodes=1) as zk:
        workers = ["-p", "xdist", "-n", "3", "--dist", "worksteal"]
        as_they_are = started(tests, zk.hosts, "as_they_are.xml", *workers)
        changed = started(tests, zk.hosts, "changed.xml", PYTHONPATH=str(mended))
        for process in (as_they_are, changed):
            process.wait(120)

    assert outcomes(tests / "as_they_are.xml") == {
        name: re.findall(r"^E   (AssertionError: .*)", report, re.MULTILINE)
        for name, report in REPORTS.items()
    }
    assert outcomes(tests / "changed.xml") == {name: [] for name in REPORTS}


def reports_on(name):
    """The reports on the same recipe: its flaws show alike, so one change alone may not do."""
    together = "kazoo-double-barrier-"
    same = name.startswith(together)
    return [each for each in REPORTS if each == name or (same and each.startswith(together))]


@sampled("name", list(REPORTS), of=6)
def test_with_what_would_mend_it_the_case_shows_nothing(name):
    changes = "".join(f"+{FOLDER / each}.md" for each in reports_on(name))
    case = ROOT / "cases" / FLAWS[name].record.case
    assert rumpus.replay(case, kazoo=changes).reproduced is False


def started(tests, hosts, document, *words, **variables):
    """A pytest without our configuration and plugins."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env = ours | {"ZOOKEEPER_HOSTS": hosts, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | variables
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={document}", *words]
    return subprocess.Popen(command, cwd=tests, env=env, stdout=subprocess.DEVNULL)


def outcomes(document):
    """Report -> the first line of what its test failed with; none if it passed."""
    return {
        case.get("classname").removeprefix("test_").replace("_", "-"): [
            trouble.get("message").splitlines()[0]
            for kind in ("failure", "error", "skipped")
            for trouble in case.iter(kind)
        ]
        for case in ET.parse(document).iter("testcase")
    }
