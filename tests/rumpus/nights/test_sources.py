"""Whether a recipe's source has changed: which files count, and what changes their digest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.nights.sources import digest, source_files

FILES = {
    "shop/__init__.py": "from .names import NAME\n",
    "shop/names.py": "NAME = 'x'\n",
    "shop/locks.py": (
        "import json\nfrom . import helpers\nfrom .deep.paths import path\nimport tools.clock\n"
    ),
    "shop/helpers.py": "def help():\n    from .late import it\n",
    "shop/late.py": "it = 1\n",
    "shop/deep/__init__.py": "",
    "shop/deep/paths.py": "from ..helpers import help\nfrom ...outside import x\n",
    "src/tools/clock.py": "from tools import ticks\n",
    "src/tools/ticks.py": "",
    "shop/other.py": "from .locks import Lock\n",
    "unrelated.py": "import shop.locks\n",
}
OF_LOCKS = set(FILES) - {"shop/other.py", "unrelated.py"}


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def files(project, module="shop.locks"):
    return source_files(module, [project, project / "src"])


def digest_of(project, **versions):
    return digest(files(project), versions)


def test_all_that_is_imported_counts_wherever_it_lies(project):
    found = {path.relative_to(project).as_posix() for path in files(project)}
    assert found == OF_LOCKS


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_change_counts_if_the_recipe_imports_it(project, name):
    before = digest_of(project, kazoo="2.11.0")
    with (project / name).open("a") as file:
        file.write("\n# changed\n")
    assert (digest_of(project, kazoo="2.11.0") != before) == (name in OF_LOCKS)


def test_a_module_that_is_removed_is_a_change(project):
    before = digest_of(project)
    (project / "shop" / "late.py").unlink()
    assert digest_of(project) != before


def test_versions_count(project):
    made = {
        digest_of(project),
        digest_of(project, kazoo="2.11.0"),
        digest_of(project, kazoo="2.10.0"),
        digest_of(project, kazoo="2.11.0", python="3.11"),
    }
    assert len(made) == 4


def test_the_order_of_versions_does_not_count(project):
    assert digest_of(project, a="1", b="2") == digest_of(project, b="2", a="1")


def test_the_package_itself_is_its_init(project):
    found = {path.relative_to(project).as_posix() for path in files(project, "shop")}
    assert found == {"shop/__init__.py", "shop/names.py"}


def test_what_is_not_there_has_no_files(project):
    assert files(project, "elsewhere.locks") == []


def test_modules_that_import_each_other_end(tmp_path):
    (tmp_path / "a.py").write_text("import b\n")
    (tmp_path / "b.py").write_text("import a\n")
    assert len(source_files("a", [tmp_path])) == 2


@given(st.binary(max_size=60))
def test_a_file_that_is_no_python_counts_with_its_bytes(tmp_path_factory, content):
    place = tmp_path_factory.mktemp("p")
    (place / "odd.py").write_bytes(content)
    found = source_files("odd", [place])
    before = digest(found, {})
    assert place / "odd.py" in found
    (place / "odd.py").write_bytes(content + b"#")
    assert digest(found, {}) != before
