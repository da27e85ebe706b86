"""What holds for every example: it uses the public API alone, and what it links to exists."""

import ast
import re

import pytest

from tests.examples.conftest import ROOT

EXAMPLES = ROOT / "examples"
FOLDERS = sorted(place.name for place in EXAMPLES.iterdir() if any(place.rglob("test_*.py")))


def of_rumpus(source):
    """The modules of rumpus that a program imports from."""
    for node in ast.walk(ast.parse(source)):
        named = [node.module] if isinstance(node, ast.ImportFrom) else []
        named += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (name for name in named if name and name.partition(".")[0] == "rumpus")


def test_an_import_that_is_not_public_is_seen():
    assert [*of_rumpus("from rumpus import Fault")] == ["rumpus"]
    assert [*of_rumpus("def f():\n    import rumpus.nemesis.fault")] == ["rumpus.nemesis.fault"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_it_imports_nothing_but_the_public_api(folder):
    for path in (EXAMPLES / folder).rglob("*.py"):
        assert set(of_rumpus(path.read_text())) <= {"rumpus"}, path


@pytest.mark.parametrize("folder", FOLDERS)
def test_it_is_explained_and_the_site_leads_to_it(folder):
    page = EXAMPLES / folder / "README.md"
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target
    assert f"(../../examples/{folder})" in (ROOT / "docs" / "how-to" / "index.md").read_text()


@pytest.mark.parametrize("program", sorted((EXAMPLES / "pypi").glob("test_*.py")), ids=str)
def test_a_program_is_put_on_trial_in_15_lines(program):
    source = program.read_text()
    docstring = ast.get_docstring(ast.parse(source), clean=False)
    code = source.replace(f'"""{docstring}"""', "").splitlines()
    assert len([line for line in code if line.strip()]) <= 15
