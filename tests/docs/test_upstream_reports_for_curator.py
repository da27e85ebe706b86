"""docs/upstream/curator: the tests of each report fail as it says, until Curator is mended."""

import os
import re
from pathlib import Path

import pytest

from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.image import ensure_node_image

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "upstream" / "curator"
REPORTS = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.md"))}
PACKAGES = "libcurator-test-java junit5"

COMMAND = re.compile(r"^\$ sh run-tests\.sh (\w+)$", re.MULTILINE)
FAILED = re.compile(r"^(\w+)\(\) \[X\] (.+)$", re.MULTILINE)


def test_each_test_is_of_one_report():
    told = [
        (suite, test)
        for report in REPORTS.values()
        for suite in COMMAND.findall(report)
        for test, _ in FAILED.findall(report)
    ]
    written = [
        (path.stem, test)
        for path in FOLDER.glob("Test*.java")
        for test in re.findall(r"@Test\s+void (\w+)\(", path.read_text())
    ]
    assert sorted(told) == sorted(written) != []


def test_the_tests_need_nothing_of_ours():
    imported = {
        name
        for path in FOLDER.glob("*.java")
        for name in re.findall(r"^import (?:static )?(\w+\.\w+)", path.read_text(), re.MULTILINE)
    }
    assert imported == {"java.io", "java.net", "java.nio", "java.util", "org.apache", "org.junit"}


@pytest.mark.docker
@pytest.mark.skipif(
    not os.environ.get("RUMPUS_FULL_CHECKS"), reason="minutes: make test-full runs it"
)
def test_they_fail_as_reported():
    """As root, who can install the packages that only these tests need."""
    suites = sorted({suite for report in REPORTS.values() for suite in COMMAND.findall(report)})
    engine = connect()
    runs = "; ".join(f"sh /tests/run-tests.sh {suite}" for suite in suites)
    said = engine.containers.run(
        ensure_node_image(engine, system="curator"),
        ["-c", f"apt-get update && apt-get install -y {PACKAGES} || exit; {runs}; true"],
        entrypoint="sh",
        user="root",
        volumes={str(FOLDER): {"bind": "/tests", "mode": "ro"}},
        remove=True,
        stderr=True,
    ).decode()
    for name, report in REPORTS.items():
        for test, why in FAILED.findall(report):
            assert re.search(rf"{test}\(\).* \[X\] {re.escape(why)}$", said, re.MULTILINE), name
