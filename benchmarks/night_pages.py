"""The pages of nights: how long they take to be made, how large they are, and to be shown.

A store of 30 nights of 5,000 runs of 100 subjects, every tenth of which shows one of 20 failures.

- *the whole site*: `rumpus nights --html DIR` into an empty directory, in this process: the store
  opened and read, all nights compared with those before them, all files written.
- *again*: the same, with nothing changed.
- *after a night*: the same, after one more night.
- *the first page*: its size, and the time that a browser takes to show it: that of a process of
  Chromium that prints the page's elements, less that of one that prints those of an empty page.
  The best of five each; only where there is a browser.

``python -m benchmarks.night_pages [--quick]``
"""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from benchmarks.nights import A_NIGHT, SUBJECTS, put_night
from docs.generators.report_picture import BROWSERS
from rumpus.nights.memory.store import Store
from rumpus.nights.pages.writing import Written, write_pages

NIGHTS = 30
TRIES = 5


def written(store: Path, directory: Path) -> tuple[float, Written]:
    """Seconds that it takes to write the site, and how many files that were."""
    began = time.perf_counter()
    with Store.opened(store) as opened:
        done = write_pages(opened, directory)
    return time.perf_counter() - began, done


def shown(page: str, profile: Path) -> float:
    """Seconds that a browser takes from its start to its end, with a page."""
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    command = [browser, "--headless", "--no-sandbox", f"--user-data-dir={profile}", "--dump-dom"]
    took = []
    for _ in range(TRIES):
        began = time.perf_counter()
        subprocess.run([*command, page], check=True, capture_output=True, timeout=120)
        took.append(time.perf_counter() - began)
    return min(took)


def measure(scale: Scale) -> Table:
    """The table of all of them."""
    table = Table("pages of nights", "measured", "target", title="night pages")
    runs, nights = scale.count(A_NIGHT), max(3, scale.count(NIGHTS))
    with tempfile.TemporaryDirectory(prefix="rumpus-bench-") as place:
        path, site = Path(place) / "nights.sqlite", Path(place) / "site"
        with Store.opened(path, write=True) as store:
            for day in range(1, nights + 1):
                put_night(store, day, runs, SUBJECTS)
        for what, target in (("the whole site", "20 s"), ("again", "only what changed")):
            seconds, (files, now) = written(path, site)
            table.add_row(f"{what}: {now} of {files} files", f"{seconds:.1f} s", target)
        with Store.opened(path, write=True) as store:
            put_night(store, nights + 1, runs, SUBJECTS)
        seconds, (files, now) = written(path, site)
        table.add_row(f"after a night: {now} of {files} files", f"{seconds:.1f} s", "")
        first = site / "index.html"
        table.add_row("the first page", f"{first.stat().st_size / 1e6:.2f} MB", "1 MB")
        size = sum(each.stat().st_size for each in site.rglob("*") if each.is_file())
        table.add_row("all files", f"{size / 1e6:.1f} MB", "")
        if any(map(shutil.which, BROWSERS)):
            profile = Path(place) / "profile"
            empty = shown("about:blank", profile)
            seconds = max(0.0, shown(first.as_uri(), profile) - empty)
            table.add_row("the first page shown", f"{seconds:.2f} s", "0.3 s")
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
