"""``python -m docs.generators`` brings pages up to date, and leaves alone what is."""

import shutil
from pathlib import Path

from docs.generators.__main__ import DOCS, WHOLE, main


def test_what_is_stale_is_made_anew_and_the_rest_stays(tmp_path):
    docs = Path(shutil.copytree(DOCS, tmp_path / "docs"))
    stale = [docs / "reference" / f"{name}.md" for name in WHOLE]
    for page in stale:
        page.write_text("of yesterday", encoding="utf-8")
    main(docs)
    for page in docs.rglob("*.md"):
        assert page.read_bytes() == (DOCS / page.relative_to(docs)).read_bytes(), page
