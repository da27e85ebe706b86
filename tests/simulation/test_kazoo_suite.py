"""kazoo's own tests pass on simulated servers, all but those of TLS and SASL."""

import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_BE_SKIPPED = {
    "simulated servers know no TLS",
    "simulated servers know no SASL",
    "PureSASL not available.",
    "Only run build config tests on CI.",
}
LEAST = 300
"""So many pass at least: of a run that did not find them nothing follows."""
LONGEST_S = 1500.0

pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("RUMPUS_FULL_CHECKS"), reason="minutes of real time: make test-full"
    ),
    pytest.mark.timeout(LONGEST_S + 300),
]


def fetched():
    """A folder with kazoo's source as installed here, its tests, and what these need.

    It is fetched once, into the user's cache. Skips the test where no index can be reached.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rumpus"
    name = f"kazoo-{version('kazoo')}"
    folder = cache / f"{name}-tests"
    if not (folder / "ready").exists():
        requirement = name.replace("-", "==")
        pip("download", "--no-deps", "--no-binary", ":all:", "--dest", folder, requirement)
        pip("install", "--upgrade", "--target", folder / "needs", "objgraph", "gevent", "eventlet")
        with tarfile.open(folder / f"{name}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        (folder / "ready").touch()
    return folder / name, folder / "needs"


def pip(*words):
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"kazoo's tests cannot be fetched: {done.stderr.strip().splitlines()[-1]}")


def test_all_pass_but_those_of_tls_and_sasl(tmp_path, capsys):
    source, needs = fetched()
    results = tmp_path / "results.xml"
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (source, ROOT, needs)))
    words = ["-p", "tests.simulation.kazoo_suite_servers", "-p", "no:cacheprovider"]
    words += ["--timeout", "120", "--junit-xml", results, "kazoo/tests"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *words],
        cwd=source,
        check=False,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONGEST_S,
    )
    cases = list(ET.parse(results).getroot().iter("testcase"))
    skipped = Counter(skip.get("message") for case in cases for skip in case.iter("skipped"))
    bad = [
        f"{case.get('classname')}.{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    passed = len(cases) - len(bad) - skipped.total()
    with capsys.disabled():
        print(f"\nkazoo's own tests: {passed} of {len(cases)} passed; skipped: {dict(skipped)}")
    assert not bad, f"{bad}\n{done.stdout}"
    assert passed >= LEAST
    assert set(skipped) <= MAY_BE_SKIPPED
