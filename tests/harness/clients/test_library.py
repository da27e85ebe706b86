"""The kazoo that real processes of clients load, and what can be said of it before."""

from dataclasses import replace

import pytest

from rumpus.harness.clients.library import UnusableLibrary, loaded_version
from rumpus.harness.clients.workers import ClientSpec
from rumpus.harness.generators import combinators as gen
from rumpus.harness.generators.generator import Invocation
from tests.copied_kazoo import copied_kazoo
from tests.harness.test_driver import Lanes

MARKED = {
    "exceptions": (
        "class KazooException(Exception):",
        'class KazooException(Exception):\n    MARK = "e"',
    ),
    "client": ("class KazooClient(object):", 'class KazooClient(object):\n    MARK = "c"'),
}
BUILD = "tests.harness.library_client:build"


@pytest.fixture
def library(tmp_path):
    """A directory with another kazoo and nothing else, as ``runs.client_library`` gives it."""
    copied_kazoo(tmp_path / "copy", **MARKED)
    place = tmp_path / "library"
    place.mkdir()
    (place / "kazoo").symlink_to(tmp_path / "copy" / "kazoo")
    return place


def test_a_clients_process_runs_the_other_kazoo_and_says_which(library, tmp_path):
    lanes = Lanes(tmp_path)
    lanes.pool.spec = replace(lanes.pool.spec, build=BUILD, library=library)
    history = lanes.run(gen.on_clients(gen.sequence(Invocation("look"))))
    (looked,) = history.operations()
    found = looked.completion.value
    assert found["version"] == lanes.driver.library == "2.99.1"
    assert {file.startswith(f"{library}/kazoo/") for file in found["files"]} == {True}
    assert found["marks"] == [None, "c", "e"]


def test_without_one_it_runs_the_installed_kazoo(tmp_path):
    lanes = Lanes(tmp_path)
    lanes.pool.spec = ClientSpec(BUILD)
    history = lanes.run(gen.on_clients(gen.sequence(Invocation("look"))))
    (looked,) = history.operations()
    assert looked.completion.value["version"] == lanes.driver.library != "2.99.1"
    assert looked.completion.value["marks"] == [None, None, None]


def test_the_version_is_known_before_a_run(library):
    assert loaded_version(library, BUILD, {}, "threading") == "2.99.1"


def broken(library, file, source):
    (library / "kazoo" / file).write_text(source)
    return library


def test_a_kazoo_that_python_cannot_read(library):
    broken(library, "client.py", "async = 1\n")
    with pytest.raises(UnusableLibrary, match=r"cannot import this kazoo \(SyntaxError: .*another"):
        loaded_version(library, BUILD, {}, "threading")


def test_a_package_that_it_needs_is_named(library):
    broken(library, "client.py", "import needed_by_kazoo\n")
    with pytest.raises(UnusableLibrary, match="install needed_by_kazoo where rumpus is installed"):
        loaded_version(library, BUILD, {}, "threading")


def test_a_recipe_that_needs_what_this_kazoo_lacks(library):
    (library / "kazoo" / "recipe" / "lease.py").unlink()
    (library / "kazoo" / "recipe" / "cache.py").unlink()
    (library / "kazoo" / "client.py").write_text(
        "class KazooClient: pass\nclass TransactionRequest: pass\n"
    )
    options = {"recipe": "kazoo-tree-cache", "clients": 2, "path": "/x"}
    told = (
        r"cannot import what runs with kazoo 2.99.1 \(ModuleNotFoundError: .*'kazoo.recipe.cache'"
    )
    with pytest.raises(UnusableLibrary, match=told):
        loaded_version(library, "rumpus.workloads.view:ViewWorkload", options, "threading")


def test_a_kazoo_that_ends_the_process(library):
    broken(library, "client.py", "import os\nos._exit(7)\n")
    with pytest.raises(UnusableLibrary, match="ended with code 7"):
        loaded_version(library, BUILD, {}, "threading")
