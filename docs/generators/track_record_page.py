"""Generates the track record in ``docs/track-record/index.md``, and its sentence in the README.

``python -m docs.generators.track_record_page`` updates both from ``cases/track-record.toml``.
"""

from pathlib import Path
from typing import Final

from docs.generators.marked_page import with_part
from rumpus.track_record.record_file import FILE, TrackRecord, read_record
from rumpus.track_record.record_tables import in_markdown, summary

MARK: Final = "track-record"

ROOT: Final = Path(__file__).resolve().parents[2]


def with_record(page: str, record: TrackRecord) -> str:
    """The page with its tables up to date; raises as ``marked_page.with_part``."""
    tables = in_markdown(record).replace("](upstream/", "](../upstream/")
    return with_part(page, MARK, tables)


def with_summary(readme: str, record: TrackRecord) -> str:
    """The README with its sentence up to date; raises likewise."""
    return with_part(readme, MARK, f"{summary(record)}\n")


def main() -> None:
    """Bring both up to date."""
    record = read_record(ROOT / FILE)
    for name, made in (("docs/track-record/index.md", with_record), ("README.md", with_summary)):
        page = ROOT / name
        page.write_text(made(page.read_text(encoding="utf-8"), record), encoding="utf-8")


if __name__ == "__main__":
    main()
