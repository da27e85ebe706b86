"""The locks name all that is installed, by hash, and no place to get it from."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCKS = {
    "requirements.lock": [*PROJECT["dependencies"], *EXTRAS["dev"]],
    "requirements-release.lock": [*PROJECT["dependencies"], *EXTRAS["release"]],
}
EACH = pytest.mark.parametrize("name", LOCKS)


def text(name):
    return (ROOT / name).read_text()


def pinned(name):
    """What a lock pins: the canonical name of a package -> its versions, one for each marker."""
    found = {}
    for package, version in re.findall(r"^([\w.-]+)==(\S+)", text(name), re.MULTILINE):
        found.setdefault(canonicalize_name(package), set()).add(version)
    return found


@EACH
def test_each_package_has_its_version_and_hashes_and_nothing_else_is_said(name):
    entries = text(name).replace("\\\n", " ").splitlines()
    entries = [entry for entry in entries if not entry.startswith("#")]
    assert len(entries) > 20
    for entry in entries:
        assert re.fullmatch(r"[\w.-]+==\S+ (;[^#]+?)?( +--hash=sha256:[0-9a-f]{64})+", entry), entry
    assert "://" not in text(name)


@EACH
def test_what_the_project_asks_for_is_in_the_lock(name):
    pins = pinned(name)
    for asked in map(Requirement, LOCKS[name]):
        versions = pins[canonicalize_name(asked.name)]
        assert all(asked.specifier.contains(version) for version in versions), (asked, versions)


def test_both_locks_name_the_same_versions():
    tools, release = (pinned(name) for name in LOCKS)
    both = tools.keys() & release.keys()
    assert len(both) > 10
    assert {name: tools[name] for name in both} == {name: release[name] for name in both}
