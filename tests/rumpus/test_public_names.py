"""All that users import is in the package itself: complete, typed, and described."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rumpus
from tests.sampling import one_in

ROOT = Path(rumpus.__file__).resolve().parents[1]
USERS = ROOT / "tests" / "rumpus" / "own_project" / "project"


def typed_names():
    """Name -> module, as type checkers see it."""
    tree = ast.parse(Path(rumpus.__file__).read_text())
    block = next(each for each in tree.body if isinstance(each, ast.If))
    return {
        alias.asname: each.module
        for each in block.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
        if alias.asname == alias.name
    }


def test_type_checkers_and_programs_see_the_same_names():
    assert typed_names() == rumpus._PLACES
    assert set(rumpus.__all__) == set(rumpus._PLACES)


@pytest.mark.parametrize("name", rumpus.__all__)
def test_a_name_is_what_its_module_has(name):
    assert getattr(rumpus, name) is getattr(sys.modules[rumpus._PLACES[name]], name)


def test_other_names_are_missing():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        rumpus.nothing  # noqa: B018


def test_to_import_the_package_imports_nothing_else():
    code = "import sys, rumpus; print([n for n in sys.modules if n.startswith('rumpus.')])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


@one_in(4)
@pytest.mark.timeout(300)
def test_a_users_file_is_clean_under_mypy(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(
        "import rumpus\n"
        "rumpus.run('lock', seeds='many')\n"
        "reveal_type(rumpus.run('lock').assert_valid())\n"
        "reveal_type(rumpus.check([], rumpus.Model).valid)\n"
    )
    told = subprocess.run(
        [
            # The options and so the cache of `make lint`.
            *(sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml"),
            *(USERS / "shop_of_tests", bad),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    lines = told.stdout.splitlines()
    assert not [line for line in lines if "shop_of_tests" in line], told
    assert any('"seeds" to "run"' in line and "error" in line for line in lines), told
    assert any('Revealed type is "None"' in line for line in lines), told
    assert any("Literal['unknown']" in line and "bool" in line for line in lines), told


def test_a_name_that_is_not_public_is_answered_with_the_one_that_is_meant():
    with pytest.raises(AttributeError, match=r"no attribute 'Worklaod'; did you mean Workload\?"):
        _ = rumpus.Worklaod
    with pytest.raises(AttributeError, match=r"no attribute 'teapot'$"):
        _ = rumpus.teapot
