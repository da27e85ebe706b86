"""Every block of Python on a page runs, on simulated servers; what only shows a shape is listed."""

import re
from pathlib import Path

import pytest

import rumpus
from tests.docs.page_givens import GIVENS, Surroundings

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)

ELSEWHERE = {
    "explanation/simulation.md": ("test_simulation_page.py", 1),
    "how-to/own-faults.md": ("test_configuration_page.py", 1),
    "how-to/own-recipes.md": ("test_own_pages.py", 8),
    "how-to/own-workloads.md": ("test_own_pages.py", 3),
    "how-to/testing-applications.md": ("test_testing_applications_page.py", 2),
    "reference/models.md": ("test_models_page.py", 1),
    "tutorial/first-lock.md": ("test_tutorial.py", 2),
}
"""Pages whose blocks another module here runs, and how many it knows."""

SHAPES = {
    "reference/api.md": "calls with all their parameters, made from the signatures",
    "upstream": "lines of kazoo, which test_upstream_reports.py compares with kazoo's",
    "aiozk": "lines of aiozk, compared in test_upstream_reports_for_aiozk.py",
}
"""Pages, and folders of pages, whose blocks cannot run, and why."""


def blocks():
    """Page and number of each block that is run here."""
    for page in sorted(DOCS.rglob("*.md")):
        name = page.relative_to(DOCS).as_posix()
        if name in ELSEWHERE or name in SHAPES or page.parent.name in SHAPES:
            continue
        for number, _ in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
            yield name, number


@pytest.fixture
def zk():
    with rumpus.zookeeper(nodes=1) as servers:
        yield servers


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("page", "number"), list(blocks()))
def test_the_code_of_a_page_runs(page, number, zk, tmp_path, monkeypatch):
    code = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))[number]
    monkeypatch.chdir(tmp_path)
    here = Surroundings(zk)
    try:
        here.names["client"] = here.client()
        here.names.update(GIVENS.get(page, lambda _: {})(here))
        exec(compile(code.replace("127.0.0.1:2181", zk.hosts), page, "exec"), here.names)
    finally:
        here.end()


@pytest.mark.parametrize("page", ELSEWHERE)
def test_another_module_knows_all_blocks_of_a_page(page):
    module, number = ELSEWHERE[page]
    assert Path(page).name in Path(__file__).with_name(module).read_text(encoding="utf-8")
    assert len(BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))) == number
