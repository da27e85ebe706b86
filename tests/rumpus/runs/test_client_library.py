"""Where the kazoo of ``--kazoo`` comes from: directories, and pip without any network."""

import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.runs.client_library import find_kazoo
from rumpus.usage_error import UsageError
from tests.copied_kazoo import copied_kazoo, wheel
from tests.sampling import one_in


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rumpus" / "kazoo"


@pytest.fixture
def said():
    return []


@pytest.fixture
def find(said):
    return lambda asked: find_kazoo(str(asked), said.append)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """An index with kazoo 2.99.1 only, which needs a package of its own; pip asks no other."""
    pytest.importorskip("pip")
    place = tmp_path / "index"
    wheel(place, "needed_by_kazoo", "1", {"needed_by_kazoo.py": "NEEDED = True\n"})
    files = {"kazoo/__init__.py": "", "kazoo/client.py": "import needed_by_kazoo\n"}
    wheel(place, "kazoo", "2.99.1", files, requires="needed_by_kazoo")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(place))
    return place


def left_in(cache):
    return [file.name for file in cache.glob("python*/*")]


@pytest.mark.parametrize("place", ["kazoo", ".", "src"])
def test_a_directory_is_the_package_or_has_it_and_its_neighbours_stay_out(find, tmp_path, place):
    copied_kazoo(tmp_path / "checkout" / "src" if place == "src" else tmp_path / "checkout")
    asked = tmp_path / "checkout" / ("kazoo" if place == "kazoo" else "")
    found = find(asked)
    assert [file.name for file in found.iterdir()] == ["kazoo"]
    assert '"2.99.1"' in (found / "kazoo" / "version.py").read_text()
    assert find(asked) == found


def test_two_directories_are_two_libraries(find, tmp_path):
    one, two = (find(copied_kazoo(tmp_path / name, name)) for name in ("2.99.1", "2.99.2"))
    assert one != two
    assert '"2.99.2"' in (two / "kazoo" / "version.py").read_text()


@pytest.mark.parametrize("asked", ["newest", "2.8.x", "./2.8.0", "/nowhere"])
def test_what_is_neither_a_version_nor_a_directory_with_kazoo_is_refused(find, asked):
    with pytest.raises(UsageError, match=r"neither a version, such as .*, nor a directory"):
        find(asked)


def test_a_version_is_installed_once_with_what_it_needs(find, said, index, cache):
    found = find("2.99.1")
    assert (found / "kazoo" / "client.py").exists()
    assert (found / "needed_by_kazoo.py").exists()
    for file in index.iterdir():
        file.unlink()
    assert find("2.99.1") == found
    assert said == [f"installing kazoo 2.99.1 into {found}"]
    assert left_in(cache) == ["2.99.1"]


@one_in(2)
@pytest.mark.usefixtures("index")
def test_two_runs_that_install_at_once_do_not_disturb_each_other(find, cache):
    with ThreadPoolExecutor() as pool:
        one, two = pool.map(find, ["2.99.1", "2.99.1"])
    assert one == two
    assert (one / "needed_by_kazoo.py").exists()
    assert left_in(cache) == ["2.99.1"]


@pytest.mark.usefixtures("index")
def test_a_version_that_does_not_exist_is_refused_with_those_that_do(find, cache):
    with pytest.raises(UsageError, match=r"there is no kazoo 2\.98; pip finds 2\.99\.1"):
        find("2.98")
    assert left_in(cache) == []


def test_without_an_index_the_host_does_not_allow_it(find, index, cache):
    for file in index.iterdir():
        file.unlink()
    with pytest.raises(EnvironmentRefusal, match="or name the directory of a kazoo"):
        find("2.99.1")
    assert left_in(cache) == []


def test_a_cache_that_cannot_be_written_is_named(find, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(EnvironmentRefusal, match=r"file/rumpus/kazoo.*set XDG_CACHE_HOME"):
        find("2.99.1")


def test_the_cache_is_in_the_home_directory_if_nothing_else_is_said(find, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the specification says: to be ignored
    found = find(copied_kazoo(tmp_path / "copy"))
    assert found.is_relative_to(tmp_path / ".cache" / "rumpus" / "kazoo")


CHANGE = """\
--- a/kazoo/version.py
+++ b/kazoo/version.py
@@ -1 +1 @@
-__version__ = "2.99.1"
+__version__ = "2.99.1.mended"
"""


NEW_FILE = "--- /dev/null\n+++ b/{}\n@@ -0,0 +1 @@\n+MENDED = True\n"


@pytest.fixture
def old(tmp_path):
    """A directory with a kazoo whose version is a line of a file."""
    place = copied_kazoo(tmp_path / "old")
    (place / "kazoo" / "version.py").write_text('__version__ = "2.99.1"\n')
    return place


def written(tmp_path, text, name="mend.diff"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.mark.parametrize("document", [False, True])
def test_a_change_is_applied_to_a_copy(find, tmp_path, old, document):
    text = f"# Why\n\n```diff\n{CHANGE}```\n" if document else CHANGE
    file = written(tmp_path, text, "mend.md" if document else "mend.diff")
    found = find(f"{old}+{file}")
    assert "2.99.1.mended" in (found / "kazoo" / "version.py").read_text()
    assert "mended" not in (old / "kazoo" / "version.py").read_text()
    assert find(f"{old}+{file}") == found


def test_changes_are_applied_one_after_the_other_and_also_within_a_repository(find, tmp_path, old):
    (tmp_path / "cache").mkdir()
    subprocess.run(["git", "init", "-q", tmp_path / "cache"], check=True)
    first = written(tmp_path, CHANGE)
    swapped = CHANGE.replace("2.99.1", "2.99.2").replace("2.99.2.mended", "twice")
    second = written(tmp_path, swapped.replace("2.99.2", "2.99.1.mended"), "second.diff")
    found = find(f"{old}+{first}+{second}")
    assert "twice" in (found / "kazoo" / "version.py").read_text()


def test_of_a_directory_all_documents_that_have_a_change_are_taken(find, tmp_path, old):
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "index.md").write_text("# Reports\n")
    (folder / "notes.txt").write_text("none\n")
    (folder / "version.md").write_text(f"```diff\n{CHANGE}```\n")
    found = find(f"{old}+{folder}")
    assert "2.99.1.mended" in (found / "kazoo" / "version.py").read_text()
    (folder / "version.md").unlink()
    with pytest.raises(UsageError, match="has no change"):
        find(f"{old}+{folder}")


@pytest.mark.parametrize("asked", ["+", "+a.diff+"])
def test_after_a_plus_there_is_a_file(find, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.diff").write_text(CHANGE)
    with pytest.raises(UsageError, match="name a file"):
        find(asked)


def test_without_a_version_the_installed_one_is_changed(find, tmp_path):
    found = find(f"+{written(tmp_path, NEW_FILE.format('kazoo/mended.py'))}")
    assert (found / "kazoo" / "mended.py").is_file()
    assert (found / "kazoo" / "client.py").is_file()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has no change"),
        (CHANGE.replace("2.99.1", "1.0"), "does not fit .*patch does not apply"),
        (NEW_FILE.format("../../mended.py"), "does not fit .*invalid path"),
        ("what is this\n", "does not fit .*No valid patches"),
        (None, "cannot read the change"),
    ],
)
def test_a_change_that_cannot_be_applied_is_refused(find, tmp_path, old, cache, text, why):
    file = tmp_path / "none.diff" if text is None else written(tmp_path, text)
    with pytest.raises(UsageError, match=why):
        find(f"{old}+{file}")
    assert not [*cache.glob("changed/*")]
