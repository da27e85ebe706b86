"""What only a browser can tell: that the script of the pages of nights may run, and does."""

import re
import shutil
import subprocess

import pytest

from docs.generators.report_picture import BROWSERS
from docs.generators.ten_nights import make_nights
from rumpus.nights.memory.store import Store
from rumpus.nights.pages.writing import write_pages

BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
ROW = re.compile(r'<tr data-world="(\w+)"[^>]*?( data-hidden="")?><th scope="row"><a [^>]*>([^<]*)')


@pytest.mark.skipif(BROWSER is None, reason=f"no browser is installed: {', '.join(BROWSERS)}")
def test_filters_come_from_the_address_and_two_nights_are_compared(tmp_path):
    with Store.opened(tmp_path / "nights.sqlite", write=True) as store:
        make_nights(store, 4)
        write_pages(store, tmp_path)

    def shown(page):
        profile = f"--user-data-dir={tmp_path / 'profile'}"
        address = (tmp_path / "index.html").as_uri().replace("index.html", page)
        command = [BROWSER, "--headless", "--no-sandbox", profile, "--dump-dom", address]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
        return done.stdout

    first = shown("index.html#q=lock&world=docker")
    rows = {name: not hidden for _, hidden, name in ROW.findall(first)}
    assert rows.pop("lock / orders, docker")
    assert len(rows) == 10
    assert not any(rows.values())
    assert ">1 of 11</span>" in first
    compared = shown("compare.html#a=2026-11-18&b=2026-11-19")
    assert "rumpus compare 2026-11-18 2026-11-19" in compared
    assert re.search(r"<td[^>]*>only B</td><td[^>]*><a[^>]*>queue / jobs: lost-element", compared)
