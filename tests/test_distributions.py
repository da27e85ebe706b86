"""What an index gets: its version, its links, and that all of it can be made."""

import importlib.util
import os
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHANGES = "# Changes\n\n## 1.2.0 (2027-01-01)\n\n- all of it\n"


@pytest.fixture(scope="module")
def distributions():
    place = ROOT / ".ci/distributions.py"
    spec = importlib.util.spec_from_file_location("distributions", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_is_the_tags(distributions):
    assert distributions.version_of("v1.2.0-0-gabc", "1.2.0", CHANGES) == "1.2.0"
    assert distributions.version_of("v1.1.0-7-gabc", "1.2.0", CHANGES) == "1.2.0.dev7+gabc"
    assert distributions.version_of("0-848-gabc", "1.2.0", CHANGES) == "1.2.0.dev848+gabc"


def test_a_tag_that_nothing_knows_is_refused(distributions):
    with pytest.raises(distributions.Refused, match=r"the tag says 1\.3\.0, pyproject\.toml 1\.2"):
        distributions.version_of("v1.3.0-0-gabc", "1.2.0", CHANGES)
    with pytest.raises(distributions.Refused, match=r"no part '## 1\.3\.0"):
        distributions.version_of("v1.3.0-0-gabc", "1.3.0", CHANGES)


def test_links_of_the_readme_lead_to_the_repository(distributions):
    home, commit = "https://git.example/rumpus", "abc"
    text = (
        "![x](docs/a.png) [y](docs/b.md#part) [z](https://else.example/) [w](#here) [v](examples/)"
    )
    made = distributions.with_home(text, home, commit)
    assert f"![x]({home}/raw/abc/docs/a.png)" in made
    assert f"[y]({home}/blob/abc/docs/b.md#part)" in made
    assert f"[v]({home}/blob/abc/examples)" in made
    assert "[z](https://else.example/) [w](#here)" in made


def test_the_projects_facts_are_put_in(distributions):
    project = (ROOT / "pyproject.toml").read_text()
    made = tomllib.loads(distributions.with_facts(project, "9.8.7", "https://git.example/rumpus"))
    assert made["project"]["version"] == "9.8.7"
    assert made["project"]["urls"]["Issues"] == "https://git.example/rumpus/issues"
    assert "urls" not in tomllib.loads(distributions.with_facts(project, "9.8.7", None))["project"]


def test_without_the_extension_nothing_else_is_lost(distributions):
    project = (ROOT / "pyproject.toml").read_text()
    left, right = tomllib.loads(project), tomllib.loads(distributions.EXTENSION.sub("", project))
    assert left["tool"]["setuptools"].pop("ext-modules")
    assert left == right


@pytest.mark.skipif("RUMPUS_FULL_CHECKS" not in os.environ, reason="make test-full runs it")
def test_all_of_it_can_be_made(distributions, tmp_path):
    pytest.importorskip("auditwheel", reason="pip install 'rumpus[release]'")
    source, output = tmp_path / "source", tmp_path / "dist"
    source.mkdir()
    version = distributions.make(source, output, "https://git.example/rumpus")
    kinds = sorted(each.name.removeprefix(f"rumpus-{version}") for each in output.iterdir())
    assert ["-cp311-abi3-manylinux2014" in kinds[0], *kinds[1:]] == [
        True,
        "-py3-none-any.whl",
        ".tar.gz",
    ]
