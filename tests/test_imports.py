"""The folders depend on each other in one direction only."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOWNWARD = [
    "rumpus",
    "results",
    "workloads",
    "nemesis",
    "harness",
    "simulation",
    "recipes",
    "checker",
]
OURS = frozenset(DOWNWARD)
# What these may import beside the standard library and themselves.
ALONE = {
    "recipes": {"kazoo"},
    "checker": {"msgspec", "numpy"},
    "simulation": {"greenlet"},
}
PACKAGES = [name for name in DOWNWARD if (ROOT / name / "__init__.py").exists()]


def imports(path):
    """What a module imports, wherever in it, with the lines: of rumpus the package, else the name.

    What lies in ``rumpus/`` itself counts as ``rumpus``.
    """
    found = []
    for node in ast.walk(ast.parse(path.read_text(), path.name)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, floor(alias.name)) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno} is relative"
            found.append((node.lineno, floor(node.module)))
    return found


def floor(module):
    names = module.split(".")
    return names[1] if names[0] == "rumpus" and names[1:2] and names[1] in OURS else names[0]


def upward(path, package):
    above = DOWNWARD[: DOWNWARD.index(package)]
    return [f"{path.name}:{line} imports {name}" for line, name in imports(path) if name in above]


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_imports_upward(package):
    offences = [each for path in (ROOT / package).rglob("*.py") for each in upward(path, package)]
    assert not offences


@pytest.mark.parametrize("package", ALONE)
def test_some_know_nobody(package):
    allowed = {package, *ALONE[package], *sys.stdlib_module_names}
    offences = [
        f"{path.name}:{line} imports {name}"
        for path in (ROOT / package).rglob("*.py")
        for line, name in imports(path)
        if name not in allowed
    ]
    assert not offences


def test_every_package_is_in_the_order():
    """A folder that the rule does not know would escape it."""
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages <= OURS


def test_an_import_upward_is_seen_wherever_it_stands(tmp_path):
    module = tmp_path / "sly.py"
    module.write_text(
        "import rumpus.checker\n\ndef late():\n    from rumpus.results.record import RunRecord\n"
    )
    assert upward(module, "workloads") == ["sly.py:4 imports results"]
    assert upward(module, "rumpus") == []
