"""The site of ``docs/``: no warning, nothing from elsewhere, a search, and narrow pages."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.browser import browser
from tests.sampling import file_in, sampled

ROOT = Path(__file__).resolve().parents[2]
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|object|embed)[^>]*(?:src|data)=\"([^\"]*)\""
    r"|<link[^>]*rel=\"(?:stylesheet|icon|preload|preconnect)[^>]*href=\"([^\"]*)\""
)
QUESTIONS = {
    "stale-action": "reference/anomalies/stale-action.html",
    "add a fault": "how-to/own-faults.html",
    "kazoo queue": "track-record/findings.html",
    "inconclusive": "explanation/verdicts.html",
}
"""What a reader types -> a page that must be among the first answers."""
NARROW = (
    "index.html",
    "tutorial/first-lock.html",
    "reference/anomalies/index.html",
    "reference/anomalies/unowned-partition.html",
    "reference/commands.html",
    "how-to/reading-a-report.html",
    "track-record/findings.html",
)


pytestmark = file_in(4, __name__)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site. Links and anchors that lead nowhere, and terms without an entry, fail."""
    place = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html"]
    done = subprocess.run(
        [*words, "-d", place / "trees", ROOT / "docs", place / "html"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place / "html"


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def test_nothing_is_loaded_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        loaded = {one or other for one, other in LOADED.findall(page.read_text(encoding="utf-8"))}
        assert loaded, page
        assert not [each for each in loaded if re.match(r"[a-z]+:(?!image/)|//", each)], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", sheet.read_text()), sheet


def test_the_first_use_of_a_term_leads_to_the_glossary(site):
    page = (site / "explanation" / "verdicts.html").read_text(encoding="utf-8")
    link = r'<a class="reference internal" href="\.\./reference/glossary\.html#term-%s">.*?</a>'
    [linked] = re.findall(link % "session", page)
    assert page.index(linked) < page.index("session is in doubt")
    assert len(re.findall(link % "fencing-token", page)) == 1
    assert not re.findall(link % '[^"]*', (site / "reference" / "glossary.html").read_text())
    code = "".join(re.findall(r"<(?:code|pre|h[1-4])\b.*?</(?:code|pre|h[1-4])>", page, re.DOTALL))
    assert "glossary.html#term" not in code


@sampled("words", QUESTIONS, of=2)
def test_the_search_answers_from_a_disk(reader, site, words):
    reader.open(f"{(site / 'search.html').as_uri()}?q={words.replace(' ', '+')}")
    found = reader.evaluate("""new Promise((done) => {
        const look = () => {
            const links = [...document.querySelectorAll('#search-results li > a')];
            const over = document.querySelector('.search-summary');
            if (over && /found|match/.test(over.innerText) && links.length) {
                done(links.map((link) => link.getAttribute('href')));
            } else { setTimeout(look, 50); }
        };
        look();
    })""")
    assert any(QUESTIONS[words] in each for each in found[:10]), found[:10]


@sampled("page", NARROW, of=3)
def test_a_page_is_not_wider_than_a_phone(reader, site, page):
    reader.open((site / page).as_uri(), width=390, height=844)
    assert reader.evaluate("document.documentElement.scrollWidth") <= 390
