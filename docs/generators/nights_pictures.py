"""The pictures of the pages of nights in the documentation, of ten nights that were made up.

Usage::

    python -m docs.generators.nights_pictures docs/images
"""

import sys
import tempfile
from pathlib import Path

from docs.generators.report_picture import take
from docs.generators.ten_nights import make_nights
from rumpus.nights.memory.store import Store
from rumpus.nights.pages.writing import write_pages


def main(images: Path) -> None:
    """Make the nights and their pages, and take the pictures."""
    with tempfile.TemporaryDirectory() as made:
        with Store.opened(Path(made) / "nights.sqlite", write=True) as store:
            make_nights(store)
            write_pages(store, Path(made))
        first = Path(made) / "index.html"
        take(first, images / "nights.png", size=(1280, 1500))
        take(first, images / "nights-narrow.png", size=(390, 1200), dark=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
