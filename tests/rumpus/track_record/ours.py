"""The track record of this project."""

from pathlib import Path

from rumpus.track_record.record_file import FILE, read_record

ROOT = Path(__file__).resolve().parents[3]
OURS = read_record(ROOT / FILE)
