"""The files of the pages of nights: their names, their markup, and that only some are written."""

import html
import json
import os
import re
from html.parser import HTMLParser

import pytest

from docs.generators.ten_nights import make_nights
from rumpus.command_line import main
from rumpus.nights.documents.document import CaseResult, NightDocument, for_store
from rumpus.nights.memory import store_schema
from rumpus.nights.memory.store import Store
from rumpus.nights.pages.gathering import gather
from rumpus.nights.pages.places import night_place
from rumpus.nights.pages.site import Site
from rumpus.nights.pages.writing import write_pages
from rumpus.nights.records import NightRow, Subject, Trouble
from rumpus.results.fingerprint import Fingerprint
from rumpus.results.store_error import StoreError
from tests.dangerous_strings import DANGEROUS
from tests.rumpus.nights.conftest import DAY, failure, run

OURS = re.compile(r"[0-9A-Za-z._/#-]*")


class Markup(HTMLParser):
    """The elements of a page, with their attributes, and where it leads."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.links, self.handlers, self.open = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src")]
        self.handlers += [name for name, _ in attributes if name.startswith("on")]


@pytest.fixture
def ten(path):
    with Store.opened(path, write=True) as store:
        make_nights(store, 3)
    return path


def plain_text_of(page):
    """The data that the page about two nights has."""
    return re.search(r'<pre id="compare-data" hidden>(.*?)</pre>', page.read_text(), re.DOTALL)[1]


def written(path, directory):
    with Store.opened(path) as store:
        return write_pages(store, directory)


def test_only_what_has_changed_is_written_again(ten, tmp_path):
    site = tmp_path / "site"
    files, first = written(ten, site)
    assert first == files == len([each for each in site.rglob("*") if each.is_file()])
    assert written(ten, site) == (files, 0)
    page = site / night_place("2026-11-18")
    before = page.read_bytes()
    page.write_text("something else")
    assert written(ten, site) == (files, 1)
    assert page.read_bytes() == before
    with Store.opened(ten, write=True) as store:
        store.begin_night(NightRow(name="later", began=2e9, branch="main"))
    _, now = written(ten, site)
    assert 0 < now < files
    assert page.read_bytes() == before


def test_what_a_page_says_of_itself_is_not_taken_if_somebody_else_may_have_written_it(
    ten, tmp_path
):
    """It has the digest of what it should be made of, which whoever has the store can compute."""
    site = tmp_path / "site"
    files, _ = written(ten, site)
    page = site / night_place("2026-11-18")
    before = page.read_text()
    page.write_text(before.replace("</body>", "<script src='//elsewhere'></script></body>"))
    assert written(ten, site) == (files, 1)
    assert page.read_text() == before


def test_every_link_leads_to_a_file(ten, tmp_path):
    site = tmp_path / "site"
    written(ten, site)
    for page in site.rglob("*.html"):
        markup = Markup(page.read_text())
        assert not markup.handlers
        for link in markup.links:
            assert (page.parent / link).resolve().is_file(), (page, link)
        assert "default-src 'none'" in page.read_text()
    data = re.search(
        r'<pre id="compare-data" hidden>(.*?)</pre>', (site / "compare.html").read_text()
    )
    assert "&#34;nights&#34;" in data[1]


@pytest.mark.parametrize("words", DANGEROUS, ids=range(len(DANGEROUS)))
def test_no_words_of_a_store_become_markup_or_a_path(store, words, tmp_path):
    words = words.encode(errors="replace").decode()
    subject = Subject(workload=words, recipe=words)
    row = failure(
        workload=words, recipe=words, fingerprint=Fingerprint(kind=words, operations=(words,))
    )
    one = NightRow(
        name=words,
        began=DAY,
        ended=2 * DAY,
        branch=words,
        commit=words,
        versions={words: words},
        headline=words,
        troubles=(Trouble(kind="world", what=words),),
    )
    store.begin_night(one)
    store.note_failure(row)
    more = {"subject": subject.key, "faults": (words,), "versions": {words: words}}
    store.note_run(one.name, run(outcome="violation", failures=(row.id,), **more))
    store.note_run(one.name, run(1, **more))
    case = CaseResult(name=words, state="stale", why=words, again=words)
    document = NightDocument(night=one, cases=(case,), notes=(words,), waiting=(words,))
    store.note_document(one.name, for_store(document))
    site = tmp_path / "site"
    write_pages(store, site)
    plain = Site(gather(store))
    text = html.unescape(plain_text_of(site / "compare.html"))
    assert json.loads(text)["nights"][0][0].isprintable()
    known = {"script", "style", "title", "pre", "svg", "a", "td", "b"}
    for page in plain.pages():
        assert OURS.fullmatch(page.place)
        assert ".." not in page.place
        assert page.place in {str(e.relative_to(site)) for e in site.rglob("*") if e.is_file()}
        text = page.make()
        markup = Markup(text)
        assert not markup.handlers
        assert [each for each in markup.links if not OURS.fullmatch(each)] == []
        assert markup.elements.count("script") == markup.elements.count("style") == 1
        assert {"img", "iframe", "form", "object"}.isdisjoint(markup.elements)
        assert known & set(markup.elements)
        assert all(line.isprintable() for line in text.split("\n"))


def test_nights_of_any_name_have_pages_of_their_own():
    names = ["2026-11-26", "2026-11-26.2", "../../x", "..", "", "a/b", "a-b", "A", "a", "x" * 500]
    places = [night_place(name) for name in names]
    assert len({place.lower() for place in places}) == len(names)
    for place in places:
        assert re.fullmatch(r"nights/[0-9A-Za-z_-][0-9A-Za-z._-]*\.html", place)
        assert len(place) < 100


def test_other_files_of_the_directory_are_left_alone(ten, tmp_path):
    other = tmp_path / "mine.txt"
    other.write_text("mine")
    (tmp_path / "nights").mkdir()
    (tmp_path / "nights" / "mine.html").write_text("mine")
    written(ten, tmp_path)
    assert other.read_text() == (tmp_path / "nights" / "mine.html").read_text() == "mine"


def test_a_link_in_the_directory_leads_no_page_out_of_it(ten, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    site = tmp_path / "site"
    site.mkdir()
    (site / "failures").symlink_to(outside)
    with pytest.raises(StoreError, match="it is a link"):
        written(ten, site)
    assert list(outside.iterdir()) == []
    (site / "failures").unlink()
    (outside / "page").write_text("mine")
    (site / "index.html").unlink()
    (site / "index.html").symlink_to(outside / "page")
    written(ten, site)
    assert (outside / "page").read_text() == "mine"
    assert not (site / "index.html").is_symlink()


def test_the_command_says_where_the_first_page_is(ten, tmp_path, capsys):
    site = tmp_path / "site"
    assert main(["nights", "--store", str(ten), "--html", str(site), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["page"] == str(site / "index.html")
    assert told["files"] == told["written"] > 3
    assert main(["nights", "--store", str(ten), "--html", str(site)]) == 0
    assert " 0 of them written now" in capsys.readouterr().out


@pytest.mark.skipif(not os.geteuid(), reason="root writes everywhere")
def test_a_directory_that_is_read_only_is_told(ten, tmp_path, capsys):
    site = tmp_path / "site"
    site.mkdir(mode=0o500)
    assert main(["nights", "--store", str(ten), "--html", str(site)]) == 4
    assert "--html DIR" in capsys.readouterr().err


def test_a_file_in_the_place_of_the_directory_is_told(ten, tmp_path, capsys):
    site = tmp_path / "site"
    site.write_text("")
    assert main(["nights", "--store", str(ten), "--html", str(site)]) == 4
    assert "--html DIR" in capsys.readouterr().err


def test_a_document_that_no_program_has_written_is_told_as_damage(ten, tmp_path, capsys):
    with Store.opened(ten, write=True) as store:
        store.note_document("2026-11-18", '{"night": 7}')
    assert main(["nights", "--store", str(ten), "--html", str(tmp_path / "site")]) == 2
    assert "damaged" in capsys.readouterr().err


def test_a_newer_store_is_refused_and_nothing_is_written(ten, tmp_path, capsys):
    with Store.opened(ten, write=True) as store:
        store._file._connection.execute(f"PRAGMA user_version = {store_schema.newest() + 1}")
    assert main(["nights", "--store", str(ten), "--html", str(tmp_path / "site")]) == 2
    assert "newer rumpus" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
