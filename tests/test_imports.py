"""Packages depend on each other in one direction only, and so do the modules of each package."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

from rumpus.workloads.registry import WORKLOADS

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
LIBRARIES = {e.library for each in WORKLOADS.values() for e in each.elsewhere.values()} - {""}
"""By which recipes speak to servers that are not ZooKeeper's."""
# What these may import beside the standard library and themselves.
ALONE = {
    "recipes": {"kazoo", *LIBRARIES},
    "checker": {"msgspec", "numpy"},
    "simulation": {"greenlet"},
}
PACKAGES = [name for name in DOWNWARD if (ROOT / name / "__init__.py").exists()]


@cache  # several tests ask of each file
def statements(path):
    """All nodes of a module that import something, wherever in it."""
    nodes = ast.walk(ast.parse(path.read_text(), path.name))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(path):
    """What a module imports, wherever in it, with the lines: of rumpus the package, else the name.

    What lies in ``rumpus/`` itself counts as ``rumpus``.
    """
    found = []
    for node in statements(path.resolve()):
        if isinstance(node, ast.Import):
            found += [(node.lineno, floor(alias.name)) for alias in node.names]
        else:
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


def modules_of(folder, name):
    """The modules of a package: paths by full names. What is behind symbolic links is not its."""
    found = {}
    for path in folder.resolve().rglob("*.py"):
        if path.resolve() == path:
            parts = path.relative_to(folder.resolve()).with_suffix("").parts
            found[".".join([name, *parts]).removesuffix(".__init__")] = path
    return found


def arrows(modules):
    """By module, the others that it imports, wherever in it: late, or for type checkers only."""
    graph = {}
    for name, path in modules.items():
        graph[name] = set()
        for node in statements(path.resolve()):
            if isinstance(node, ast.Import):
                graph[name].update(alias.name for alias in node.names)
            else:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                graph[name] |= names if names <= modules.keys() else names | {node.module}
        graph[name] &= modules.keys()
    return graph


def reachable(graph, start):
    found, left = set(), [start]
    while left:
        new = graph[left.pop()] - found
        found |= new
        left += new
    return found


def cycles(graph):
    """The strongly connected components, without single modules that do not import themselves."""
    reach = {name: reachable(graph, name) for name in graph}
    found = {
        tuple(sorted(other for other in reach[name] if name in reach[other]))
        for name in graph
        if name in reach[name]
    }
    return sorted(found)


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_of_a_package_form_no_cycle(package):
    name = package if package == "rumpus" else f"rumpus.{package}"
    modules = modules_of(ROOT / package, name)
    assert len(modules) > 10
    assert cycles(arrows(modules)) == []


def folders(graph, modules):
    """The same arrows between folders, where neither lies in the other."""
    folder_of = {name: path.parent for name, path in modules.items()}
    between = {folder: set() for folder in folder_of.values()}
    for name, others in graph.items():
        folder = folder_of[name]
        for other in map(folder_of.get, others):
            if not (folder.is_relative_to(other) or other.is_relative_to(folder)):
                between[folder].add(other)
    return between


@pytest.mark.parametrize("package", PACKAGES)
def test_folders_of_a_package_form_no_cycle(package):
    name = package if package == "rumpus" else f"rumpus.{package}"
    modules = modules_of(ROOT / package, name)
    assert cycles(folders(arrows(modules), modules)) == []


def test_a_cycle_is_seen_however_it_is_hidden(tmp_path):
    (tmp_path / "__init__.py").write_text("")
    for name, source in {
        "for_types": "if TYPE_CHECKING:\n    from package.late import Late\n",
        "late": "def late():\n    import package.member\n",
        "member": "from package import for_types\n",
        "above": "from package import late, Constant\nimport package.below\n",
        "below": "import os\nfrom other import above\n",
        "itself": "import package.itself\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(source)
    graph = arrows(modules_of(tmp_path, "package"))
    assert graph["package.above"] == {"package", "package.late", "package.below"}
    assert cycles(graph) == [
        ("package.for_types", "package.late", "package.member"),
        ("package.itself",),
    ]


def test_a_cycle_of_folders_is_seen():
    modules = {name: Path(name) / "module.py" for name in ("a", "b", "c", "c/d")}
    graph = {"a": {"b"}, "b": {"a", "c"}, "c": {"c/d"}, "c/d": {"c"}}
    assert cycles(folders(graph, modules)) == [(Path("a"), Path("b"))]
